"""The cost model: estimated firings of a loop order (DESIGN section 5.2).

An estimate walks the loop nest.  ``N`` is the expected number of coordinates at a level: a
compressed level contributes its mean fiber, an intersection the product of its
densities, a union their complement's.  Every scan, merge step, located reference and
value counts one firing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from fuseflow.compiler.declare import Sizes
from fuseflow.compiler.expr import Access, Product
from fuseflow.compiler.order import check_order, orders
from fuseflow.compiler.plan import Plan, plan
from fuseflow.compiler.problem import Problem
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import LevelKind

DEFAULT_DENSITY = 0.1
"""Share of a compressed level's coordinates that are assumed stored."""

ACCUMULATE = 2.0
"""Firings of one accumulated value: it is taken once and, at worst, emitted once."""


@dataclass
class _Nest:
    """The estimate of one loop nest under way."""

    problem: Problem
    sizes: Sizes
    indices: Mapping[str, int]
    cost: float = 0.0

    def density(self, access: Access, index: str) -> float:
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

    def iterate(
        self, count: float, terms: Sequence[Product], index: str, *, complete: bool
    ) -> float:
        """Add one loop variable below `count` coordinates; returns how many there are then."""
        size = self.indices[index]
        absent = 1.0
        for term in terms:
            shares = [
                self.density(access, index) for access in term.factors if index in access.indices
            ]
            sparse = [share for share in shares if share < 1.0]
            self.cost += count * size * (sum(sparse) if sparse else 1.0)
            self.cost += count * size * prod(sparse) * (len(shares) - len(sparse))
            absent *= 1.0 - prod(sparse)
        share = 1.0 if complete else 1.0 - absent
        self.cost += count * size * share
        return count * size * share


def estimate(problem: Problem, placed: Plan, sizes: Sizes, indices: Mapping[str, int]) -> float:
    """Estimate the firings of a planned order."""
    nest = _Nest(problem, sizes, indices)
    count = 1.0
    for depth in range(len(placed.joint) + 1):
        kept = 0
        for term, place in zip(problem.terms, placed.terms, strict=True):
            if not place.section or place.depth != depth:
                continue
            inner = count
            for index in place.section:
                inner = nest.iterate(inner, (term,), index, complete=False)
            nest.cost += inner * (1.0 if not place.kept else ACCUMULATE * len(place.kept))
            kept = len(place.kept)
        if depth == len(placed.joint) or (len(problem.terms) == 1 and kept):
            break
        index = placed.joint[depth]
        dense = problem.result_kind(index) is LevelKind.DENSE
        count = nest.iterate(count, problem.terms, index, complete=dense)
    return nest.cost


def choose(
    problem: Problem,
    sizes: Sizes,
    indices: Mapping[str, int],
    order: Sequence[str] | None = None,
) -> Plan:
    """Plan the order given, or the cheapest of all that are allowed.

    Raises
    ------
    LoweringError
        The order given cannot be lowered, or no order can; names the first reason.
    """
    candidates: Iterable[tuple[str, ...]]
    candidates = orders(problem) if order is None else (check_order(problem, order),)
    best: tuple[float, Plan] | None = None
    reason: LoweringError | None = None
    for candidate in candidates:
        try:
            placed = plan(problem, candidate)
        except LoweringError as error:
            reason = reason or error
            continue
        cost = estimate(problem, placed, sizes, indices)
        if best is None or cost < best[0]:
            best = cost, placed
    if best is None:
        assert reason is not None, "there is at least one candidate"
        raise reason
    return best[1]
