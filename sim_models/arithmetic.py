"""Arithmetic on words for the golden meaning: exact numbers, rounded once.

Numbers are Python's integers and float64, which holds the product of two significands of 24
bits; a sum that float64 rounds is then rounded as if at once, since 53 >= 2 * 24 + 2
(S. A. Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995).
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Any

from fuseflow.samml.streams import Kind
from fuseflow.samml.values import Number, ValueType
from sim_models.functions import quotient
from sim_models.storage import Flags

Read = Callable[[int], Number]
Write = Callable[[Number], int]
Convert = Callable[[int], int]
Combine = Callable[[int, int], int]

PATTERNS = {
    "fp32": (Struct("<I"), Struct("<f"), 0),
    "fp16": (Struct("<H"), Struct("<e"), 0),
    "bf16": (Struct("<I"), Struct("<f"), 16),
}
"""Integer and number of one pattern, and how far a word is shifted to its top."""


def reader(value: ValueType) -> Read:
    """Return the function from words of a type to numbers; subnormals are zeros."""
    if not value.is_float:
        return _same
    pattern, number, shift = PATTERNS[value.name]
    pack, unpack, smallest = pattern.pack, number.unpack, value.smallest

    def read(word: int) -> float:
        (exact,) = unpack(pack(word << shift))
        return math.copysign(0.0, exact) if abs(exact) < smallest else exact

    return read


def writer(value: ValueType, flags: Flags) -> Write:
    """Return the function that brings an exact number to a word, noting an overflow."""
    return _rounder(value, flags) if value.is_float else _wrapper(value, flags)


def _wrapper(value: ValueType, flags: Flags) -> Write:
    low, high = value.low, value.high

    def wrap(exact: Number) -> int:
        assert isinstance(exact, int)
        if low <= exact <= high:
            return exact
        flags.overflow = True
        return value.wrap(exact)

    return wrap


def _rounder(value: ValueType, flags: Flags) -> Write:
    smallest, largest = value.smallest, value.largest
    infinities = {value.encode(value.low), value.encode(value.high)}
    in_range = _nearest(value)

    def write(exact: Number) -> int:
        if smallest <= abs(exact) <= largest:
            return in_range(exact)
        word = value.encode(exact)
        if word in infinities and math.isfinite(exact):
            flags.overflow = True
        return word

    return write


def _nearest(value: ValueType) -> Write:
    """Return what rounds a number between a type's smallest and largest."""
    pattern, number, shift = PATTERNS[value.name]
    if shift:
        return value.encode
    pack, unpack = number.pack, pattern.unpack

    def nearest(exact: Number) -> int:
        return unpack(pack(exact))[0]

    return nearest


def _same(word: int) -> int:
    return word


def converter(of: ValueType, to: ValueType, flags: Flags) -> Convert:
    """Return the function from words of one type to words of another."""
    if of == to and not of.is_float:
        return _same
    read, write = reader(of), writer(to, flags)

    def convert(word: int) -> int:
        return write(read(word))

    return convert


def _greater(a: Number, b: Number) -> Number:
    if a != a or b != b:
        return math.nan
    if a == b:
        return b if math.copysign(1.0, a) < 0 else a
    return max(a, b)


def _smaller(a: Number, b: Number) -> Number:
    return -_greater(-a, -b)


EXACT: dict[str, Callable[[Number, Number], Number]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": quotient,
    "max": _greater,
    "min": _smaller,
}


def operation(op: str, of: ValueType, to: ValueType, flags: Flags) -> Combine:
    """Return an operation on words of one type that gives words of another, rounded once."""
    exact, write = EXACT[op], writer(to, flags)
    if not of.is_float:

        def combine(a: int, b: int) -> int:
            return write(exact(a, b))
    else:
        read = reader(of)

        def combine(a: int, b: int) -> int:
            return write(exact(read(a), read(b)))

    return combine


@dataclass(frozen=True)
class Fold:
    """How words of one kind are folded to a word of the graph's value type.

    Attributes
    ----------
    widen, narrow : callable
        From a word to the type of partial results, and from there to the result.
    combine : callable
        Folds two partial results, the older one first.
    first, nothing : int
        The partial result before the first word, and the one of no words.
    """

    widen: Convert
    narrow: Convert
    combine: Combine
    first: int
    nothing: int

    @classmethod
    def of(cls, params: Mapping[str, Any], value: ValueType, kind: Kind, flags: Flags) -> "Fold":
        """Return a fold.

        Parameters
        ----------
        params : mapping
            The node's: ``op`` and ``wide``.
        value : ValueType
            Of the graph.
        kind : Kind
            Of what is folded: a value or a wide product.
        flags : Flags
        """
        op = params["op"]
        inside = value.wide if op == "sum" else value
        identity = value.identity(op)
        return cls(
            widen=converter(value.wide if kind is Kind.SUM else value, inside, flags),
            narrow=converter(inside, value.wide if params["wide"] else value, flags),
            combine=operation("add" if op == "sum" else op, inside, inside, flags),
            # x + -0 is x for every x, x + +0 is not for -0.
            first=inside.encode(-0.0 if op == "sum" else identity),
            nothing=inside.encode(identity),
        )
