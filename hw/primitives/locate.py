"""locate: indexes a dense level by coordinate."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module, Signal
from amaranth.lib.wiring import In, Out

from hw.unit import UnitComponent


class Locate(UnitComponent):
    """Ref = parent * size + crd, or crd alone below the root."""

    def ports(self) -> Mapping[str, Any]:
        """Return the size and the range flag."""
        return {"size": In(self.widths.crd), "range_error": Out(1)}

    def elaborate(self, platform: object) -> Module:
        """Build the index arithmetic."""
        m = Module()
        heads = [getattr(self, f"r_{port}") for port in self.read_types]
        out, token = self.w_out, self.r_crd.token
        fire = Signal()
        valid = heads[0].valid if len(heads) == 1 else heads[0].valid & heads[1].valid
        m.d.comb += [
            fire.eq(valid & out.room),
            out.issue.eq(fire),
            out.push.eq(fire),
            out.token.empty.eq(token.empty),
            out.token.close.eq(token.close),
            out.token.data.ref.addr.eq(token.data.crd),
            self.range_error.eq(fire & (token.empty == 0) & (token.data.crd >= self.size)),
        ]
        m.d.comb += [head.pop.eq(fire) for head in heads]
        if self.params["parent"]:
            parent = self.r_parent.token.data.parent
            m.d.comb += [
                out.token.data.ref.addr.eq(parent.addr * self.size + token.data.crd),
                out.token.data.ref.null.eq(parent.null),
            ]
        return m


COMPONENTS = {"": Locate}
