"""scan_dense: iterates every coordinate of a dense level."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module, Signal
from amaranth.lib.wiring import In

from hw.unit import UnitComponent


class ScanDense(UnitComponent):
    """One child per firing; the parent is popped with its last child."""

    def ports(self) -> Mapping[str, Any]:
        """Return the size."""
        return {"size": In(self.widths.crd)}

    def elaborate(self, platform: object) -> Module:
        """Build the counter of children."""
        m = Module()
        head, out = self.r_ref, self.w_out
        crd = Signal(self.widths.crd)
        fire, childless, last = Signal(), Signal(), Signal()
        bound = self.params["bound"]
        null = head.token.data.ref.null if bound else 0
        m.d.comb += [
            fire.eq(head.valid & out.room),
            childless.eq((head.token.empty != 0) | null | (self.size == 0)),
            last.eq(childless | (crd + 1 == self.size)),
            out.issue.eq(fire),
            out.push.eq(fire),
            head.pop.eq(fire & last),
            out.token.data.crd.eq(crd),
        ]
        if bound:
            m.d.comb += out.token.data.ref.addr.eq(head.token.data.ref.addr * self.size + crd)
        with m.If(childless):
            m.d.comb += out.token.empty.eq(head.token.empty + 1)
        with m.If(last):
            m.d.comb += out.token.close.eq(head.token.close + 1)
        with m.If(fire & ~childless):
            m.d.sync += crd.eq(crd + 1)
            with m.If(last):
                m.d.sync += crd.eq(0)
        return m


COMPONENTS = {"": ScanDense}
