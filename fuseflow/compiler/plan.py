"""Where each term is computed: its private section and the levels it keeps (DESIGN section 5.4).

The result's index variables are iterated jointly by all terms.  A reduction variable
belongs to its term: from the first one on, the term runs a *section* of its own and
delivers either one value per joint coordinate, or, where result variables lie inside the
reduction, the accumulated streams of those.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuseflow.compiler.problem import Problem
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import LevelKind

MOST_KEPT = 2
"""Kept levels of the largest accumulator in the catalog."""


@dataclass(frozen=True)
class TermPlan:
    """The section of one term.

    Attributes
    ----------
    depth : int
        How many joint levels lie above the section.
    section : tuple of str
        Loop variables that the term iterates by itself, outermost first; empty where the
        term has no reduction.
    kept : tuple of str
        The result variables among them.
    """

    depth: int
    section: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A loop order with the joint levels and the section of every term."""

    order: tuple[str, ...]
    joint: tuple[str, ...]
    terms: tuple[TermPlan, ...]


def plan(problem: Problem, order: Sequence[str]) -> Plan:
    """Place every term of a problem in a checked loop order.

    Raises
    ------
    LoweringError
        A reduction keeps levels that no accumulator, union or dense result can take.
    """
    order = tuple(order)
    joint = problem.storage(problem.target)
    terms = tuple(_place(term.indices, order, joint) for term in problem.terms)
    for term, place in zip(problem.terms, terms, strict=True):
        _check(problem, order, term.factors, place, len(terms))
    return Plan(order, joint, terms)


def _place(indices: Sequence[str], order: tuple[str, ...], joint: tuple[str, ...]) -> TermPlan:
    own = [index for index in order if index in indices]
    first = next((k for k, index in enumerate(own) if index not in joint), None)
    if first is None:
        return TermPlan(0, (), ())
    inner = [index for index in own[first:] if index in joint]
    if not inner:
        depth = max((joint.index(index) + 1 for index in own[:first]), default=0)
        return TermPlan(depth, tuple(own[first:]), ())
    last = order.index(inner[-1])
    start = order.index(own[first])
    kept = tuple(index for index in order[start : last + 1] if index in joint)
    section = tuple(index for index in order[start:] if index in kept or index in own[first:])
    return TermPlan(joint.index(kept[0]), section, kept)


def _check(
    problem: Problem, order: tuple[str, ...], factors: Sequence[object], place: TermPlan, terms: int
) -> None:
    if len(place.kept) < MOST_KEPT:
        return
    term = " * ".join(map(str, factors))
    reduced = next(index for index in place.section if index not in place.kept)
    where = f"order '{','.join(order)}' sums {term} over {reduced} outside {', '.join(place.kept)}"
    joint = problem.storage(problem.target)
    better = joint[: joint.index(place.kept[-1])]
    way_out = f"use an order with {', '.join(better)} before {reduced}"
    if len(place.kept) > MOST_KEPT:
        raise LoweringError(f"{where}: an accumulator keeps at most {MOST_KEPT} levels; {way_out}")
    if terms > 1:
        raise LoweringError(
            f"{where}: a sum with other terms cannot join above a stream that is already "
            f"accumulated; {way_out}, or split the region"
        )
    if any(problem.result_kind(index) is LevelKind.DENSE for index in place.kept):
        raise LoweringError(
            f"{where}, and '{problem.target.tensor}' needs complete fibers there, which two kept "
            f"levels do not give; {way_out}, or store the result compressed"
        )
