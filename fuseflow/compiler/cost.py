"""The cost model: estimated firings of a loop order (DESIGN section 5.2).

An estimate walks the loop nest.  ``N`` is the expected number of coordinates at a level: a
compressed level contributes its mean fiber, an intersection the product of its
densities, a union their complement's.  Every scan, merge step, located reference and
value counts one firing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf, prod
from typing import cast

from fuseflow.compiler.declare import Sizes, declare
from fuseflow.compiler.drops import drops
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
from fuseflow.compiler.forecast import DENSITY, Forecast, forecast
from fuseflow.compiler.lower import lower
from fuseflow.compiler.operators import operators
from fuseflow.compiler.order import check_order, constraints, orders
from fuseflow.compiler.plan import Plan, Section, plan, sections
from fuseflow.compiler.problem import Problem
from fuseflow.compiler.prune import prune
from fuseflow.compiler.table import FusionTable
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import Graph

EXHAUSTIVE = 200
"""How many loop orders are all looked at; of more, the neighbours of the best are."""

MOST_LOWERED = 8
"""How many of the cheapest orders are lowered, to choose among their graphs."""

WORK = 30_000
"""Parts of expressions that are placed in orders: the larger a problem, the fewer are looked at."""

LEAST_RANKED = 24
"""How many loop orders are looked at however large a problem is."""

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
    read: dict[int, Sequence[Access]] = field(default_factory=dict[int, Sequence[Access]])
    folded: dict[int, Sequence[Section]] = field(default_factory=dict[int, Sequence[Section]])

    def stored(self, access: Access, index: str) -> float:
        """Return the expected share of an index's coordinates in one fiber of an access."""
        level = self.problem.storage(access).index(index)
        if self.problem.kind(access, level) is LevelKind.DENSE:
            return 1.0
        tensor = self.sizes.tensors.get(access.tensor)
        if tensor is None:
            return self.sizes.densities.get(access.tensor, DENSITY)
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

    def accesses(self, expr: Expr) -> Sequence[Access]:
        """Return every access of an expression."""
        if id(expr) not in self.read:
            self.read[id(expr)] = tuple(accesses(expr))
        return self.read[id(expr)]

    def sections(self, expr: Expr) -> Sequence[Section]:
        """Return the sections of an expression, inner ones first."""
        if id(expr) not in self.folded:
            self.folded[id(expr)] = tuple(sections(expr))
        return self.folded[id(expr)]

    def iterate(self, count: float, expr: Expr, index: str, *, complete: bool) -> float:
        """Add one loop variable below `count` coordinates; returns how many there are then."""
        points = count * self.indices[index]
        visited = points * (1.0 if complete else self.share(expr, index))
        for access in self.accesses(expr):
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
            for section in self.sections(expr):
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


@dataclass(frozen=True)
class Choice:
    """A plan, its fusion table and graph without slack, and what that is expected to do."""

    plan: Plan
    table: FusionTable
    graph: Graph
    forecast: Forecast


def choose(
    problem: Problem,
    sizes: Sizes,
    indices: Mapping[str, int],
    order: Sequence[str] | None = None,
    priority: Sequence[str] = (),
    *,
    share: bool = True,
    effort: float = 1.0,
) -> list[Choice]:
    """Plan and lower the order given, or the best of all that are allowed.

    The cheapest by `estimate` are lowered; those whose graphs are expected to take the fewest
    cycles come first.

    Raises
    ------
    LoweringError
        The order given cannot be lowered, or no order can; names the reason of the cheapest.
    """
    search = _Search(problem, sizes, indices, effort)
    if order is not None:
        search.rank(check_order(problem, order))
    else:
        search.explore(priority)
    tensors = declare(problem, sizes, indices)
    found: list[Choice] = []
    lowered = 0
    for placed in search.ranked():
        plans = [placed]
        if problem.passes.drops and (thinned := drops(problem, placed)) is not None:
            plans.append(thinned)
        for each in plans:
            try:
                table = lower(problem, each, share=share)
            except LoweringError as error:
                search.refuse(error)
                continue
            graph = prune(Graph("", problem.value, dict(indices), tensors, table.nodes()))
            if problem.passes.operators:
                graph = operators(graph)
            found.append(
                Choice(placed, table, graph, forecast(graph, sizes.tensors, sizes.densities))
            )
            lowered += each is placed
        if lowered >= effort * MOST_LOWERED:
            break
    if found:
        return sorted(found, key=lambda each: (each.forecast.cycles, each.forecast.firings))
    assert search.reason is not None, "there is at least one candidate"
    raise search.reason


class _Search:
    """Loop orders that have been looked at, with what they cost."""

    def __init__(
        self, problem: Problem, sizes: Sizes, indices: Mapping[str, int], effort: float
    ) -> None:
        self.problem = problem
        parts = sum(1 for _ in problem.parts())
        self.limit = max(LEAST_RANKED, int(effort * WORK / parts))
        self.sizes = sizes
        self.indices = indices
        self.reason: LoweringError | None = None
        self._costs: dict[tuple[str, ...], tuple[float, Plan | None]] = {}

    def refuse(self, error: LoweringError) -> None:
        """Keep the first reason why an order cannot be lowered."""
        self.reason = self.reason or error

    def rank(self, order: tuple[str, ...]) -> float:
        """Return the estimate of an order; infinite where it cannot be planned."""
        if order not in self._costs:
            try:
                placed = plan(self.problem, order)
            except LoweringError as error:
                self.refuse(error)
                self._costs[order] = inf, None
            else:
                cost = estimate(self.problem, placed, self.sizes, self.indices)
                self._costs[order] = cost, placed
        return self._costs[order][0]

    def ranked(self) -> Iterator[Plan]:
        """Yield the plans, cheapest first; of equal ones, the first that was found."""
        for _, placed in sorted(self._costs.values(), key=lambda entry: entry[0]):
            if placed is not None:
                yield placed

    def explore(self, priority: Sequence[str]) -> None:
        """Look at every order that is allowed, or climb from the first ones where they are many."""
        allowed = orders(self.problem, priority)
        for order in islice(allowed, min(EXHAUSTIVE, self.limit)):
            self.rank(order)
        if next(allowed, None) is None:
            return
        before = set(cast("Iterable[tuple[str, str]]", constraints(self.problem, priority).edges))
        best = min(self._costs, key=lambda order: self.rank(order))
        while len(self._costs) < self.limit:
            better = min(_moved(best, before), key=self.rank, default=best)
            if self.rank(better) >= self.rank(best):
                return
            best = better


def _moved(order: tuple[str, ...], before: set[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the orders in which one variable stands elsewhere, as far as they are allowed."""
    found: dict[tuple[str, ...], None] = {}
    for start, index in enumerate(order):
        rest = (*order[:start], *order[start + 1 :])
        for end in range(len(order)):
            moved = (*rest[:end], index, *rest[end:])
            rank = {each: position for position, each in enumerate(moved)}
            if all(rank[outer] < rank[inner] for outer, inner in before):
                found[moved] = None
    return list(found)
