"""The floating-point multiplier."""

from collections.abc import Sequence

from amaranth import Module, Mux

from hw.floating import Float, rounded, special
from hw.operation import Operation
from hw.pipeline import Parts, Step
from hw.product import product_steps


class FloatMultiplier(Operation):
    """``a * b``: the exact product, rounded once to the result's type."""

    def steps(self) -> Sequence[Step]:
        """Return the product of the significands, between what goes before and after."""
        fraction = self.operand_type.fraction
        assert fraction is not None
        first, *others = product_steps(fraction + 1)
        return (
            lambda m, parts: first(m, self._split(m, parts)),
            *others,
            self._normalize,
            self._round,
        )

    def _split(self, m: Module, parts: Parts) -> Parts:
        """Take the operands apart; the exponent gets the bias of the result."""
        value, result = self.operand_type, self.result_type
        a, b = Float.of(parts["a"], value), Float.of(parts["b"], value)
        return {
            "a": a.significand,
            "b": b.significand,
            "sign": a.sign ^ b.sign,
            "exponent": a.exponent + b.exponent + (result.bias - 2 * value.bias),
            "special": a.special | b.special,
            "nan": a.nan | b.nan | (a.infinite & b.zero) | (a.zero & b.infinite),
        }

    def _normalize(self, m: Module, parts: Parts) -> Parts:
        """Move the first 1 to the top: it is there, or one place below."""
        product = parts["product"]
        top = product[-1]
        return {
            **{name: parts[name] for name in ("sign", "special", "nan")},
            "exponent": parts["exponent"] + top,
            "significand": Mux(top, product, product << 1)[: len(product)],
        }

    def _round(self, m: Module, parts: Parts) -> Parts:
        """Round to the word."""
        value, sign = self.result_type, parts["sign"]
        word, huge = rounded(m, value, sign, parts["exponent"], parts["significand"])
        return {
            "result": Mux(parts["special"], special(value, parts["nan"], sign), word),
            "overflow": huge & ~parts["special"],
        }
