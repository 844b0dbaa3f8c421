"""alu: combines two value streams element by element."""

from amaranth import Module

from hw.arithmetic import operation
from hw.elementwise import Elementwise


class Alu(Elementwise):
    """An operation on the values of two streams."""

    def elaborate(self, platform: object) -> Module:
        """Build the operation."""
        m = Module()
        a, b = self.r_a, self.r_b
        m.submodules.operation = combined = operation(
            self.params["op"],
            self.widths.value,
            self.unit.unit.latency,
            wide=self.params["wide"],
        )
        m.d.comb += [combined.a.eq(a.token.data.a), combined.b.eq(b.token.data.b)]
        self.flow(m, (a, b), combined)
        return m


COMPONENTS = {"": Alu}
