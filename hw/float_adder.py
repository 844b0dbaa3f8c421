"""The floating-point adder."""

from collections.abc import Sequence

from amaranth import Cat, Const, Module, Mux, Value

from fuseflow.samml.values import ValueType
from hw.bits import leading_zeros
from hw.floating import Float, rounded, special
from hw.operation import Operation
from hw.pipeline import Parts, Step, named

SPARE = 3
"""Bits below the significand that decide its rounding: guard, round and sticky."""


class FloatAdder(Operation):
    """``a + b``, or ``a - b``, rounded once.

    Parameters
    ----------
    value : ValueType
    latency : int
    subtract : bool
    """

    def __init__(self, value: ValueType, latency: int, *, subtract: bool = False) -> None:
        self.subtract = subtract
        super().__init__(value, value, latency)

    def steps(self) -> Sequence[Step]:
        """Return the steps of a textbook adder with one path."""
        return self._order, self._align, self._add, self._count, self._normalize, self._round

    def _order(self, m: Module, parts: Parts) -> Parts:
        """Find the operand of larger magnitude; its sign is the sum's."""
        a, b = parts["a"], parts["b"]
        if self.subtract:
            b = Cat(b[:-1], ~b[-1])
        swap = named(m, "swap", b[:-1] > a[:-1])
        large = Float.of(named(m, "larger", Mux(swap, b, a)), self.operand_type)
        small = Float.of(named(m, "smaller", Mux(swap, a, b)), self.operand_type)
        differ = large.sign ^ small.sign
        return {
            "sign": large.sign,
            "exponent": large.exponent,
            "large": large.significand,
            "small": small.significand,
            "apart": (large.exponent - small.exponent)[: self.operand_type.exponent],
            "differ": differ,
            # The larger magnitude is a NaN where any operand is.
            "special": large.special,
            "nan": large.fraction.any() | (small.special & differ),
        }

    def _align(self, m: Module, parts: Parts) -> Parts:
        """Shift the smaller significand right; what is lost sets the last bit."""
        small = Cat(Const(0, SPARE), parts["small"])
        return {
            **{name: parts[name] for name in ("sign", "exponent", "large", "differ")},
            **{name: parts[name] for name in ("special", "nan")},
            "small": shifted_right(m, small, parts["apart"]),
        }

    def _add(self, m: Module, parts: Parts) -> Parts:
        """Add or subtract; the carry that a subtraction needs comes in below the last bit."""
        differ = parts["differ"]
        large = Cat(Const(1, 1), Const(0, SPARE), parts["large"], Const(0, 1))
        small = Cat(parts["small"], Const(0, 1))
        flipped = Cat(differ, small ^ differ.replicate(len(small)))
        return {
            **{name: parts[name] for name in ("sign", "exponent", "differ", "special", "nan")},
            "total": (large + flipped)[1 : len(large)],
        }

    def _count(self, m: Module, parts: Parts) -> Parts:
        """Count the zeros above the total's first 1."""
        return {**parts, "zeros": leading_zeros(parts["total"])}

    def _normalize(self, m: Module, parts: Parts) -> Parts:
        """Move the first 1 to the top; a difference of equals is +0."""
        total, zeros = parts["total"], parts["zeros"]
        return {
            "sign": parts["sign"] & (total.any() | ~parts["differ"]),
            "exponent": parts["exponent"] + 1 - zeros,
            "significand": (total << zeros)[: len(total)],
            "special": parts["special"],
            "nan": parts["nan"],
        }

    def _round(self, m: Module, parts: Parts) -> Parts:
        """Round to the word."""
        value, sign = self.result_type, parts["sign"]
        word, huge = rounded(m, value, sign, parts["exponent"], parts["significand"])
        return {
            "result": Mux(parts["special"], special(value, parts["nan"], sign), word),
            "overflow": huge & ~parts["special"],
        }


def shifted_right(m: Module, bits: Value, amount: Value) -> Value:
    """Shift bits right; the last one is also set where a 1 is shifted out."""
    near = (len(bits) - 1).bit_length()
    for place in range(min(near, len(amount))):
        step = 1 << place
        lost = bits[:step].any()
        moved = bits[step:]
        moved = Cat(moved[0] | lost, moved[1:], Const(0, step))
        bits = named(m, f"moved{step}", Mux(amount[place], moved, bits))
    return Mux(amount[near:].any(), bits.any(), bits)[: len(bits)]
