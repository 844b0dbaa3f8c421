"""The cost model: estimated firings of a loop order (DESIGN section 5.2).

An estimate walks the loop nest.  ``N`` is the expected number of coordinates at a level: a
compressed level contributes its mean fiber, an intersection the product of its
densities, a union their complement's.  Every scan, merge step, located reference and
value counts one firing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from fuseflow.compiler.declare import Sizes
from fuseflow.compiler.expr import (
    Access,
    Binary,
    Constant,
    Expr,
    Fold,
    Unary,
    Where,
    accesses,
    free,
)
from fuseflow.compiler.lower import lower
from fuseflow.compiler.order import check_order, orders
from fuseflow.compiler.plan import Plan, Section, plan, sections
from fuseflow.compiler.problem import Problem
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import Node

DEFAULT_DENSITY = 0.1
"""Share of a compressed level's coordinates that are assumed stored."""

ACCUMULATE = 2.0
"""Firings of one accumulated value: it is taken once and, at worst, emitted once."""


@dataclass
class _Estimate:
    """The estimate of one loop nest under way."""

    problem: Problem
    sizes: Sizes
    indices: Mapping[str, int]
    cost: float = 0.0
    run: set[int] = field(default_factory=set[int])
    shares: dict[tuple[int, str], float] = field(default_factory=dict[tuple[int, str], float])

    def stored(self, access: Access, index: str) -> float:
        """Return the expected share of an index's coordinates in one fiber of an access."""
        level = self.problem.storage(access).index(index)
        if self.problem.kind(access, level) is LevelKind.DENSE:
            return 1.0
        tensor = self.sizes.tensors.get(access.tensor)
        if tensor is None:
            return DEFAULT_DENSITY
        parents = tensor.positions[level - 1] if level else 1
        fiber = tensor.positions[level] / max(parents, 1)
        return min(1.0, fiber / max(self.indices[index], 1))

    def share(self, expr: Expr, index: str) -> float:
        """Return the expected share of an index's coordinates that an expression visits."""
        key = id(expr), index
        if key not in self.shares:
            self.shares[key] = self._share(expr, index)
        return self.shares[key]

    def _share(self, expr: Expr, index: str) -> float:
        match expr:
            case Access():
                return self.stored(expr, index) if index in expr.indices else 1.0
            case Constant():
                return 1.0
            case Unary(_, operand) | Binary(_, operand, Constant()):
                return self.share(operand, index)
            case Binary(_, Constant(), operand):
                return self.share(operand, index)
            case Fold(_, _, body):
                complete = isinstance(expr, Section) and expr.complete
                return 1.0 if complete or index not in free(body) else self.share(body, index)
            case Where(mask):
                return self.share(mask, index)
            case Binary(op, left, right):
                shares = [self.share(side, index) for side in (left, right)]
                decisive = [
                    share
                    for share, side, first in zip(shares, (left, right), (True, False), strict=True)
                    if self.problem.background.decides(op, side, left=first)
                ]
                return prod(decisive) if decisive else 1.0 - prod(1.0 - each for each in shares)

    def iterate(self, count: float, expr: Expr, index: str, *, complete: bool) -> float:
        """Add one loop variable below `count` coordinates; returns how many there are then."""
        points = count * self.indices[index]
        visited = points * (1.0 if complete else self.share(expr, index))
        for access in accesses(expr):
            if index in access.indices:
                share = self.stored(access, index)
                self.cost += points * share if share < 1.0 else visited
        self.cost += visited
        return visited

    def nest(
        self, expr: Expr, loops: Sequence[str], depth: int, count: float, complete: set[str]
    ) -> float:
        """Add loops below `count` coordinates, and every section where it hangs."""
        for below in range(len(loops) + 1):
            for section in sections(expr):
                if section.depth == depth + below and id(section) not in self.run:
                    self.run.add(id(section))
                    forced = set(section.loops) if section.complete else set[str]()
                    inner = self.nest(section.body, section.loops, section.depth, count, forced)
                    self.cost += inner * max(1.0, ACCUMULATE * len(section.kept))
            if below < len(loops):
                index = loops[below]
                count = self.iterate(count, expr, index, complete=index in complete)
        return count


def estimate(problem: Problem, placed: Plan, sizes: Sizes, indices: Mapping[str, int]) -> float:
    """Estimate the firings of a planned order."""
    work = _Estimate(problem, sizes, indices)
    for result in placed.results:
        work.nest(result.value, result.joint, 0, 1.0, problem.dense(result))
    return work.cost


def choose(
    problem: Problem,
    sizes: Sizes,
    indices: Mapping[str, int],
    order: Sequence[str] | None = None,
) -> tuple[Plan, tuple[Node, ...]]:
    """Plan and lower the order given, or the cheapest of all that are allowed.

    Raises
    ------
    LoweringError
        The order given cannot be lowered, or no order can; names the reason of the cheapest.
    """
    candidates: Iterable[tuple[str, ...]]
    candidates = orders(problem) if order is None else (check_order(problem, order),)
    ranked: list[tuple[float, int, Plan]] = []
    reason: LoweringError | None = None
    for number, candidate in enumerate(candidates):
        try:
            placed = plan(problem, candidate)
        except LoweringError as error:
            reason = reason or error
            continue
        ranked.append((estimate(problem, placed, sizes, indices), number, placed))
    for _, _, placed in sorted(ranked, key=lambda entry: entry[:2]):
        try:
            return placed, lower(problem, placed)
        except LoweringError as error:
            reason = reason or error
    assert reason is not None, "there is at least one candidate"
    raise reason
