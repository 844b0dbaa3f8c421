"""array: loads a value by reference."""

from collections.abc import Mapping
from typing import Any

from amaranth import Const, Module, Mux, Signal
from amaranth.lib.wiring import Out

from hw.layout import word
from hw.unit import MemoryRead, UnitComponent


class Array(UnitComponent):
    """One synchronous read per token; a null ref loads the tensor's fill."""

    def ports(self) -> Mapping[str, Any]:
        """Return the value memory."""
        words = self.graph.tensor(self.params["tensor"]).words
        return {"mem_val": Out(MemoryRead(max(1, words), word(self.widths.value)))}

    def elaborate(self, platform: object) -> Module:
        """Read at the firing, push the word in the next cycle."""
        m = Module()
        head, out = self.r_ref, self.w_out
        ref = head.token.data.ref
        fire = Signal()
        m.d.comb += [
            fire.eq(head.valid & out.room),
            head.pop.eq(fire),
            out.issue.eq(fire),
            self.mem_val.addr.eq(ref.addr),
        ]

        pushing = Signal()
        null = Signal(reset_less=True)
        empty = Signal.like(out.token.empty, reset_less=True)
        close = Signal.like(out.token.close, reset_less=True)
        m.d.sync += [
            pushing.eq(fire),
            null.eq(ref.null),
            empty.eq(head.token.empty),
            close.eq(head.token.close),
        ]
        value = self.widths.value
        fill = value.encode(self.graph.tensor(self.params["tensor"]).fill)
        m.d.comb += [
            out.push.eq(pushing),
            out.token.empty.eq(empty),
            out.token.close.eq(close),
            out.token.data.val.eq(Mux(null, Const(fill, word(value)), self.mem_val.data)),
        ]
        return m


COMPONENTS = {"": Array}
