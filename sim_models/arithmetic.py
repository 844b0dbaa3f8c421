"""Arithmetic on arrays of words for the golden meaning: exact numbers, rounded once.

Numbers are int64 and float64, which holds the product of two significands of 24 bits; a sum that
float64 rounds is then rounded as if at once, since 53 >= 2 * 24 + 2
(S. A. Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseflow.samml.streams import Kind
from fuseflow.samml.values import Number, ValueType
from sim_models.functions import FUNCTIONS, TABULATED, Numbers, elementary
from sim_models.ragged import Words
from sim_models.storage import Flags

PATTERNS: dict[str, tuple[Any, Any, int]] = {
    "fp32": (np.uint32, np.float32, 0),
    "fp16": (np.uint16, np.float16, 0),
    "bf16": (np.uint32, np.float32, 16),
}
"""Integer and number of one pattern, and how far a word is shifted to its top."""

IEEE = np.errstate(divide="ignore", invalid="ignore")
"""Infinities and NaN are numbers like any other."""


@IEEE
def numbers(value: ValueType, words: Words) -> Numbers:
    """Return the numbers of words; subnormals are zeros."""
    if not value.is_float:
        return words
    pattern, number, shift = PATTERNS[value.name]
    return _flushed(value, (words << shift).astype(pattern).view(number).astype(np.float64))


def words(value: ValueType, numbers: Numbers) -> Words:
    """Return the words of numbers that are values of a type."""
    if not value.is_float:
        return numbers
    pattern, number, shift = PATTERNS[value.name]
    found = numbers.astype(number).view(pattern).astype(np.int64) >> shift
    return np.where(np.isnan(numbers), value.nan, found)


def rounded(value: ValueType, exact: Numbers, flags: Flags) -> Numbers:
    """Bring exact numbers to values of a type, noting an overflow."""
    if value.fraction is None:
        low, span = int(value.low), 1 << value.bits
        found = (exact - low) % span + low
        flags.overflow |= bool((found != exact).any())
        return found
    digits = value.fraction + 1
    significand, exponent = np.frexp(_flushed(value, exact))
    nearest = np.ldexp(np.rint(np.ldexp(significand, digits)), exponent - digits)
    infinite = np.abs(nearest) > value.largest
    flags.overflow |= bool((infinite & np.isfinite(exact)).any())
    return np.where(infinite, np.copysign(np.inf, nearest), nearest)


def _flushed(value: ValueType, exact: Numbers) -> Numbers:
    """Replace what is below the smallest normal number by a zero of its sign."""
    return np.where(np.abs(exact) < value.smallest, np.copysign(0.0, exact), exact)


def _greater(a: Numbers, b: Numbers) -> Numbers:
    first = np.isnan(a) | (a > b) | ((a == b) & ~np.signbit(a))
    return np.where(first, a, b)


def _smaller(a: Numbers, b: Numbers) -> Numbers:
    return -_greater(-a, -b)


EXACT: dict[str, Callable[..., Numbers]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": _greater,
    "min": _smaller,
    **FUNCTIONS,
}


@IEEE
def apply(op: str, to: ValueType, flags: Flags, *operands: Numbers) -> Numbers:
    """Return the result of an operation, rounded once to a type."""
    exact = elementary(op, to, *operands) if op in TABULATED else EXACT[op](*operands)
    return rounded(to, exact, flags)


@dataclass(frozen=True)
class Fold:
    """How numbers are folded to one of the graph's value type.

    Attributes
    ----------
    op : str
        Folds two partial results, the older one first.
    addend, inside, result : ValueType
        Of what is folded, of partial results, and of the result.
    first, nothing : int or float
        The partial result before the first number, and the one of no numbers.
    flags : Flags
    """

    op: str
    addend: ValueType
    inside: ValueType
    result: ValueType
    first: Number
    nothing: Number
    flags: Flags

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
        identity = value.identity(op)
        return cls(
            op="add" if op == "sum" else op,
            addend=value.wide if kind is Kind.SUM else value,
            inside=value.wide if op == "sum" else value,
            result=value.wide if params["wide"] else value,
            # x + -0 is x for every x, x + +0 is not for -0.
            first=-0.0 if op == "sum" else identity,
            nothing=identity,
            flags=flags,
        )

    def combine(self, older: Numbers, newer: Numbers) -> Numbers:
        """Fold partial results, pair by pair."""
        return apply(self.op, self.inside, self.flags, older, newer)

    def totals(self, addends: Numbers, groups: Words, count: int) -> Numbers:
        """Fold the numbers of each group in order, the n-th of every group in one step.

        Parameters
        ----------
        addends : ndarray
        groups : ndarray of int
            The group of each.
        count : int
            How many groups there are; those without a number give ``first``.
        """
        sizes = np.bincount(groups, minlength=count)
        by_group = addends[np.argsort(groups, kind="stable")]
        if self.op == "add" and not self.inside.is_float:
            return self._integer_sums(by_group, sizes)
        largest_first = np.argsort(-sizes, kind="stable")
        starts = (np.cumsum(sizes) - sizes)[largest_first]
        totals = np.full(count, self.first, addends.dtype)
        # How many groups have an n-th number, and at last none.
        reach = count - np.cumsum(np.bincount(sizes))
        for n, some in enumerate(reach.tolist()):
            totals[:some] = self.combine(totals[:some], by_group[starts[:some] + n])
        found = np.empty_like(totals)
        found[largest_first] = totals
        return found

    def _integer_sums(self, by_group: Numbers, sizes: Words) -> Numbers:
        """Return wrapping sums, which no order changes.

        Partial sums are exact in int64; the first to leave the range is the first that wraps.
        """
        ends, upto = np.cumsum(sizes), np.append(0, np.cumsum(by_group))
        partial = upto[1:] - np.repeat(upto[ends - sizes], sizes)
        sums = np.append(rounded(self.inside, partial, self.flags), 0)
        return sums[np.where(sizes > 0, ends - 1, -1)]

    def words(self, totals: Numbers) -> Words:
        """Return the words of results."""
        return words(self.result, rounded(self.result, totals, self.flags))
