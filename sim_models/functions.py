"""Elementary functions of float64 for the golden meaning.

The cycle model restates them in `sim_models/cycle/functions.py`, operation for operation: each is a
sequence of additions, products, quotients and roots, which IEEE 754 rounds in one way only.  The
library's own exponential is not, so it is not used.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[Any]
"""Exact numbers: int64 of an integer type, float64 of a floating-point one."""

PER_LN2 = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts; the products of the first, of 33 bits, with exponents are exact."""

STEEP = 700.0
"""Where exp has left every value type, but not float64."""

TERMS = 14
"""Terms of the series: what is left out is below 2^-57 of the result."""


def reciprocal_root(a: Numbers) -> Numbers:
    """Return ``1 / sqrt(a)``: NaN below 0, an infinity of its sign for a zero."""
    return 1.0 / np.sqrt(a)


def exponential(a: Numbers) -> Numbers:
    """Return e to a power: a multiple of ln 2, and the series of what is left.

    A finite power gives a finite number, so that its rounding to a value type raises the flag.
    """
    passes = np.isnan(a) | (a == np.inf)
    power = np.clip(np.where(passes, 0.0, a), -STEEP, STEEP)
    exponent = (power * PER_LN2 + 2048.5).astype(np.int64) - 2048
    rest = power - exponent * LN2_HIGH - exponent * LN2_LOW
    series = np.ones_like(rest)
    for n in range(TERMS - 1, 0, -1):
        series = 1.0 + rest * series / n
    return np.where(passes, a, np.ldexp(series, exponent))


FUNCTIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": exponential,
    "rsqrt": reciprocal_root,
}
"""The operations of `unary` without a constant, on exact numbers."""
