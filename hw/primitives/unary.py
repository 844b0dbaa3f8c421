"""unary: applies a function of one value, or of a value and a constant, to every element."""

from amaranth import Const, Module

from fuseflow.samml.catalog import ELEMENTARY
from hw.arithmetic import operation
from hw.elementwise import Elementwise
from hw.fused import Affine
from hw.layout import word
from hw.operation import Operation
from hw.sign import Sign

BINARY = {"scale": "mul", "shift": "add", "max": "max", "min": "min", "relu": "max"}
"""What is done with the constant; that of relu is 0."""


class Unary(Elementwise):
    """A function, or an operation whose other operands are constant."""

    def elaborate(self, platform: object) -> Module:
        """Build the function."""
        m = Module()
        value = self.widths.value
        m.submodules.function = function = self._function(self.unit.unit.latency)
        constant = 0 if self.params["op"] == "relu" else self.params["constant"]
        m.d.comb += [
            function.a.eq(self.r_a.token.data.a),
            function.b.eq(Const(value.encode(constant), word(value))),
        ]
        self.flow(m, (self.r_a,), function)
        return m

    def _function(self, latency: int) -> Operation:
        op, value = self.params["op"], self.widths.value
        if op in BINARY:
            return operation(BINARY[op], value, latency)
        if op == "affine":
            return Affine(value, self.params["offset"])
        if op in ELEMENTARY:
            return operation(op, value, latency)
        return Sign(value, latency, keep_positive=op == "abs")


COMPONENTS = {"": Unary}
