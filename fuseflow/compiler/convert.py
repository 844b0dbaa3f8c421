"""Repairing a conflict of storage orders by stored copies in other mode orders (DESIGN 5.1).

Every access that the loop order forbids reads a copy of its tensor whose levels follow the
order; a result is stored in that order and converted afterwards.  A program counts these steps.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import TypeAlias

from fuseflow.compiler.declare import DEFAULT_POSITIONS, Sizes
from fuseflow.compiler.expr import Access, Expr, Rewriter, accesses
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


def repairs(
    problem: Problem,
    sizes: Sizes,
    order: Sequence[str] | None,
    priority: Sequence[str] = (),
    only: Collection[str] | None = None,
) -> Iterator[Repair]:
    """Yield problems with the copies that every loop order (or the one given) needs.

    All have the user's priority.  Those of the least conversion come first.  With `only` given,
    no other tensor is converted, and not every problem has an order then.
    """
    free = [
        access
        for access in (*problem.operands, *problem.targets)
        if only is None or access.tensor in only
    ]
    orders = _orders(problem, free, priority) if order is None else (tuple(order),)
    found: dict[_Forms, float] = {}
    for modes in dict.fromkeys(_modes(free, each) for each in orders):
        for compressed in (False, True):
            forms = _forms(problem, free, modes, compressed=compressed)
            if forms not in found:
                found[forms] = sum(_words(sizes, name) for name in _converted(forms))
    for forms in sorted(found, key=lambda each: found[each]):
        yield _repair(problem, dict(forms))


_Forms: TypeAlias = "tuple[tuple[Access, Format], ...]"
"""Accesses with the formats that they need, where these differ from their own."""


def _modes(free: Sequence[Access], order: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the mode orders in which loops want accesses stored."""
    place = {index: position for position, index in enumerate(order)}
    return tuple(_in_order([place[index] for index in access.indices]) for access in free)


def _in_order(places: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(places)), key=places.__getitem__))


def _forms(
    problem: Problem,
    free: Sequence[Access],
    modes: Sequence[tuple[int, ...]],
    *,
    compressed: bool,
) -> _Forms:
    """Return the formats of some mode orders; `compressed` results have no level to fill."""
    targets = {target.tensor for target in problem.targets}
    found: list[tuple[Access, Format]] = []
    for access, wanted in zip(free, modes, strict=True):
        own = problem.formats[access.tensor]
        levels = own.levels
        if compressed and access.tensor in targets:
            levels = (LevelKind.COMPRESSED,) * len(levels)
        form = Format(levels, wanted)
        if form != own:
            found.append((access, form))
    return tuple(found)


def _converted(forms: _Forms) -> list[str]:
    return [name for name, _ in dict.fromkeys((access.tensor, form) for access, form in forms)]


def _orders(
    problem: Problem, free: Sequence[Access], priority: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield loop orders that suit the priority, and accesses that are not free to be converted.

    The first one changes as little as they ask for.
    """
    wanted = [index for index in priority if index in problem.indices]
    places = iter(wanted)
    first = tuple(next(places) if index in wanted else index for index in problem.indices)
    fixed = {*problem.operands, *problem.targets} - {*free}
    chains = [wanted, *(problem.storage(access) for access in fixed)]
    before: dict[str, set[str]] = {index: set() for index in first}
    for outer, inner in (pair for chain in chains for pair in pairwise(chain)):
        before[inner].add(outer)
    return islice(_extensions(first, before), MOST_ORDERS)


def _extensions(rest: tuple[str, ...], before: Mapping[str, set[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the orders of variables in which all stand behind those that must be before them."""
    if not rest:
        yield ()
    for at, index in enumerate(rest):
        others = (*rest[:at], *rest[at + 1 :])
        if before[index].isdisjoint(others):
            for tail in _extensions(others, before):
                yield (index, *tail)


def _repair(problem: Problem, forms: Mapping[Access, Format]) -> Repair:
    """Give accesses copies in other formats, and results other formats."""
    copies: dict[tuple[str, Format], Copy] = {}
    taken = set(problem.formats)

    def copied(part: Expr) -> Expr:
        if not isinstance(part, Access) or part not in forms:
            return part
        key = part.tensor, forms[part]
        if key not in copies:
            name = f"{part.tensor}_{''.join(map(str, forms[part].order))}"
            while name in taken:
                name += "_"
            taken.add(name)
            copies[key] = Copy(part.tensor, name, forms[part])
        return Access(copies[key].name, part.indices)

    rewrite = Rewriter(copied)
    results = tuple(replace(each, value=rewrite(each.value)) for each in problem.results)
    formats = {**problem.formats, **{copy.name: copy.format for copy in copies.values()}}
    for target in problem.targets:
        formats[target.tensor] = forms.get(target, formats[target.tensor])
    fills = {**problem.fills, **{c.name: problem.fills.get(c.tensor, 0) for c in copies.values()}}
    used = (*accesses(*(each.value for each in results)), *problem.targets)
    kept = {access.tensor: formats[access.tensor] for access in used}
    users = dict(problem.users)
    for access in problem.operands:
        read = copied(access)
        if isinstance(read, Access) and access in users:
            users[read] = users[access]
    repaired = replace(problem, results=results, formats=kept, fills=fills, users=users)
    return Repair(repaired, tuple(copies.values()))


def _words(sizes: Sizes, tensor: str) -> float:
    stored = sizes.tensors.get(tensor)
    return PASSES * (stored.positions[-1] if stored and stored.positions else DEFAULT_POSITIONS)


def in_loop_order(access: Access, levels: tuple[LevelKind, ...], order: Sequence[str]) -> Format:
    """Return the format that stores an access's modes in loop order."""
    (modes,) = _modes([access], order)
    return Format(levels, modes)
