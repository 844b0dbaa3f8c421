"""Quotients, roots and elementary functions of words.

Those that a table gives are computed in integers, as `sim_models/functions.py` states them for
the meaning; their constants (`fuseflow.samml.functions`) stand in the kernel's memory.
"""

from math import copysign, inf, nan

from fuseflow.samml.functions import function
from fuseflow.samml.values import ValueType
from sim_models.cycle.jit import compiled, word_of
from sim_models.cycle.layout import OVERFLOW, Memory

FRACTION_64, BIAS_64 = 52, 1023

EXP, SIGMOID, TANH, GELU, LOG, RSQRT = range(16, 22)
CODES = {"exp": EXP, "sigmoid": SIGMOID, "tanh": TANH, "gelu": GELU, "log": LOG, "rsqrt": RSQRT}

(T_FRACTION, T_BITS, T_PLACES, T_SPLIT, T_REST, T_POINT, T_FACTOR, T_DROPPED, T_TOP, T_LAST,
 T_LN2, T_COUNT, T_DEGREE, T_SEGMENTS) = range(14)  # fmt: skip
"""A function's block of memory; its segments are a shift and the coefficients, highest first."""

FAR = 62
"""Shifts of a word that leave nothing of what is shifted here."""


def block(op: str, value: ValueType) -> list[int]:
    """Return the memory block of a function of `fuseflow.samml.functions.TABULATED`."""
    it = function(op, value)
    scaled = op not in ("log", "rsqrt")
    words = {
        T_FRACTION: it.fraction,
        T_BITS: value.bits,
        T_PLACES: it.places,
        T_SPLIT: it.split,
        T_REST: it.rest,
        T_POINT: it.point,
        T_FACTOR: it.factor if scaled else 0,
        T_DROPPED: it.dropped if scaled else 0,
        T_TOP: it.top if scaled else 0,
        T_LAST: it.last,
        T_LN2: it.ln2,
        T_COUNT: len(it.table),
        T_DEGREE: it.degree,
    }
    rows = [word for each in it.table for word in (each.shift, *reversed(each.coefficients))]
    return [words[k] for k in range(T_SEGMENTS)] + rows


@compiled
def quotient(a: float, b: float) -> float:
    """Return ``a / b``."""
    if b != 0:
        return a / b
    return nan if a == 0 or a != a else copysign(inf, a) * copysign(1.0, b)


@compiled
def tabulated(m: Memory, op: int, table: int, word: int) -> int:
    """Return the word of a function of a word."""
    fraction, bits = m[table + T_FRACTION], m[table + T_BITS]
    sign = word >> (bits - 1)
    magnitude = word & ((1 << (bits - 1)) - 1)
    infinity = ((1 << (bits - 1 - fraction)) - 1) << fraction
    if magnitude > infinity:
        return infinity | 1 << (fraction - 1)
    biased = magnitude >> fraction
    significand = (magnitude & ((1 << fraction) - 1)) | 1 << fraction
    if biased == 0:
        significand = 0
    exponent = biased - (infinity >> (fraction + 1))
    if op >= LOG:
        if significand == 0:
            return infinity | (1 if op == LOG else sign) << (bits - 1)
        if sign != 0:
            return infinity | 1 << (fraction - 1)
        if magnitude == infinity:
            return infinity if op == LOG else 0
        if op == LOG:
            return _logarithm(m, table, significand, exponent)
        return _inverse_root(m, table, significand, exponent)
    beyond = exponent > m[table + T_TOP]
    argument = 0
    if not beyond:
        right = m[table + T_DROPPED] + m[table + T_TOP] - exponent
        argument = significand * m[table + T_FACTOR] >> min(right, FAR)
    if op == EXP:
        if magnitude == infinity:
            return 0 if sign != 0 else infinity
        return _exponential(m, table, sign, argument, beyond)
    if op == SIGMOID:
        return _sigmoid(m, table, sign, argument, beyond)
    if op == GELU and magnitude == infinity:
        return 1 << (bits - 1) if sign != 0 else infinity
    return _scaled(m, op, table, sign, significand, exponent, argument, beyond)


@compiled
def _segment(m: Memory, table: int, index: int) -> int:
    """Return where a segment stands."""
    return table + T_SEGMENTS + index * (m[table + T_DEGREE] + 2)


@compiled
def _polynomial(m: Memory, table: int, index: int, argument: int) -> int:
    """Return the polynomial of a segment at the lowest bits of an argument."""
    places = m[table + T_REST]
    rest = argument & ((1 << places) - 1)
    at = _segment(m, table, index) + 1
    found = m[at]
    for k in range(1, m[table + T_DEGREE] + 1):
        found = (found * rest >> places) + m[at + k]
    return found


@compiled
def _exponential(m: Memory, table: int, sign: int, argument: int, beyond: bool) -> int:
    point = m[table + T_POINT]
    if beyond:
        argument = 1 << (m[table + T_BITS] + point)
    power = -argument if sign != 0 else argument
    index = (power & ((1 << point) - 1)) >> m[table + T_REST]
    found = _polynomial(m, table, index, power)
    return _rounded(m, table, 0, found, (power >> point) - m[table + T_PLACES])


@compiled
def _sigmoid(m: Memory, table: int, sign: int, argument: int, beyond: bool) -> int:
    places = m[table + T_PLACES]
    if beyond:
        return 0 if sign != 0 else _rounded(m, table, 0, 1, 0)
    index, shift = argument >> m[table + T_REST], 0
    over = (argument >> m[table + T_POINT]) - m[table + T_LAST]
    if over > 0:
        index -= over << m[table + T_SPLIT]
        shift = over
    shift += m[_segment(m, table, index)]
    tail = _polynomial(m, table, index, argument)
    if sign != 0:
        return _rounded(m, table, 0, tail, -shift - places)
    return _rounded(m, table, 0, (1 << places) - (tail >> min(shift, FAR)), -places)


@compiled
def _scaled(
    m: Memory,
    op: int,
    table: int,
    sign: int,
    significand: int,
    exponent: int,
    argument: int,
    beyond: bool,
) -> int:
    """Return the operand times a ratio (tanh) or a probability (gelu)."""
    places, last = m[table + T_PLACES], m[table + T_COUNT] - 1
    index = last if beyond else min(argument >> m[table + T_REST], last)
    if op == TANH and index == last:
        significand, exponent = 1 << m[table + T_FRACTION], 0
    found, shift = _polynomial(m, table, index, argument), m[_segment(m, table, index)]
    if op == GELU and sign == 0:
        found = (1 << places) - (found >> shift)
        shift = 0
    scale = exponent - m[table + T_FRACTION] - places - shift
    return _rounded(m, table, sign, found * significand, scale)


@compiled
def _logarithm(m: Memory, table: int, significand: int, exponent: int) -> int:
    fraction = m[table + T_FRACTION]
    one = 1 << fraction
    part = significand - one
    ratio = _polynomial(m, table, part >> m[table + T_REST], part)
    distance = 2 * part
    if distance >= one:
        distance = part - one
        exponent += 1
    total = exponent * m[table + T_LN2] * (2 * one) + distance * ratio
    scale = -fraction - 1 - m[table + T_PLACES]
    return _rounded(m, table, 1 if total < 0 else 0, abs(total), scale)


@compiled
def _inverse_root(m: Memory, table: int, significand: int, exponent: int) -> int:
    part = significand - (1 << m[table + T_FRACTION])
    index = part >> m[table + T_REST]
    if exponent & 1 != 0:
        index += 1 << m[table + T_SPLIT]
    found = _polynomial(m, table, index, part)
    return _rounded(m, table, 0, found, -(exponent >> 1) - m[table + T_PLACES])


@compiled
def _length(magnitude: int) -> int:
    """Return how many bits a positive integer has; float64 may have rounded it up."""
    length = (word_of(float(magnitude)) >> FRACTION_64) - BIAS_64 + 1
    return length if magnitude >> (length - 1) != 0 else length - 1


@compiled
def _rounded(m: Memory, table: int, sign: int, magnitude: int, scale: int) -> int:
    """Round sign and magnitude * 2^scale to a word; an overflow raises the flag."""
    fraction, bits = m[table + T_FRACTION], m[table + T_BITS]
    sign <<= bits - 1
    if magnitude == 0:
        return sign
    length = _length(magnitude)
    top = (1 << (bits - 1 - fraction)) - 1
    exponent = length - 1 + scale + (top >> 1)
    if exponent < 1:
        return sign
    lost = length - 1 - fraction
    if lost > 0:
        # Half of what the last place is worth, less where the word is even: ties go to even.
        magnitude += (1 << (lost - 1)) - 1 + (magnitude >> lost & 1)
        magnitude >>= lost
    else:
        magnitude <<= -lost
    word = ((exponent - 1) << fraction) + magnitude
    if word >= top << fraction:
        m[OVERFLOW] = 1
        word = top << fraction
    return sign | word
