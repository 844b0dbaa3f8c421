"""Bit tricks on vectors that mark elements of a set."""

from functools import reduce
from operator import or_

from amaranth import Cat, Const, Value


def lowest(bits: Value) -> Value:
    """Return the lowest set bit alone (one carry chain)."""
    return (bits & -bits)[: len(bits)]


def rest(bits: Value) -> Value:
    """Return the set without its lowest bit."""
    return (bits & (bits - 1))[: len(bits)]


def encode(onehot: Value) -> Value:
    """Return the position of the one bit that is set (0 where none is)."""
    width = max(1, (len(onehot) - 1).bit_length())
    return Cat(
        any_of([onehot[k] for k in range(len(onehot)) if k >> bit & 1]) for bit in range(width)
    )


def any_of(bits: list[Value]) -> Value:
    """Return the disjunction of some bits."""
    return reduce(or_, bits, Const(0, 1))
