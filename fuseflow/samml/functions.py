"""Quotients, roots and elementary functions: the constants of their algorithms.

Models and hardware read them here, and each states the algorithm anew; what it computes is said
once, for one word, in `fuseflow.samml.evaluate`.  `docs/rfcs/0009-nonlinear-units.md` derives it.

`div`, `reciprocal` and `sqrt` are rounded correctly, two digits a cycle.  The others are a fixed
point polynomial of an argument that stands in a table of short segments.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cache, cached_property
from math import ceil

from fuseflow.samml import segments
from fuseflow.samml.segments import DIGITS, Segment, segment
from fuseflow.samml.values import ValueType

DIGIT_BY_DIGIT = ("div", "reciprocal", "sqrt")
"""Operations whose digits are found one after the other; they are rounded correctly."""

DIGITS_A_CYCLE = 2

POWERS, SIZES, SIGNIFICANDS = ("exp", "sigmoid"), ("tanh", "gelu"), ("log", "rsqrt")
"""Functions by their argument: |x| * log2(e), |x|, or the significand of x."""

TABULATED = (*POWERS, *SIZES, *SIGNIFICANDS)

FLOATING = (*DIGIT_BY_DIGIT, *TABULATED)
"""Operations of this module: none is of integers."""

GELU_STEEP = -4.0
GELU_ERROR = 2.0**-24
"""Below it, gelu may also be wrong by so much of x: the normal tail is not resolved further."""

_SPLITS = {"exp": 4, "sigmoid": 4, "tanh": 5, "gelu": 5, "log": 5, "rsqrt": 5}
"""Bits of an argument in fp32 that choose a segment in an interval of length 1."""

_DEGREES = {"bf16": (2, 2), "fp16": (2, 1), "fp32": (3, 0)}
"""Degree of polynomials, and how many bits fewer choose a segment."""

SPARE_PLACES = 6
"""Places of a polynomial beyond those of the type."""

_LIMITS = {
    "tanh": {"bf16": 4, "fp16": 5, "fp32": 10},
    "gelu": {"bf16": 6, "fp16": 6, "fp32": 6},
}
"""Sizes from which on tanh is 1 or -1, and gelu is x or 0."""

_WIDEST_STEP = 18
"""Places up to which a product takes one cycle, as in a block of 18 x 18; then it takes two."""


def digits(value: ValueType) -> int:
    """Return how many digits of a quotient or root are found: the rest decides a tie."""
    assert value.fraction is not None
    return value.fraction + 3


def latency(op: str, value: ValueType) -> int:
    """Return the latency in cycles of an operation of `FLOATING`; 0 for integers."""
    if not value.is_float:
        return 0
    if op in DIGIT_BY_DIGIT:
        # Taking apart, the digits, and rounding.
        return 1 + ceil(digits(value) / DIGITS_A_CYCLE) + 1
    return function(op, value).latency


def ulps(op: str, value: ValueType) -> float:
    """Return how far a result may be from the exact one, in units of its last place."""
    if op in DIGIT_BY_DIGIT:
        return 0.5
    return 1.0 if value.bits == 16 else 2.0


@dataclass(frozen=True)
class Function:
    """A tabulated function of a value type.

    A segment is chosen by the bits of a fixed-point argument above its lowest `rest`, which are
    what the segment's polynomial is of.

    Attributes
    ----------
    op : str
        One of `TABULATED`.
    value : ValueType
    degree : int
        Of the polynomials.
    places : int
        Fraction bits of coefficients and polynomials, which are below 2.
    split : int
        Bits of the argument's fraction that choose the segment.
    """

    op: str
    value: ValueType
    degree: int
    places: int
    split: int

    @property
    def fraction(self) -> int:
        """Stored bits of the significand of the type."""
        assert self.value.fraction is not None
        return self.value.fraction

    @property
    def point(self) -> int:
        """Fraction bits of the argument."""
        return self.fraction if self.op in SIGNIFICANDS else self.places

    @property
    def rest(self) -> int:
        """Bits of the argument below those that choose the segment."""
        return self.point - self.split

    @property
    def limit(self) -> int:
        """Size of an operand from which on the result is that of its limit (`SIZES`)."""
        return _LIMITS[self.op][self.value.name]

    @property
    def top(self) -> int:
        """Largest exponent of an operand for which there is an argument (`POWERS`, `SIZES`)."""
        if self.op in SIZES:
            return (self.limit - 1).bit_length() - 1
        # Beyond 2^top, every power is out of the type's range.
        return self.value.exponent - 2

    @property
    def factor(self) -> int:
        """What the significand is multiplied by (`POWERS`, `SIZES`); see `dropped`."""
        if self.op in SIZES:
            return 1 << (self.point + self.top - self.fraction)
        with localcontext(Context(prec=DIGITS)):
            per_two = 1 / Decimal(2).ln()
            return int((per_two * 2 ** (self.point + self.top + 2)).to_integral_value())

    @property
    def dropped(self) -> int:
        """Bits of that product that the argument lacks where the exponent is `top`."""
        return 0 if self.op in SIZES else self.fraction + 2

    @property
    def last(self) -> int:
        """Whole part of a power from which on sigmoid is 2^-power, as in its last segments."""
        return self.fraction + 3

    @property
    def ln2(self) -> int:
        """The natural logarithm of 2, as a multiple of 2^-places (`log`)."""
        with localcontext(Context(prec=DIGITS)):
            return int((Decimal(2).ln() * 2**self.places).to_integral_value())

    @property
    def multiplies(self) -> bool:
        """Whether the polynomial is multiplied by the operand or its distance from 1."""
        return self.op in ("tanh", "gelu", "log")

    @property
    def product_steps(self) -> int:
        """Cycles of a product."""
        return 1 if self.places <= _WIDEST_STEP else 2

    @property
    def latency(self) -> int:
        """Cycles from operand to result.

        Taking apart (and scaling, for an argument that is not the significand); the table; a
        product for every degree; what is made of the polynomial; its leading digit, its place
        and its rounding.
        """
        argument = 1 if self.op in SIGNIFICANDS else 3
        finish = (self.op in ("sigmoid", "gelu", "log")) + self.multiplies * self.product_steps
        return argument + 1 + self.degree * self.product_steps + finish + 3

    @cached_property
    def table(self) -> tuple[Segment, ...]:
        """The segments, in the order of the argument's bits that choose one.

        Of `SIZES`, the last is for all beyond the limit: tanh is 1 there, the normal tail 0.
        """
        width = Decimal(1) / (1 << self.split)
        found = [
            segment(each, start + k * width, width, self.degree, self.places)
            for each, start, length in _INTERVALS[self.op](self)
            for k in range(int(length / width))
        ]
        if self.op in SIZES:
            constant = (self.op == "tanh") << self.places
            found.append(Segment((constant, *(0,) * self.degree), 0))
        return tuple(found)


Interval = tuple[Callable[[Decimal], Decimal], Decimal, Decimal]
"""A function, and where an interval of it starts and how long it is."""

_UNIT, _HALF = Decimal(1), Decimal("0.5")
_INTERVALS: dict[str, Callable[[Function], tuple[Interval, ...]]] = {
    "exp": lambda it: ((segments.two_to, Decimal(0), _UNIT),),
    "sigmoid": lambda it: ((segments.logistic, Decimal(0), Decimal(it.last + 1)),),
    "tanh": lambda it: ((segments.tangent_ratio, Decimal(0), Decimal(it.limit)),),
    "gelu": lambda it: ((segments.normal_tail, Decimal(0), Decimal(it.limit)),),
    # From 1.5 on, a significand is halved.
    "log": lambda it: (
        (segments.logarithm_ratio, _UNIT, _HALF),
        (lambda x: segments.logarithm_ratio(x / 2), _UNIT + _HALF, _HALF),
    ),
    # An odd exponent is lowered by one.
    "rsqrt": lambda it: (
        (segments.inverse_root, _UNIT, _UNIT),
        (lambda x: segments.inverse_root(x * 2), _UNIT, _UNIT),
    ),
}


@cache
def function(op: str, value: ValueType) -> Function:
    """Return the constants of a function of `TABULATED` for a floating-point type."""
    assert value.fraction is not None
    degree, fewer = _DEGREES[value.name]
    return Function(op, value, degree, value.fraction + SPARE_PLACES, _SPLITS[op] - fewer)
