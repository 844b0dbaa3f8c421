"""Quotients and elementary functions, as `sim_models/functions.py` states them for the meaning."""

from math import copysign, inf, nan, sqrt

from sim_models.cycle.jit import compiled, double_of

FRACTION_64, BIAS_64 = 52, 1023

PER_LN2 = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
STEEP, TERMS = 700.0, 14


@compiled
def quotient(a: float, b: float) -> float:
    """Return ``a / b``."""
    if b != 0:
        return a / b
    return nan if a == 0 or a != a else copysign(inf, a) * copysign(1.0, b)


@compiled
def reciprocal_root(a: float) -> float:
    """Return ``1 / sqrt(a)``."""
    return nan if a < 0 else quotient(1.0, sqrt(a))


@compiled
def exponential(a: float) -> float:
    """Return e to a power."""
    if a != a or a == inf:
        return a
    power = min(max(a, -STEEP), STEEP)
    exponent = int(power * PER_LN2 + 2048.5) - 2048
    rest = power - exponent * LN2_HIGH - exponent * LN2_LOW
    series = 1.0
    for n in range(TERMS - 1, 0, -1):
        series = 1.0 + rest * series / n
    return series * double_of((exponent + BIAS_64) << FRACTION_64)
