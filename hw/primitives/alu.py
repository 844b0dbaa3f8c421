"""alu: combines two value streams element by element."""

from amaranth import Module

from hw.arithmetic import operation
from hw.elementwise import Elementwise
from hw.fused import Rectified
from hw.operation import Operation


class Alu(Elementwise):
    """An operation on the values of two streams."""

    def elaborate(self, platform: object) -> Module:
        """Build the operation."""
        m = Module()
        a, b = self.r_a, self.r_b
        m.submodules.operation = combined = self._operation(self.unit.unit.latency)
        m.d.comb += [combined.a.eq(a.token.data.a), combined.b.eq(b.token.data.b)]
        self.flow(m, (a, b), combined)
        return m

    def _operation(self, latency: int) -> Operation:
        op, value = self.params["op"], self.widths.value
        if self.params["relu"]:
            return Rectified(op, value, latency)
        return operation(op, value, latency, wide=self.params["wide"])


COMPONENTS = {"": Alu}
