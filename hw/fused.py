"""Two operations in one unit, with the words and flags of one behind the other."""

from amaranth import Const, Module, Mux

from fuseflow.samml.values import Number, ValueType
from hw.arithmetic import operation
from hw.layout import word
from hw.operation import Operation
from hw.pipeline import delay


class Rectified(Operation):
    """``max(a op b, +0)``: the one NaN is positive, so the sign of a result decides.

    Parameters
    ----------
    op : str
    value : ValueType
    latency : int
    """

    def __init__(self, op: str, value: ValueType, latency: int) -> None:
        self.op = op
        super().__init__(value, value, latency)

    def elaborate(self, platform: object) -> Module:
        """Build the operation, and the gates behind its rounding."""
        m = Module()
        m.submodules.operation = inner = operation(self.op, self.operand_type, self.latency)
        m.d.comb += [
            inner.a.eq(self.a),
            inner.b.eq(self.b),
            self.result.eq(Mux(inner.result[-1], 0, inner.result)),
            self.overflow.eq(inner.overflow),
        ]
        return m


class Affine(Operation):
    """``a * b + offset``, rounded after the product and after the sum.

    Parameters
    ----------
    value : ValueType
    offset : number
    """

    def __init__(self, value: ValueType, offset: Number) -> None:
        self.offset = offset
        super().__init__(value, value, value.multiplier + value.adder)

    def elaborate(self, platform: object) -> Module:
        """Build the multiplier, a register, and the adder."""
        m = Module()
        value = self.operand_type
        m.submodules.multiplier = product = operation("mul", value, value.multiplier)
        m.submodules.adder = total = operation("add", value, value.adder)
        m.d.comb += [
            product.a.eq(self.a),
            product.b.eq(self.b),
            total.a.eq(delay(m, product.result, 1)),
            total.b.eq(Const(value.encode(self.offset), word(value))),
            self.result.eq(total.result),
            self.overflow.eq(delay(m, product.overflow, value.adder) | total.overflow),
        ]
        return m
