"""Floating-point words: their fields, and rounding into them (IEEE 754, DESIGN section 6).

Subnormals read as a zero of their sign, results below the smallest normal number before rounding
are such zeros, and every NaN that is made is `ValueType.nan`.
"""

from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Value

from fuseflow.samml.values import ValueType
from hw.pipeline import named


@dataclass(frozen=True)
class Float:
    """The fields of a word."""

    sign: Value
    exponent: Value
    fraction: Value

    @classmethod
    def of(cls, word: Value, value: ValueType) -> "Float":
        """Split a word of a type."""
        assert value.fraction is not None
        return cls(word[-1], word[value.fraction : -1], word[: value.fraction])

    @property
    def zero(self) -> Value:
        """Whether it reads as a zero."""
        return ~self.exponent.any()

    @property
    def special(self) -> Value:
        """Whether it is infinite or no number."""
        return self.exponent.all()

    @property
    def nan(self) -> Value:
        """Whether it is no number."""
        return self.special & self.fraction.any()

    @property
    def infinite(self) -> Value:
        """Whether it is an infinity."""
        return self.special & ~self.fraction.any()

    @property
    def significand(self) -> Value:
        """The fraction below its leading 1; 0 where it reads as a zero."""
        return Mux(self.zero, 0, Cat(self.fraction, Const(1, 1)))


def infinity(value: ValueType) -> Const:
    """Return the bits of a positive infinity, without the sign."""
    assert value.fraction is not None
    ones = (1 << value.exponent) - 1
    return Const(ones << value.fraction, value.bits - 1)


def negative_zero(value: ValueType) -> Const:
    """Return what leaves every addend as it is."""
    return Const(1 << (value.bits - 1), value.bits)


def cleaned(word: Value, value: ValueType) -> Value:
    """Return a word with subnormals flushed and the one NaN in place of any."""
    fields = Float.of(word, value)
    flushed = Mux(fields.zero, Cat(Const(0, value.bits - 1), fields.sign), word)
    return Mux(fields.nan, Const(value.nan, value.bits), flushed)


def special(value: ValueType, nan: Value, sign: Value) -> Value:
    """Return the NaN, or the infinity of a sign."""
    return Mux(nan, Const(value.nan, value.bits), Cat(infinity(value), sign))


def rounded(
    m: Module, value: ValueType, sign: Value, exponent: Value, significand: Value
) -> tuple[Value, Value]:
    """Round a finite number to a word; return it, and whether it overflows.

    Parameters
    ----------
    m : Module
    value : ValueType
        Type of the word.
    sign : Value
    exponent : Value
        Signed, with the type's bias: that of the significand's top bit.
    significand : Value
        Exact, or with the last bit set where bits below it were lost; the top bit is 1 unless
        the number is 0.
    """
    assert value.fraction is not None
    below = len(significand) - 1 - value.fraction
    if below > 0:
        kept, half = significand[below:-1], significand[below - 1]
        up = half & (significand[: below - 1].any() | significand[below])
    else:
        kept, up = Cat(Const(0, -below), significand[:-1]), Const(0, 1)
    # A carry out of the fraction moves into the exponent by itself.
    packed = named(m, "packed", (Cat(kept, exponent[: value.exponent]) + up)[: value.bits - 1])
    tiny = named(m, "tiny", ~significand[-1] | (exponent < 1))
    large = exponent >= (1 << value.exponent) - 1
    huge = named(m, "huge", ~tiny & (large | packed[value.fraction :].all()))
    magnitude = Mux(tiny, 0, Mux(huge, infinity(value), packed))
    return Cat(magnitude, sign), huge
