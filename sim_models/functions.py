"""Quotients and elementary functions of float64 for the golden meaning.

The cycle model restates them in `sim_models/cycle/functions.py`, operation for operation: each is a
sequence of additions, products, quotients and roots, which IEEE 754 rounds in one way only.  The
library's own exponential is not, so it is not used.
"""

import math
from collections.abc import Callable

from fuseflow.samml.values import Number

PER_LN2 = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts; the products of the first, of 33 bits, with exponents are exact."""

STEEP = 700.0
"""Where exp has left every value type, but not float64."""

TERMS = 14
"""Terms of the series: what is left out is below 2^-57 of the result."""


def quotient(a: Number, b: Number) -> float:
    """Return ``a / b`` with the infinities and the NaN of IEEE 754."""
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def reciprocal_root(a: Number) -> float:
    """Return ``1 / sqrt(a)``: NaN below 0, an infinity of its sign for a zero."""
    return math.nan if a < 0 else quotient(1.0, math.sqrt(a))


def exponential(a: Number) -> float:
    """Return e to a power: a multiple of ln 2, and the series of what is left.

    A finite power gives a finite number, so that its rounding to a value type raises the flag.
    """
    if a != a or a == math.inf:
        return a
    power = min(max(a, -STEEP), STEEP)
    exponent = int(power * PER_LN2 + 2048.5) - 2048
    rest = power - exponent * LN2_HIGH - exponent * LN2_LOW
    series = 1.0
    for n in range(TERMS - 1, 0, -1):
        series = 1.0 + rest * series / n
    return math.ldexp(series, exponent)


FUNCTIONS: dict[str, Callable[[Number], Number]] = {
    "neg": lambda a: -a,
    "abs": abs,
    "exp": exponential,
    "rsqrt": reciprocal_root,
}
"""The operations of `unary` without a constant, on exact numbers."""
