"""unary: applies a function of one value, or of a value and a constant, to every element."""

from collections.abc import Mapping
from typing import Any

from amaranth import Const, Module, Signal
from amaranth.lib.wiring import Out

from hw.arithmetic import operation
from hw.layout import word
from hw.operation import Operation
from hw.pipeline import delay
from hw.sign import Sign
from hw.unit import UnitComponent

BINARY = {"scale": "mul", "shift": "add", "max": "max", "min": "min", "relu": "max"}
"""What is done with the constant; that of relu is 0."""


class Unary(UnitComponent):
    """A change of sign, or an operation whose second operand is constant."""

    def ports(self) -> Mapping[str, Any]:
        """Return the overflow flag."""
        return {"overflow": Out(1)}

    def elaborate(self, platform: object) -> Module:
        """Issue at the firing, push when the function is done."""
        m = Module()
        a, out = self.r_a, self.w_out
        value, latency = self.widths.value, self.unit.unit.latency
        m.submodules.function = function = self._function(latency)
        constant = 0 if self.params["op"] == "relu" else self.params["constant"]
        fire = Signal()
        m.d.comb += [
            fire.eq(a.valid & out.room),
            a.pop.eq(fire),
            function.a.eq(a.token.data.a),
            function.b.eq(Const(value.encode(constant), word(value))),
            out.issue.eq(fire),
            out.push.eq(delay(m, fire, latency - 1, reset_less=False)),
            out.token.empty.eq(delay(m, a.token.empty, latency - 1)),
            out.token.close.eq(delay(m, a.token.close, latency - 1)),
            out.token.data.val.eq(function.result),
            self.overflow.eq(out.push & (out.token.empty == 0) & function.overflow),
        ]
        return m

    def _function(self, latency: int) -> Operation:
        op, value = self.params["op"], self.widths.value
        if op in BINARY:
            return operation(BINARY[op], value, latency)
        return Sign(value, latency, keep_positive=op == "abs")


COMPONENTS = {"": Unary}
