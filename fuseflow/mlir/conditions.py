"""Values of type i1 as conditions: they select, and are stored only where they are masks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fuseflow.compiler.expr import Access, Expr, Fold, Where, free, with_children


@dataclass(frozen=True)
class Truth:
    """A condition that is known."""

    value: bool


@dataclass(frozen=True)
class Stored:
    """Where a mask is not zero."""

    mask: Access


@dataclass(frozen=True)
class Not:
    """The opposite of a condition that is a `Stored`, a `Quantified` or an `Either`."""

    condition: "Condition"


@dataclass(frozen=True)
class Both:
    """Two conditions at once."""

    left: "Condition"
    right: "Condition"


@dataclass(frozen=True)
class Either:
    """One of two conditions or both."""

    left: "Condition"
    right: "Condition"


@dataclass(frozen=True)
class Some:
    """A condition at one coordinate at least of some index variables."""

    indices: tuple[str, ...]
    condition: "Condition"


@dataclass(frozen=True)
class Compare:
    """A comparison of computed values: ``eq, ne, lt, le, gt, ge``."""

    op: str
    left: Expr
    right: Expr


Condition: TypeAlias = Truth | Stored | Not | Both | Either | Some | Compare

OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}


def opposite(condition: Condition) -> Condition:
    """Return where a condition does not hold."""
    match condition:
        case Truth(value):
            return Truth(not value)
        case Not(inner):
            return inner
        case Both(left, right):
            return Either(opposite(left), opposite(right))
        case Compare(op, left, right):
            # Values are numbers: of two numbers, one comparison or its opposite holds.
            return Compare(OPPOSITE[op], left, right)
        case _:
            return Not(condition)


def both(left: Condition, right: Condition) -> Condition:
    """Return where two conditions hold."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Truth):
            return other if one.value else one
    return left if left == right else Both(left, right)


def either(left: Condition, right: Condition) -> Condition:
    """Return where one of two conditions holds."""
    return opposite(both(opposite(left), opposite(right)))


def open_indices(condition: Condition) -> tuple[str, ...]:
    """Return the index variables that a condition leaves open, in order of appearance."""
    match condition:
        case Truth():
            found: tuple[str, ...] = ()
        case Stored(mask):
            found = mask.indices
        case Not(inner):
            found = open_indices(inner)
        case Some(indices, inner):
            found = tuple(index for index in open_indices(inner) if index not in indices)
        case Compare(_, left, right):
            found = (*free(left), *free(right))
        case Both(left, right) | Either(left, right):
            found = (*open_indices(left), *open_indices(right))
    return tuple(dict.fromkeys(found))


Fresh: TypeAlias = Callable[[str], str]
"""Gives an index variable a new name, for the same size."""


def renamed(expr: Expr, names: Mapping[str, str], fresh: Fresh) -> Expr:
    """Return an expression with other index variables; those that it binds get new ones."""
    match expr:
        case Access(tensor, indices):
            return Access(tensor, tuple(names.get(index, index) for index in indices))
        case Fold(op, indices, body, owner):
            inner = {**names, **{index: fresh(index) for index in indices}}
            bound = tuple(inner[index] for index in indices)
            return Fold(op, bound, renamed(body, inner, fresh), owner)
        case Where(mask, body, fill):
            moved = renamed(mask, names, fresh)
            assert isinstance(moved, Access)
            return Where(moved, renamed(body, names, fresh), fill)
        case _:
            return with_children(expr, lambda part: renamed(part, names, fresh))


def renamed_condition(condition: Condition, names: Mapping[str, str], fresh: Fresh) -> Condition:
    """Return a condition with other index variables; see `renamed`."""
    match condition:
        case Truth():
            return condition
        case Stored(mask):
            moved = renamed(mask, names, fresh)
            assert isinstance(moved, Access)
            return Stored(moved)
        case Not(inner):
            return Not(renamed_condition(inner, names, fresh))
        case Some(indices, inner):
            under = {**names, **{index: fresh(index) for index in indices}}
            bound = tuple(under[index] for index in indices)
            return Some(bound, renamed_condition(inner, under, fresh))
        case Compare(op, left, right):
            return Compare(op, renamed(left, names, fresh), renamed(right, names, fresh))
        case Both(left, right):
            return Both(
                renamed_condition(left, names, fresh), renamed_condition(right, names, fresh)
            )
        case Either(left, right):
            return Either(
                renamed_condition(left, names, fresh), renamed_condition(right, names, fresh)
            )
