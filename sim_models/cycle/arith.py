"""Arithmetic of the kernel on raw words.

A value type is one word to the kernel, its *form*: the bits of a value, and above bit 8 the
stored bits of its significand, 0 for integers.  Floating point goes through float64, which
holds the product of two significands of 24 bits; a sum that float64 rounds is then rounded as
if at once, since 53 >= 2 * 24 + 2.  Subnormals are read as zeros, and what is below the
smallest normal number is written as zero.
"""

from math import nan, sqrt

from sim_models.cycle.functions import BIAS_64, FRACTION_64, quotient
from sim_models.cycle.jit import compiled, double_of, word_of
from sim_models.cycle.layout import OVERFLOW, Memory

ADD, SUB, MUL, DIV, RECIPROCAL, SQRT, MAX, MIN = range(8)

INFINITY_64 = 0x7FF << 52
MAGNITUDE_64 = (1 << 63) - 1


@compiled
def signed(word: int, bits: int) -> int:
    """Read a raw word as a two's complement integer."""
    return word - ((word >> (bits - 1) & 1) << bits)


@compiled
def _wrap(m: Memory, bits: int, exact: int) -> int:
    """Bring an integer to a raw word; an overflow wraps and raises the flag."""
    word = exact & ((1 << bits) - 1)
    if signed(word, bits) != exact:
        m[OVERFLOW] = 1
    return word


@compiled
def _top(of: int) -> int:
    """Return the largest biased exponent of a form: that of infinities and NaN."""
    return (1 << ((of & 255) - 1 - (of >> 8))) - 1


@compiled
def _nan(of: int) -> int:
    return (_top(of) << 1 | 1) << ((of >> 8) - 1)


@compiled
def _read(of: int, word: int) -> float:
    """Return the number of a floating-point word."""
    bits, fraction, top = of & 255, of >> 8, _top(of)
    magnitude = word & ((1 << (bits - 1)) - 1)
    exponent = magnitude >> fraction
    double = magnitude << (FRACTION_64 - fraction)
    if exponent == top:
        double |= INFINITY_64
    elif exponent == 0:
        double = 0
    else:
        double += (BIAS_64 - (top >> 1)) << FRACTION_64
    number = double_of(double)
    return number if word >> (bits - 1) == 0 else -number


@compiled
def _write(m: Memory, to: int, number: float) -> int:
    """Round a number to a floating-point word; an overflow raises the flag."""
    if number != number:
        return _nan(to)
    bits, fraction, top = to & 255, to >> 8, _top(to)
    double = word_of(number)
    sign = 1 << (bits - 1) if double < 0 else 0
    double &= MAGNITUDE_64
    if double == INFINITY_64:
        return sign | top << fraction
    rebias = BIAS_64 - (top >> 1)
    if double < (rebias + 1) << FRACTION_64:
        return sign
    lost = FRACTION_64 - fraction
    double += (1 << (lost - 1)) - 1 + (double >> lost & 1)
    word = (double >> lost) - (rebias << fraction)
    if word >= top << fraction:
        m[OVERFLOW] = 1
        word = top << fraction
    return sign | word


@compiled
def convert(m: Memory, of: int, to: int, word: int) -> int:
    """Bring a word of one type to another; one of that type already stays as it is."""
    if of == to:
        return word
    if of >> 8 == 0:
        return _wrap(m, to, signed(word, of))
    return _write(m, to, _read(of, word))


@compiled
def combine(m: Memory, op: int, of: int, a: int, b: int) -> int:
    """Combine two words of one type; reciprocal and sqrt leave the second one aside."""
    if op >= MAX:
        return _choose(op, of, a, b)
    if of >> 8 == 0:
        x, y = signed(a, of), signed(b, of)
        return _wrap(m, of, x + y if op == ADD else x - y if op == SUB else x * y)
    return _write(m, of, _exact(op, _read(of, a), _read(of, b)))


@compiled
def combine_as(m: Memory, op: int, of: int, to: int, a: int, b: int) -> int:
    """Combine two words of one type to a word of another, which holds them exactly."""
    return combine(m, op, to, convert(m, of, to, a), convert(m, of, to, b))


@compiled
def _exact(op: int, a: float, b: float) -> float:
    if op == ADD:
        return a + b
    if op == SUB:
        return a - b
    if op == MUL:
        return a * b
    if op == DIV:
        return quotient(a, b)
    if op == RECIPROCAL:
        return quotient(1.0, a)
    return sqrt(a) if a >= 0 else nan


@compiled
def _choose(op: int, of: int, a: int, b: int) -> int:
    """Return the greater or the smaller of two words; -0 is below +0, NaN wins."""
    bits = of & 255
    if of >> 8 == 0:
        return a if (signed(a, bits) > signed(b, bits)) == (op == MAX) else b
    a, b = _canonical(of, a), _canonical(of, b)
    if a == _nan(of) or b == _nan(of):
        return _nan(of)
    return a if (_rank(bits, a) > _rank(bits, b)) == (op == MAX) else b


@compiled
def _rank(bits: int, word: int) -> int:
    """Return an integer that orders floating-point words as their numbers are."""
    magnitude = word & ((1 << (bits - 1)) - 1)
    return word if word == magnitude else -1 - magnitude


@compiled
def _canonical(of: int, word: int) -> int:
    """Flush a subnormal and replace a NaN by the one."""
    fraction = of >> 8
    magnitude = word & ((1 << ((of & 255) - 1)) - 1)
    if magnitude >> fraction == 0:
        return word ^ magnitude
    return _nan(of) if magnitude > _top(of) << fraction else word


@compiled
def equal(of: int, a: int, b: int) -> bool:
    """Tell whether two words are numerically equal."""
    return a == b if of >> 8 == 0 else _read(of, a) == _read(of, b)
