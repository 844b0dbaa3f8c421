"""Repairing a conflict of storage orders by stored copies in other mode orders (DESIGN 5.1).

Every access that the loop order forbids reads a copy of its tensor whose levels follow the
order; a result is stored in that order and converted afterwards.  A program counts these steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice, permutations

from fuseflow.compiler.declare import DEFAULT_POSITIONS, Sizes
from fuseflow.compiler.expr import Access, Expr, Statement, with_children
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
    problem: Problem, sizes: Sizes, order: Sequence[str] | None
) -> tuple[tuple[tuple[str, ...], Repair], ...]:
    """Return every loop order (or the one given) with the copies that it needs.

    Orders that need the least conversion come first.
    """
    orders = (
        islice(permutations(problem.statement.indices), MOST_ORDERS)
        if order is None
        else (tuple(order),)
    )
    found = [(each, _repair(problem, sizes, each)) for each in orders]
    return tuple(sorted(found, key=lambda entry: entry[1].cost))


def _repair(problem: Problem, sizes: Sizes, order: Sequence[str]) -> Repair:
    copies: dict[tuple[str, Format], Copy] = {}
    taken = set(problem.formats)

    def copied(access: Access) -> Access:
        form = in_loop_order(access, problem.formats[access.tensor].levels, order)
        if form == problem.formats[access.tensor]:
            return access
        key = access.tensor, form
        if key not in copies:
            name = f"{access.tensor}_{''.join(map(str, form.order))}"
            while name in taken:
                name += "_"
            taken.add(name)
            copies[key] = Copy(access.tensor, name, form)
        return Access(copies[key].name, access.indices)

    statement = Statement(problem.target, _with_copies(problem.statement.value, copied))
    target = problem.target.tensor
    form = in_loop_order(problem.target, problem.formats[target].levels, order)
    cost = sum(_words(sizes, copy.tensor) for copy in copies.values())
    if form != problem.formats[target]:
        cost += _words(sizes, target)
    formats = {**problem.formats, **{copy.name: copy.format for copy in copies.values()}}
    read = {access.tensor: formats[access.tensor] for access in statement.operands}
    fills = {**problem.fills, **{c.name: problem.fills.get(c.tensor, 0) for c in copies.values()}}
    return Repair(
        Problem(statement, {**read, target: form}, fills, problem.value, problem.keep_explicit),
        tuple(copies.values()),
        cost,
    )


def _words(sizes: Sizes, tensor: str) -> float:
    stored = sizes.tensors.get(tensor)
    return PASSES * (stored.positions[-1] if stored and stored.positions else DEFAULT_POSITIONS)


def in_loop_order(access: Access, levels: tuple[LevelKind, ...], order: Sequence[str]) -> Format:
    """Return the format that stores an access's modes in loop order."""
    modes = sorted(range(len(levels)), key=lambda mode: order.index(access.indices[mode]))
    return Format(levels, tuple(modes))


def _with_copies(expr: Expr, copied: Callable[[Access], Access]) -> Expr:
    if isinstance(expr, Access):
        return copied(expr)
    return with_children(expr, lambda child: _with_copies(child, copied))
