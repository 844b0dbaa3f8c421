"""Between a value type and the wide type that its sums are formed in."""

from amaranth import Cat, Const, Module, Mux, Value

from fuseflow.samml.values import ValueType
from hw.floating import Float, cleaned, rounded, special
from hw.integer import wrapped
from hw.pipeline import named


def narrowed(m: Module, word: Value, value: ValueType) -> tuple[Value, Value]:
    """Round a word of the wide type to a type; return it, and whether it overflows."""
    wide = value.wide
    if not value.is_float:
        parts = wrapped(word, value)
        return parts["result"], parts["overflow"]
    if value == wide:
        return cleaned(word, value), Const(0, 1)
    fields = Float.of(word, wide)
    exponent = named(m, "rebiased", fields.exponent + (value.bias - wide.bias))
    finite, huge = rounded(m, value, fields.sign, exponent, fields.significand)
    result = Mux(fields.special, special(value, fields.nan, fields.sign), finite)
    return result, huge & ~fields.special


def widened(word: Value, value: ValueType) -> Value:
    """Return a word of a type in its wide type: exact, but a subnormal is a zero of its sign."""
    wide = value.wide
    if not value.is_float or value == wide:
        return word
    assert value.fraction is not None
    assert wide.fraction is not None
    fields = Float.of(word, value)
    fraction = Cat(Const(0, wide.fraction - value.fraction), fields.fraction)
    exponent = (fields.exponent + (wide.bias - value.bias))[: wide.exponent]
    largest = Const((1 << wide.exponent) - 1, wide.exponent)
    finite = Mux(fields.zero, 0, Cat(fraction, exponent))
    return Cat(Mux(fields.special, Cat(fraction, largest), finite), fields.sign)
