"""Quotients and roots of floating point, whose digits are found one after the other.

A digit is 1 where the remainder stays positive (restoring division and root); some digits are
found in every step, and what remains at last says whether the result is exact.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial

from amaranth import Cat, Const, Module, Mux, Value

from fuseflow.samml.functions import DIGITS_A_CYCLE, digits
from fuseflow.samml.values import ValueType
from hw.floating import Float, rounded, special
from hw.operation import Operation
from hw.pipeline import Parts, Step, named


class DigitByDigit(Operation):
    """An operation of which every step of the pipeline finds some digits of the significand."""

    def steps(self) -> Sequence[Step]:
        """Return the steps: taking apart, the digits, and rounding."""
        count = digits(self.operand_type)
        starts = range(0, count, DIGITS_A_CYCLE)
        some = (range(start, min(start + DIGITS_A_CYCLE, count)) for start in starts)
        return self.start, *(partial(self._find, numbers) for numbers in some), self._round

    @abstractmethod
    def start(self, m: Module, parts: Parts) -> Parts:
        """Take the operands apart.

        Returns ``sign``, ``exponent`` (biased, of the first digit), ``special``, ``nan``, and
        what `digit` needs.
        """

    @abstractmethod
    def digit(self, m: Module, parts: Parts, number: int) -> Parts:
        """Find a digit, the lowest bit of ``found``, which the parts lack before the first."""

    def _find(self, numbers: range, m: Module, parts: Parts) -> Parts:
        for number in numbers:
            parts = self.digit(m, parts, number)
        return parts

    def _round(self, m: Module, parts: Parts) -> Parts:
        """Round to the word; the first digit is 1, or the second."""
        value, sign = self.result_type, parts["sign"]
        exact = Cat(parts["remainder"].any(), parts["found"])
        top = exact[-1]
        significand = named(m, "significand", Mux(top, exact, exact << 1)[: len(exact)])
        exponent = named(m, "placed", parts["exponent"] - ~top)
        word, huge = rounded(m, value, sign, exponent, significand)
        return {
            "result": Mux(parts["special"], special(value, parts["nan"], sign), word),
            "overflow": huge & ~parts["special"],
        }


class FloatDivider(DigitByDigit):
    """``a / b``, or ``1 / a``, rounded once.

    Parameters
    ----------
    value : ValueType
    latency : int
    reciprocal : bool
    """

    def __init__(self, value: ValueType, latency: int, *, reciprocal: bool = False) -> None:
        self.reciprocal = reciprocal
        super().__init__(value, value, latency)

    def start(self, m: Module, parts: Parts) -> Parts:
        """Let the remainder be the dividend; that is 0 where the quotient is."""
        value = self.operand_type
        words = parts["a"], parts["b"]
        if self.reciprocal:
            words = Const(value.encode(1), value.bits), parts["a"]
        a, b = (Float.of(word, value) for word in words)
        return {
            "sign": a.sign ^ b.sign,
            "exponent": a.exponent - b.exponent + value.bias,
            "special": a.special | b.nan | b.zero,
            "nan": a.nan | b.nan | (a.infinite & b.infinite) | (a.zero & b.zero),
            "remainder": Mux(b.infinite, 0, a.significand),
            "divisor": b.significand,
        }

    def digit(self, m: Module, parts: Parts, number: int) -> Parts:
        """Subtract the divisor if it goes."""
        remainder, divisor = parts["remainder"], parts["divisor"]
        less = named(m, f"less{number}", remainder - divisor)
        kept = Mux(less[-1], remainder, less)[: len(divisor)]
        return {
            **parts,
            "remainder": named(m, f"remainder{number}", Cat(Const(0, 1), kept)),
            "found": _longer(parts, ~less[-1]),
        }


class FloatRoot(DigitByDigit):
    """The square root of ``a``, rounded once; ``b`` is not used."""

    def __init__(self, value: ValueType, latency: int) -> None:
        super().__init__(value, value, latency)

    def start(self, m: Module, parts: Parts) -> Parts:
        """Lower an odd exponent by one, so that the root's is half of it."""
        value = self.operand_type
        a = Float.of(parts["a"], value)
        # The bias is odd: an exponent that is odd without it is even with it.
        odd = ~a.exponent[0]
        return {
            "sign": a.sign,
            "exponent": (a.exponent + value.bias)[1:],
            "special": a.special | (a.sign & ~a.zero),
            "nan": a.nan | (a.sign & ~a.zero),
            "remainder": Const(0, 1),
            # Digits of the root come of pairs of these; the first pair stands before the point.
            "pairs": Mux(odd, Cat(Const(0, 1), a.significand), Cat(a.significand, Const(0, 1))),
        }

    def digit(self, m: Module, parts: Parts, number: int) -> Parts:
        """Take two more bits of the operand, and 4 * root + 1 from the remainder if it goes."""
        pairs = parts.get("pairs", Const(0, 2))
        if len(pairs) == 1:
            pairs = Cat(Const(0, 1), pairs)
        rest = {"pairs": pairs[:-2]} if len(pairs) > 2 else {}
        remainder = Cat(pairs[-2:], parts["remainder"])
        tried = Cat(Const(1, 2), parts["found"]) if number else Const(1, 2)
        less = named(m, f"less{number}", remainder - tried)
        kept = Mux(less[-1], remainder, less)[: number + 2]
        others = {name: value for name, value in parts.items() if name != "pairs"}
        return {
            **others,
            **rest,
            "remainder": named(m, f"remainder{number}", kept),
            "found": _longer(parts, ~less[-1]),
        }


def _longer(parts: Parts, digit: Value) -> Value:
    return Cat(digit, parts["found"]) if "found" in parts else Cat(digit)
