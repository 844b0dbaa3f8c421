"""Repairing a conflict of storage orders by stored copies in other mode orders (DESIGN 5.1).

Every access that the loop order forbids reads a copy of its tensor whose levels follow the
order; a result is stored in that order and converted afterwards.  A program counts these steps.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations

from fuseflow.compiler.declare import DEFAULT_POSITIONS, Sizes
from fuseflow.compiler.expr import Access, Rewriter
from fuseflow.compiler.order import MOST_ORDERS
from fuseflow.compiler.problem import Problem
from fuseflow.samml.formats import Format, LevelKind

PASSES = 4
"""Words that a conversion is assumed to move per stored entry and pass: read and write, twice."""


@dataclass(frozen=True)
class Copy:
    """A stored copy of an operand in another format.

    Attributes
    ----------
    tensor : str
        The operand.
    name : str
        What the graph calls the copy.
    format : Format
    """

    tensor: str
    name: str
    format: Format


@dataclass(frozen=True)
class Repair:
    """A problem that its order allows, and the copies that it reads."""

    problem: Problem
    copies: tuple[Copy, ...]
    cost: float


def repairs(
    problem: Problem,
    sizes: Sizes,
    order: Sequence[str] | None,
    priority: Sequence[str] = (),
    only: Collection[str] | None = None,
) -> tuple[Repair, ...]:
    """Return problems with the copies that every loop order (or the one given) needs.

    All have the user's priority.  Those of the least conversion come first.  With `only` given,
    no other tensor is converted, and not every problem has an order then.
    """
    orders = _orders(problem.indices, priority) if order is None else (tuple(order),)
    found = [
        _repair(problem, sizes, each, only, compressed=compressed)
        for each in orders
        for compressed in (False, True)
    ]
    unique = {(each.copies, *each.problem.formats.items()): each for each in reversed(found)}
    return tuple(sorted(unique.values(), key=lambda each: each.cost))


def _orders(indices: Sequence[str], priority: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield loop orders with a priority; the first one changes as little as it asks for."""
    wanted = [index for index in priority if index in indices]
    places = iter(wanted)
    first = [next(places) if index in wanted else index for index in indices]
    for order in islice(permutations(first), MOST_ORDERS):
        if [index for index in order if index in wanted] == wanted:
            yield order


def _repair(
    problem: Problem,
    sizes: Sizes,
    order: Sequence[str],
    only: Collection[str] | None,
    *,
    compressed: bool,
) -> Repair:
    """Repair a problem for an order; `compressed` results have no dense level to be filled."""
    copies: dict[tuple[str, Format], Copy] = {}
    taken = set(problem.formats)

    def copied(access: Access) -> Access:
        form = in_loop_order(access, problem.formats[access.tensor].levels, order)
        fixed = only is not None and access.tensor not in only
        if fixed or form == problem.formats[access.tensor]:
            return access
        key = access.tensor, form
        if key not in copies:
            name = f"{access.tensor}_{''.join(map(str, form.order))}"
            while name in taken:
                name += "_"
            taken.add(name)
            copies[key] = Copy(access.tensor, name, form)
        return Access(copies[key].name, access.indices)

    rewrite = Rewriter(lambda part: copied(part) if isinstance(part, Access) else part)
    results = tuple(replace(each, value=rewrite(each.value)) for each in problem.results)
    formats = {**problem.formats, **{copy.name: copy.format for copy in copies.values()}}
    for target in problem.targets:
        if only is not None and target.tensor not in only:
            continue
        levels = formats[target.tensor].levels
        if compressed:
            levels = (LevelKind.COMPRESSED,) * len(levels)
        formats[target.tensor] = in_loop_order(target, levels, order)
    changed = [t.tensor for t in problem.targets if formats[t.tensor] != problem.formats[t.tensor]]
    cost = sum(_words(sizes, name) for name in (*(c.tensor for c in copies.values()), *changed))
    fills = {**problem.fills, **{c.name: problem.fills.get(c.tensor, 0) for c in copies.values()}}
    repaired = replace(problem, results=results, formats=formats, fills=fills)
    kept = {
        access.tensor: formats[access.tensor] for access in (*repaired.operands, *problem.targets)
    }
    return Repair(replace(repaired, formats=kept), tuple(copies.values()), cost)


def _words(sizes: Sizes, tensor: str) -> float:
    stored = sizes.tensors.get(tensor)
    return PASSES * (stored.positions[-1] if stored and stored.positions else DEFAULT_POSITIONS)


def in_loop_order(access: Access, levels: tuple[LevelKind, ...], order: Sequence[str]) -> Format:
    """Return the format that stores an access's modes in loop order."""
    modes = sorted(range(len(levels)), key=lambda mode: order.index(access.indices[mode]))
    return Format(levels, tuple(modes))
