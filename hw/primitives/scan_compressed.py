"""scan_compressed: iterates the stored coordinates of a compressed level."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib.wiring import Out

from hw.unit import MemoryRead, UnitComponent


class Lookup(UnitComponent):
    """Turns a ref into its children's span: ``lo = seg[ref]``, ``hi = seg[ref + 1]``.

    The segment array is split into even and odd words, so both come in one cycle.  A null ref has
    the empty span 0..0.
    """

    def ports(self) -> Mapping[str, Any]:
        """Return the two halves of the segment memory."""
        tensor = self.graph.tensor(self.params["tensor"])
        words = tensor.parents(self.params["level"]) + 1
        return {
            "mem_even": Out(MemoryRead((words + 1) // 2, self.widths.ref)),
            "mem_odd": Out(MemoryRead(words // 2, self.widths.ref)),
        }

    def elaborate(self, platform: object) -> Module:
        """Read both ends at the firing, push them in the next cycle."""
        m = Module()
        head, span = self.r_ref, self.w_span
        ref = head.token.data.ref
        fire = Signal()
        m.d.comb += [
            fire.eq(head.valid & span.room),
            head.pop.eq(fire),
            span.issue.eq(fire),
            self.mem_even.addr.eq((ref.addr + 1) >> 1),
            self.mem_odd.addr.eq(ref.addr >> 1),
        ]

        pushing = Signal()
        odd, null = Signal(reset_less=True), Signal(reset_less=True)
        empty = Signal.like(head.token.empty, reset_less=True)
        close = Signal.like(head.token.close, reset_less=True)
        m.d.sync += [
            pushing.eq(fire),
            odd.eq(ref.addr[0]),
            null.eq(ref.null),
            empty.eq(head.token.empty),
            close.eq(head.token.close),
        ]
        even_word, odd_word = self.mem_even.data, self.mem_odd.data
        m.d.comb += [
            span.push.eq(pushing),
            span.token.empty.eq(empty),
            span.token.close.eq(close),
        ]
        with m.If(~null):
            m.d.comb += [
                span.token.data.lo.eq(Mux(odd, odd_word, even_word)),
                span.token.data.hi.eq(Mux(odd, even_word, odd_word)),
            ]
        return m


class Emit(UnitComponent):
    """Reads the coordinates of a span, one child per firing; pops the span with the last."""

    def ports(self) -> Mapping[str, Any]:
        """Return the coordinate memory."""
        tensor = self.graph.tensor(self.params["tensor"])
        words = max(1, tensor.positions[self.params["level"]])
        return {"mem_crd": Out(MemoryRead(words, self.widths.crd))}

    def elaborate(self, platform: object) -> Module:
        """Build the position, read at the firing, push in the next cycle."""
        m = Module()
        head, out = self.r_span, self.w_out
        begun = Signal()
        onward = Signal(self.widths.ref, reset_less=True)
        position = Signal(self.widths.ref)
        after = Signal(self.widths.ref)
        fire, childless, last = Signal(), Signal(), Signal()
        span = head.token.data
        m.d.comb += [
            fire.eq(head.valid & out.room),
            position.eq(Mux(begun, onward, span.lo)),
            after.eq(position + 1),
            childless.eq((head.token.empty != 0) | (span.lo == span.hi)),
            last.eq(childless | (after == span.hi)),
            head.pop.eq(fire & last),
            out.issue.eq(fire),
            self.mem_crd.addr.eq(position),
        ]
        with m.If(fire):
            m.d.sync += [begun.eq(~last), onward.eq(after)]

        pushing = Signal()
        ref = Signal(self.widths.ref, reset_less=True)
        empty = Signal.like(out.token.empty, reset_less=True)
        close = Signal.like(out.token.close, reset_less=True)
        m.d.sync += [
            pushing.eq(fire),
            ref.eq(position),
            empty.eq(Mux(childless, head.token.empty + 1, 0)),
            close.eq(Mux(last, head.token.close + 1, 0)),
        ]
        m.d.comb += [
            out.push.eq(pushing),
            out.token.empty.eq(empty),
            out.token.close.eq(close),
            out.token.data.crd.eq(self.mem_crd.data),
            out.token.data.ref.addr.eq(ref),
        ]
        return m


COMPONENTS = {"lookup": Lookup, "emit": Emit}
