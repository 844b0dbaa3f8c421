"""reduce: folds every innermost fiber to one value."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module, Mux, Signal, signed
from amaranth.lib.wiring import Out

from hw.arithmetic import fits
from hw.unit import UnitComponent


class Reduce(UnitComponent):
    """An integer sum; only the firing that closes a fiber needs room."""

    def ports(self) -> Mapping[str, Any]:
        """Return the overflow flag."""
        return {"overflow": Out(1)}

    def elaborate(self, platform: object) -> Module:
        """Build the running sum."""
        m = Module()
        head, out = self.r_val, self.w_out
        token, width = head.token, self.widths.val
        total = Signal(signed(width))
        exact = Signal(signed(width + 1))
        fire, payload, closing, deep = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            payload.eq(token.empty == 0),
            closing.eq(token.close != 0),
            deep.eq(token.empty > 1),
            fire.eq(head.valid & (~closing | out.room)),
            exact.eq(total + Mux(payload, token.data.val, 0)),
            head.pop.eq(fire),
            out.issue.eq(fire & closing),
            out.push.eq(fire & closing),
            out.token.empty.eq(Mux(deep, token.empty - 1, 0)),
            out.token.close.eq(token.close - 1),
            out.token.data.val.eq(exact),
            self.overflow.eq(fire & payload & ~fits(exact, width)),
        ]
        with m.If(fire):
            m.d.sync += total.eq(Mux(closing, 0, exact))
        return m


COMPONENTS = {"": Reduce}
