"""What quotients, roots and elementary functions give: the specification, a word at a time.

Models and hardware compute the same words in their own ways.  Numbers are exact integers; a
result is ``magnitude * 2^scale`` before it is rounded to a word.
"""

from dataclasses import dataclass
from math import isqrt

from fuseflow.samml.functions import POWERS, Function, digits, function
from fuseflow.samml.values import ValueType


@dataclass(frozen=True)
class Parts:
    """A word taken apart: ``significand * 2^(exponent - fraction)``, 0 where it is a subnormal."""

    negative: bool
    exponent: int
    significand: int
    infinite: bool
    nan: bool

    @classmethod
    def of(cls, word: int, value: ValueType) -> "Parts":
        """Take a word apart."""
        assert value.fraction is not None
        field = word >> value.fraction & ((1 << value.exponent) - 1)
        fraction = word & ((1 << value.fraction) - 1)
        special = field == (1 << value.exponent) - 1
        return cls(
            negative=bool(word >> (value.bits - 1) & 1),
            exponent=field - value.bias,
            significand=fraction | 1 << value.fraction if field else 0,
            infinite=special and not fraction,
            nan=special and bool(fraction),
        )


@dataclass(frozen=True)
class Exact:
    """A result before rounding.

    Attributes
    ----------
    negative : bool
    magnitude, scale : int
        It is magnitude * 2^scale; what is lost of it, if anything, is below the last bit.
    inexact : bool
    """

    negative: bool
    magnitude: int
    scale: int = 0
    inexact: bool = False


NAN, INFINITY = "nan", "infinity"


def evaluate(op: str, value: ValueType, *words: int) -> tuple[int, bool]:
    """Apply an operation of `functions.FLOATING` to words.

    Parameters
    ----------
    op : str
    value : ValueType
        A floating-point type.
    *words : int
        Two for ``div``, else one.

    Returns
    -------
    tuple of (int, bool)
        The word of the result, and whether it overflows: a finite result of finite operands that
        is too large.  An infinity that is exact, such as 1 / 0, is none.
    """
    operands = [Parts.of(word, value) for word in words]
    if any(each.nan for each in operands):
        return value.nan, False
    if op == "div":
        return _quotient(value, *operands)
    if op == "reciprocal":
        return _quotient(value, Parts(False, 0, 1 << _fraction(value), False, False), *operands)
    (x,) = operands
    if op in ("sqrt", "log", "rsqrt"):
        return _of_positive(op, value, x)
    it = function(op, value)
    return (_power if op in POWERS else _size)(it, x)


def _fraction(value: ValueType) -> int:
    assert value.fraction is not None
    return value.fraction


def rounded(value: ValueType, exact: Exact) -> tuple[int, bool]:
    """Round to nearest even; what is below the smallest normal number is a zero of its sign."""
    sign = int(exact.negative) << (value.bits - 1)
    fraction = _fraction(value)
    exponent = exact.magnitude.bit_length() - 1 + exact.scale + value.bias
    if exact.magnitude == 0 or exponent < 1:
        return sign, False
    # Two bits more than the word has, the lower one for all that is lost.
    lost = exact.magnitude.bit_length() - 1 - fraction - 2
    kept = exact.magnitude >> lost if lost > 0 else exact.magnitude << -lost
    sticky = exact.inexact or (lost > 0 and kept << lost != exact.magnitude)
    kept = (kept | sticky) + 1 + (kept >> 2 & 1) >> 2
    word = ((exponent - 1) << fraction) + kept
    infinity = ((1 << value.exponent) - 1) << fraction
    return sign | min(word, infinity), word >= infinity


def _infinity(value: ValueType, *, negative: bool = False) -> tuple[int, bool]:
    infinity = ((1 << value.exponent) - 1) << _fraction(value)
    return int(negative) << (value.bits - 1) | infinity, False


def _zero(value: ValueType, *, negative: bool = False) -> tuple[int, bool]:
    return int(negative) << (value.bits - 1), False


def _quotient(value: ValueType, a: Parts, b: Parts) -> tuple[int, bool]:
    negative = a.negative != b.negative
    if (a.infinite and b.infinite) or not (a.significand or b.significand):
        return value.nan, False
    if a.infinite or not b.significand:
        return _infinity(value, negative=negative)
    if b.infinite or not a.significand:
        return _zero(value, negative=negative)
    places = digits(value) - 1
    found, rest = divmod(a.significand << places, b.significand)
    return rounded(value, Exact(negative, found, a.exponent - b.exponent - places, rest != 0))


def _of_positive(op: str, value: ValueType, x: Parts) -> tuple[int, bool]:
    """Return a root or a logarithm, of which negative numbers have none."""
    if not x.significand:
        if op == "sqrt":
            return _zero(value, negative=x.negative)
        return _infinity(value, negative=op == "log" or x.negative)
    if x.negative:
        return value.nan, False
    if x.infinite:
        return _zero(value) if op == "rsqrt" else _infinity(value)
    if op == "sqrt":
        return _root(value, x)
    return (_logarithm if op == "log" else _inverse_root)(function(op, value), x)


def _root(value: ValueType, x: Parts) -> tuple[int, bool]:
    half, odd = divmod(x.exponent, 2)
    places = digits(value) - 1
    square = x.significand << odd << 2 * places - _fraction(value)
    found = isqrt(square)
    return rounded(value, Exact(False, found, half - places, found * found != square))


def _polynomial(it: Function, index: int, rest: int) -> int:
    """Return the polynomial of a segment, as a multiple of 2^-places: cut after each product."""
    found = 0
    for coefficient in reversed(it.table[index].coefficients):
        found = coefficient + (found * rest >> it.rest)
    return found


def _argument(it: Function, x: Parts) -> int | None:
    """Return |x|, or |x| * log2(e), as a multiple of 2^-point; None beyond all arguments."""
    if x.exponent > it.top:
        return None
    return x.significand * it.factor >> it.dropped + it.top - x.exponent


def _power(it: Function, x: Parts) -> tuple[int, bool]:
    """Return e^x = 2^k 2^f, or 1 / (1 + e^-x): the logistic function at -|x|, or 1 less that."""
    if it.op == "exp" and x.infinite:
        return _zero(it.value) if x.negative else _infinity(it.value)
    power = _argument(it, x)
    if power is None:
        # Beyond the range of the type, in which no power is an integer.
        power = 1 << it.value.exponent << it.point
    if it.op == "exp" and x.negative:
        power = -power
    whole, part = power >> it.point, power & ((1 << it.point) - 1)
    index, rest = part >> it.rest, part & ((1 << it.rest) - 1)
    if it.op == "exp":
        return rounded(it.value, Exact(False, _polynomial(it, index, rest), whole - it.places))
    segment = min(whole, it.last) << it.split | index
    shift = it.table[segment].shift + max(whole - it.last, 0)
    tail = _polynomial(it, segment, rest)
    if x.negative:
        return rounded(it.value, Exact(False, tail, -shift - it.places))
    return rounded(it.value, Exact(False, (1 << it.places) - (tail >> shift), -it.places))


def _size(it: Function, x: Parts) -> tuple[int, bool]:
    """Return tanh(x) as x times a ratio, or gelu(x) as x times how likely it is not exceeded."""
    if it.op == "gelu" and x.infinite:
        return _zero(it.value, negative=True) if x.negative else _infinity(it.value)
    argument, last = _argument(it, x), len(it.table) - 1
    if argument is None:
        argument = last << it.rest
    index = min(argument >> it.rest, last)
    if it.op == "tanh" and index == last:
        x = Parts(x.negative, 0, 1 << it.fraction, False, False)
    found = _polynomial(it, index, argument & ((1 << it.rest) - 1))
    shift = it.table[index].shift
    if it.op == "gelu" and not x.negative:
        found, shift = (1 << it.places) - (found >> shift), 0
    scale = x.exponent - it.fraction - it.places - shift
    return rounded(it.value, Exact(x.negative, found * x.significand, scale))


def _logarithm(it: Function, x: Parts) -> tuple[int, bool]:
    """Return e ln 2 + (m - 1) r(m) for x = m 2^e, 0.75 <= m < 1.5, and r(m) = ln(m) / (m - 1)."""
    fraction = x.significand - (1 << it.fraction)
    large = fraction >> (it.fraction - 1)
    # The distance from 1, as a multiple of 2^-(fraction + 1).
    distance = fraction - (1 << it.fraction) if large else fraction << 1
    ratio = _polynomial(it, fraction >> it.rest, fraction & ((1 << it.rest) - 1))
    total = ((x.exponent + large) * it.ln2 << it.fraction + 1) + distance * ratio
    exact = Exact(total < 0, abs(total), -it.fraction - 1 - it.places)
    return rounded(it.value, exact)


def _inverse_root(it: Function, x: Parts) -> tuple[int, bool]:
    """Return m^-1/2 2^-h for x = m 2^2h and 1 <= m < 4."""
    half, odd = divmod(x.exponent, 2)
    fraction = x.significand - (1 << it.fraction)
    index = odd << it.split | fraction >> it.rest
    found = _polynomial(it, index, fraction & ((1 << it.rest) - 1))
    return rounded(it.value, Exact(False, found, -half - it.places))
