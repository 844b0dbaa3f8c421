"""The larger or smaller of two values, and equality with a constant."""

import math
from collections.abc import Sequence

from amaranth import Cat, Const, Module, Mux, Value

from fuseflow.samml.values import Number, ValueType
from hw.floating import Float, cleaned
from hw.operation import Operation, take
from hw.pipeline import Parts, Step, named


class Compare(Operation):
    """The larger of ``a`` and ``b``, or the smaller; NaN where either is, and -0 < +0.

    Parameters
    ----------
    value : ValueType
    latency : int
    larger : bool
    """

    def __init__(self, value: ValueType, latency: int, *, larger: bool) -> None:
        self.larger = larger
        super().__init__(value, value, latency)

    def steps(self) -> Sequence[Step]:
        """Return the comparison as one step, behind all registers."""
        return take, self._choose

    def _choose(self, m: Module, parts: Parts) -> Parts:
        value, a, b = self.result_type, parts["a"], parts["b"]
        nan: Value = Const(0, 1)
        if value.is_float:
            nan = Float.of(a, value).nan | Float.of(b, value).nan
            a, b = named(m, "clean_a", cleaned(a, value)), named(m, "clean_b", cleaned(b, value))
        above = _ordered(a, value) > _ordered(b, value)
        chosen = Mux(above, a, b) if self.larger else Mux(above, b, a)
        if value.is_float:
            chosen = Mux(nan, Const(value.nan, value.bits), chosen)
        return {"result": chosen, "overflow": Const(0, 1)}


def _ordered(word: Value, value: ValueType) -> Value:
    """Return what orders words as their values: sign and magnitude become a plain number."""
    if not value.is_float:
        return word
    return Cat(word[:-1] ^ word[-1].replicate(value.bits - 1), ~word[-1])


def equals(word: Value, constant: Number, value: ValueType) -> Value:
    """Whether a word is numerically a constant: -0 is 0, a subnormal too, and NaN is nothing."""
    fill = value.encode(constant)
    if not value.is_float:
        return word == fill
    if constant == 0:
        return Float.of(word, value).zero
    return Const(0, 1) if math.isnan(constant) else word == fill
