"""Functions of one number for the golden meaning, as exact float64 numbers before rounding.

The elementary ones are polynomials in fixed point (`fuseflow.samml.functions`), computed here on
whole arrays of int64; the cycle model does so on words, in `sim_models/cycle/functions.py`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fuseflow.samml.functions import POWERS, SIZES, TABULATED, Function, function
from fuseflow.samml.values import ValueType

Numbers: TypeAlias = npt.NDArray[Any]
"""Exact numbers: int64 of an integer type, float64 of a floating-point one."""

Integers: TypeAlias = npt.NDArray[np.int64]

BLOCK = 1 << 14
"""Numbers that are computed at once: intermediate arrays then stay in a cache."""

FLOAT64_BITS, SPARE_BITS = 52, 12
"""Integers of more bits lose the spare ones; their last bit then says whether any was set."""


def elementary(op: str, value: ValueType, a: Numbers) -> Numbers:
    """Return a function of `TABULATED` of values of a type; it is still to be rounded.

    Parameters
    ----------
    op : str
    value : ValueType
    a : ndarray of float64
        Values of the type.
    """
    it = function(op, value)
    blocks = range(0, len(a), BLOCK)
    return np.concatenate([a[:0], *(_elementary(it, a[k : k + BLOCK]) for k in blocks)])


def _elementary(it: Function, a: Numbers) -> Numbers:
    mantissa, exponent = np.frexp(np.where(np.isfinite(a), a, 0.0))
    significand = np.ldexp(np.abs(mantissa), it.fraction + 1).astype(np.int64)
    exponent = exponent.astype(np.int64) - 1
    if it.op in POWERS:
        found = _powers(it, a, significand, exponent)
    elif it.op in SIZES:
        found = _sizes(it, a, significand, exponent)
    else:
        log = it.op == "log"
        found = (_logarithms if log else _inverse_roots)(it, significand, exponent)
        found = np.where(a == np.inf, np.inf if log else 0.0, found)
        zero = np.full_like(a, -np.inf) if log else np.copysign(np.inf, a)
        found = np.where(a == 0, zero, np.where(a < 0, np.nan, found))
    return np.where(np.isnan(a), a, found)


@cache
def _table(it: Function) -> tuple[Integers, ...]:
    """Return the coefficients of all segments, the highest first, and last their shifts."""
    columns = zip(*(each.coefficients for each in it.table), strict=True)
    shifts = [each.shift for each in it.table]
    return tuple(np.array(column, np.int64) for column in (*reversed([*columns]), shifts))


def _polynomials(it: Function, index: Integers, rest: Integers) -> tuple[Integers, Integers]:
    """Return the polynomials of segments, cut after each product, and the shifts."""
    highest, *coefficients, shifts = _table(it)
    found = highest[index]
    for column in coefficients:
        found *= rest
        found >>= it.rest
        found += column[index]
    return found, shifts[index]


def _number(magnitude: Integers, scale: Integers | int) -> Numbers:
    """Return magnitude * 2^scale for rounding."""
    lost = (magnitude & ((1 << SPARE_BITS) - 1)) != 0
    large = magnitude >> FLOAT64_BITS != 0
    cut = np.where(large, magnitude >> SPARE_BITS | lost, magnitude)
    return np.ldexp(cut.astype(np.float64), scale + SPARE_BITS * large)


def _arguments(it: Function, significand: Integers, exponent: Integers) -> Integers:
    """Return fixed-point arguments; of too large an operand, any."""
    product = significand * it.factor
    return product >> np.clip(it.dropped + it.top - exponent, 0, 62)


def _powers(it: Function, a: Numbers, significand: Integers, exponent: Integers) -> Numbers:
    beyond = (exponent > it.top) | np.isinf(a)
    power = _arguments(it, significand, exponent)
    power = np.where(beyond, 1 << it.value.exponent + it.point, power)
    if it.op == "exp":
        power = np.where(a < 0, -power, power)
        index = (power & ((1 << it.point) - 1)) >> it.rest
        found, _ = _polynomials(it, index, power & ((1 << it.rest) - 1))
        found = _number(found, (power >> it.point) - it.places)
        return np.where(np.isinf(a), np.where(a < 0, 0.0, np.inf), found)
    over = np.maximum((power >> it.point) - it.last, 0)
    index = (power >> it.rest) - (over << it.split)
    tail, shift = _polynomials(it, index, power & ((1 << it.rest) - 1))
    shift += over
    rest = (1 << it.places) - (tail >> np.minimum(shift, 62))
    negative = np.signbit(a)
    return _number(np.where(negative, tail, rest), np.where(negative, -shift, 0) - it.places)


def _sizes(it: Function, a: Numbers, significand: Integers, exponent: Integers) -> Numbers:
    last = len(it.table) - 1
    argument = _arguments(it, significand, exponent)
    index = np.where(exponent > it.top, last, np.minimum(argument >> it.rest, last))
    index = np.where(np.isinf(a), last, index)
    found, shift = _polynomials(it, index, argument & ((1 << it.rest) - 1))
    if it.op == "tanh":
        steep = index == last
        significand = np.where(steep, 1 << it.fraction, significand)
        exponent = np.where(steep, 0, exponent)
    else:
        positive = ~np.signbit(a)
        found = np.where(positive, (1 << it.places) - (found >> shift), found)
        shift = np.where(positive, 0, shift)
    size = _number(found * significand, exponent - it.fraction - it.places - shift)
    if it.op == "gelu":
        size = np.where(a == np.inf, np.inf, size)
    return np.copysign(size, a)


def _logarithms(it: Function, significand: Integers, exponent: Integers) -> Numbers:
    fraction = significand & ((1 << it.fraction) - 1)
    large = fraction >> (it.fraction - 1)
    ratio, _ = _polynomials(it, fraction >> it.rest, fraction & ((1 << it.rest) - 1))
    distance = np.where(large, fraction - (1 << it.fraction), fraction << 1)
    total = ((exponent + large) * it.ln2 << it.fraction + 1) + distance * ratio
    size = _number(np.abs(total), -it.fraction - 1 - it.places)
    return np.where(total < 0, -size, size)


def _inverse_roots(it: Function, significand: Integers, exponent: Integers) -> Numbers:
    fraction = significand & ((1 << it.fraction) - 1)
    index = (exponent & 1) << it.split | fraction >> it.rest
    found, _ = _polynomials(it, index, fraction & ((1 << it.rest) - 1))
    return _number(found, -(exponent >> 1) - it.places)


def _reciprocal(a: Numbers) -> Numbers:
    return 1.0 / a


FUNCTIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "reciprocal": _reciprocal,
}
"""The operations of `unary` without a constant or a table, on exact numbers."""

__all__ = ["FUNCTIONS", "TABULATED", "Numbers", "elementary"]
