"""Where every fold is computed: its private section and the levels it keeps (DESIGN section 5.4).

The result's index variables are iterated jointly by the whole expression.  A folded variable
belongs to its fold: from the first one on, the fold runs a *section* of its own and delivers
either one value per joint coordinate, or, where joint variables lie inside the folded ones, the
accumulated streams of those.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fuseflow.compiler.expr import Expr, Fold, children, free, with_children
from fuseflow.compiler.problem import Problem
from fuseflow.compiler.sums import with_sums
from fuseflow.samml.errors import LoweringError

MOST_KEPT = 2
"""Kept levels of the largest accumulator in the catalog."""


@dataclass(frozen=True, eq=False)
class Section(Fold):
    """A fold with its place in a loop order.

    Attributes
    ----------
    depth : int
        How many joint levels lie above the section.
    loops : tuple of str
        Variables that the section iterates by itself, outermost first.
    kept : tuple of str
        The joint variables among them.
    complete : bool
        Whether it must visit every point, as its background is not the fold's identity.
    """

    depth: int
    loops: tuple[str, ...]
    kept: tuple[str, ...]
    complete: bool


@dataclass(frozen=True)
class Plan:
    """A loop order with the joint levels, and the value with a section for every fold."""

    order: tuple[str, ...]
    joint: tuple[str, ...]
    value: Expr


def plan(problem: Problem, order: Sequence[str]) -> Plan:
    """Place every fold of a problem in a checked loop order.

    Raises
    ------
    LoweringError
        A fold keeps more levels than an accumulator has.
    """
    order = tuple(order)
    joint = problem.storage(problem.target)
    return Plan(order, joint, _place(problem, with_sums(problem.statement, order), order, joint))


def sections(expr: Expr) -> Iterator[Section]:
    """Yield the sections of a placed expression, inner ones first."""
    for child in children(expr):
        yield from sections(child)
    if isinstance(expr, Section):
        yield expr


def _place(problem: Problem, expr: Expr, order: tuple[str, ...], joint: tuple[str, ...]) -> Expr:
    if isinstance(expr, Fold):
        return _section(problem, expr, order, joint)
    return with_children(expr, lambda child: _place(problem, child, order, joint))


def _section(
    problem: Problem, fold: Fold, order: tuple[str, ...], joint: tuple[str, ...]
) -> Section:
    own = [index for index in order if index in free(fold.body)]
    first = next(k for k, index in enumerate(own) if index in fold.indices)
    inner = [joint.index(index) for index in own[first:] if index not in fold.indices]
    # Levels that the fold lacks are kept only between two of its own.
    kept = joint[min(inner) : max(inner) + 1] if inner else ()
    loops = tuple(index for index in order if index in (*kept, *own[first:]))
    depth = max((joint.index(index) + 1 for index in own[:first]), default=0)
    if kept:
        depth = min(inner)
    if len(kept) > MOST_KEPT:
        raise LoweringError(
            f"{outside(order, fold, kept)}: an accumulator keeps at most {MOST_KEPT} levels; "
            f"{inside(joint, fold, kept)}"
        )
    body = _place(problem, fold.body, order, (*joint[:depth], *loops))
    complete = problem.background(fold) is None
    return Section(fold.op, fold.indices, body, depth, loops, kept, complete)


def outside(order: Sequence[str], fold: Fold, kept: Sequence[str]) -> str:
    """Say that an order folds outside of kept levels."""
    return (
        f"order '{','.join(order)}' folds {fold.body} over {','.join(fold.indices)} outside "
        f"{', '.join(kept)}"
    )


def inside(joint: Sequence[str], fold: Fold, kept: Sequence[str]) -> str:
    """Say what order would need a smaller accumulator."""
    better = ", ".join(joint[: joint.index(kept[-1])])
    return f"use an order with {better} before {', '.join(fold.indices)} (--auto-convert)"
