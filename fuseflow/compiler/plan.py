"""Where every fold is computed: its private section and the levels it keeps (DESIGN section 5.4).

The result's index variables are iterated jointly by the whole expression.  A folded variable
belongs to its fold: from the first one on, the fold runs a *section* of its own and delivers
either one value per joint coordinate, or, where joint variables lie inside the folded ones, the
accumulated streams of those.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fuseflow.compiler.expr import Expr, Fold, Result, children, free, with_children
from fuseflow.compiler.masks import push_masks
from fuseflow.compiler.problem import Problem
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

    depth: int = 0
    loops: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    complete: bool = False


@dataclass(frozen=True)
class PlacedResult(Result):
    """A result whose value has a section for every fold.

    Attributes
    ----------
    joint : tuple of str
        Its own index variables, outermost first: the loops of the whole value.
    """

    joint: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A loop order, and every result placed in it."""

    order: tuple[str, ...]
    results: tuple[PlacedResult, ...]


def plan(problem: Problem, order: Sequence[str]) -> Plan:
    """Place every fold of a problem in a checked loop order.

    Raises
    ------
    LoweringError
        A fold keeps more levels than an accumulator has.
    """
    placing = _Placing(problem, tuple(order))
    return Plan(placing.order, tuple(placing.result(result) for result in problem.results))


def sections(expr: Expr) -> Iterator[Section]:
    """Yield the sections of a placed expression once, inner ones first."""
    seen: set[int] = set()

    def within(part: Expr) -> Iterator[Section]:
        if id(part) not in seen:
            seen.add(id(part))
            for child in children(part):
                yield from within(child)
            if isinstance(part, Section):
                yield part

    return within(expr)


class _Placing:
    """Places shared parts once for every nest of loops that they stand in."""

    def __init__(self, problem: Problem, order: tuple[str, ...]) -> None:
        self.problem = problem
        self.order = order
        self._placed: dict[tuple[int, tuple[str, ...]], tuple[Expr, Expr]] = {}

    def result(self, result: Result) -> PlacedResult:
        joint = self.problem.storage(result.target)
        masks = self.problem.passes.masks
        value = push_masks(result.value, self.order) if masks else result.value
        return PlacedResult(result.target, self._place(value, joint), joint)

    def _place(self, expr: Expr, joint: tuple[str, ...]) -> Expr:
        key = id(expr), joint
        if key not in self._placed:
            if isinstance(expr, Fold):
                placed: Expr = self._section(expr, joint)
            else:
                placed = with_children(expr, lambda child: self._place(child, joint))
            self._placed[key] = expr, placed
        return self._placed[key][1]

    def _section(self, fold: Fold, joint: tuple[str, ...]) -> Section:
        order = self.order
        own = [index for index in order if index in free(fold.body)]
        first = next(k for k, index in enumerate(own) if index in fold.indices)
        inner = [joint.index(index) for index in own[first:] if index not in fold.indices]
        # Levels that the fold lacks are kept only between two of its own.
        kept = joint[min(inner) : max(inner) + 1] if inner else ()
        loops = tuple(index for index in order if index in (*kept, *own[first:]))
        depth = max((joint.index(index) + 1 for index in own[:first]), default=0)
        if kept:
            depth = min(inner)
        if {*joint[:depth]} & {*loops}:
            raise LoweringError(
                f"order '{','.join(order)}' runs '{fold}' inside of loops over the same variable: "
                f"use an order with {', '.join(kept)} before {', '.join(fold.indices)}"
            )
        if len(kept) > MOST_KEPT:
            raise LoweringError(
                f"{outside(order, fold, kept)}: an accumulator keeps at most {MOST_KEPT} levels; "
                f"{inside(joint, fold, kept)}"
            )
        body = self._place(fold.body, (*joint[:depth], *loops))
        complete = self.problem.background(fold) is None
        return Section(fold.op, fold.indices, body, fold.owner, depth, loops, kept, complete)


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
