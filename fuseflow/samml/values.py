"""Value types: the arithmetic that a graph is built for (DESIGN section 6).

A value travels and is stored as a *word*: an integer type's signed integer, or the unsigned bit
pattern of an IEEE 754 interchange format.  Floating point has no subnormals (they flush to a
zero of their sign) and one NaN.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

from fuseflow.samml.errors import ParseError

Number: TypeAlias = int | float
"""A number of a program, such as a fill: whole numbers are kept as int."""


def number(value: float) -> Number:
    """Return the canonical form of a number: int where it is whole and below 2^53."""
    return int(value) if abs(value) < 2**53 and value == int(value) else value


@dataclass(frozen=True)
class ValueType:
    """A value type of the tile.

    Attributes
    ----------
    name : str
        The field's name for it, such as ``int32``.
    bits : int
        Width of a word.
    adder, multiplier : int
        Latency in cycles of an addition or subtraction, and of a multiplication.
    wide_name : str
        The type that sums are formed in.
    fraction : int or None
        Stored bits of the significand; None for an integer type.
    lanes : int
        Partial sums that a reduction interleaves (K of DESIGN section 6).
    """

    name: str
    bits: int
    adder: int
    multiplier: int
    wide_name: str
    fraction: int | None = None
    lanes: int = 1

    @property
    def is_float(self) -> bool:
        """Whether this is a floating-point type."""
        return self.fraction is not None

    @property
    def wide(self) -> "ValueType":
        """The type that sums are formed in: exact for one product of narrow operands."""
        return VALUE_TYPES[self.wide_name]

    @property
    def exponent(self) -> int:
        """Exponent bits of a floating-point type."""
        assert self.fraction is not None
        return self.bits - 1 - self.fraction

    @property
    def bias(self) -> int:
        """Exponent bias of a floating-point type; also its largest exponent."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def smallest(self) -> float:
        """The smallest positive normal number; what lies below flushes to zero."""
        return math.ldexp(1.0, 1 - self.bias)

    @property
    def largest(self) -> Number:
        """The largest finite number."""
        if self.fraction is None:
            return (1 << (self.bits - 1)) - 1
        return math.ldexp(2.0 - math.ldexp(1.0, -self.fraction), self.bias)

    @property
    def unit(self) -> float:
        """Unit roundoff: the largest relative error of one rounding; 0 for integers."""
        return 0.0 if self.fraction is None else math.ldexp(1.0, -self.fraction - 1)

    @property
    def low(self) -> Number:
        """The least number: the identity of ``max``."""
        return -math.inf if self.is_float else -(1 << (self.bits - 1))

    @property
    def high(self) -> Number:
        """The greatest number: the identity of ``min``."""
        return math.inf if self.is_float else (1 << (self.bits - 1)) - 1

    @property
    def nan(self) -> int:
        """The word of the one NaN: quiet, positive, no payload."""
        assert self.fraction is not None
        return ((1 << (self.exponent + 1)) - 1) << (self.fraction - 1)

    def identity(self, op: str) -> Number:
        """Return the value of an empty ``sum``, ``max`` or ``min``."""
        return {"sum": 0, "max": self.low, "min": self.high}[op]

    def wrap(self, value: int) -> int:
        """Reduce an exact integer to this integer type, two's complement."""
        low = -(1 << (self.bits - 1))
        return ((value - low) & ((1 << self.bits) - 1)) + low

    def holds(self, value: Number) -> bool:
        """Whether a number is a value of this type exactly."""
        try:
            size = float(value)
        except OverflowError:
            return False
        if self.fraction is None:
            return math.isfinite(size) and value == self.wrap(int(value))
        return math.isnan(size) or self.decode(self.encode(value)) == value

    def encode(self, value: Number) -> int:
        """Return the word of a number.

        Integers wrap; floating point rounds to nearest even, flushes what is below the smallest
        normal number before rounding, and overflows to infinity.
        """
        fraction = self.fraction
        if fraction is None:
            return self.wrap(int(value))
        if math.isnan(value):
            return self.nan
        sign = int(math.copysign(1.0, value) < 0) << (self.bits - 1)
        infinity = ((1 << self.exponent) - 1) << fraction
        if math.isinf(value):
            return sign | infinity
        significand, exponent = math.frexp(abs(value))
        exponent += self.bias - 1
        if significand == 0 or exponent < 1:
            return sign
        rounded = round(math.ldexp(significand, fraction + 1))
        # A carry out of the significand moves into the exponent by itself.
        return sign | min(((exponent - 1) << fraction) + rounded, infinity)

    def decode(self, word: int) -> Number:
        """Return the number of a word; a subnormal reads as zero."""
        fraction = self.fraction
        if fraction is None:
            return word
        sign = -1.0 if word >> (self.bits - 1) & 1 else 1.0
        exponent = word >> fraction & ((1 << self.exponent) - 1)
        significand = word & ((1 << fraction) - 1)
        if exponent == (1 << self.exponent) - 1:
            return math.nan if significand else sign * math.inf
        if exponent == 0:
            return sign * 0.0
        significand |= 1 << fraction
        return sign * math.ldexp(float(significand), exponent - self.bias - fraction)


INT8 = ValueType("int8", bits=8, adder=1, multiplier=2, wide_name="int32")
INT16 = ValueType("int16", bits=16, adder=1, multiplier=2, wide_name="int32")
INT32 = ValueType("int32", bits=32, adder=1, multiplier=2, wide_name="int32")
BF16 = ValueType("bf16", 16, adder=4, multiplier=3, wide_name="fp32", fraction=7, lanes=8)
FP16 = ValueType("fp16", 16, adder=4, multiplier=3, wide_name="fp32", fraction=10, lanes=8)
FP32 = ValueType("fp32", 32, adder=4, multiplier=4, wide_name="fp32", fraction=23, lanes=8)
VALUE_TYPES = {each.name: each for each in (INT8, INT16, INT32, BF16, FP16, FP32)}


def value_type(name: str) -> ValueType:
    """Look a value type up by name.

    Raises
    ------
    ParseError
        There is none of that name.
    """
    try:
        return VALUE_TYPES[name]
    except KeyError:
        known = ", ".join(VALUE_TYPES)
        raise ParseError(f"unknown value type '{name}': choose one of {known}") from None
