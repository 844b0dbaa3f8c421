"""alu: combines two value streams element by element."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module, Signal
from amaranth.lib.wiring import Out

from hw.arithmetic import operation
from hw.pipeline import delay
from hw.unit import UnitComponent


class Alu(UnitComponent):
    """An operation; empty and close go along with it."""

    def ports(self) -> Mapping[str, Any]:
        """Return the overflow flag."""
        return {"overflow": Out(1)}

    def elaborate(self, platform: object) -> Module:
        """Issue at the firing, push when the operation is done."""
        m = Module()
        a, b, out = self.r_a, self.r_b, self.w_out
        latency = self.unit.unit.latency
        m.submodules.operation = combined = operation(
            self.params["op"], self.widths.value, latency, wide=self.params["wide"]
        )
        fire = Signal()
        m.d.comb += [
            fire.eq(a.valid & b.valid & out.room),
            a.pop.eq(fire),
            b.pop.eq(fire),
            combined.a.eq(a.token.data.a),
            combined.b.eq(b.token.data.b),
            out.issue.eq(fire),
            out.push.eq(delay(m, fire, latency - 1, reset_less=False)),
            out.token.empty.eq(delay(m, a.token.empty, latency - 1)),
            out.token.close.eq(delay(m, a.token.close, latency - 1)),
            out.token.data.val.eq(combined.result),
            self.overflow.eq(out.push & (out.token.empty == 0) & combined.overflow),
        ]
        return m


COMPONENTS = {"": Alu}
