"""alu: combines two value streams element by element."""

from collections.abc import Mapping
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import Out

from hw.arithmetic import fits
from hw.unit import UnitComponent


class Alu(UnitComponent):
    """An integer operation: one cycle, or two for a product."""

    def ports(self) -> Mapping[str, Any]:
        """Return the overflow flag."""
        return {"overflow": Out(1)}

    def elaborate(self, platform: object) -> Module:
        """Build the operation."""
        m = Module()
        a, b, out = self.r_a, self.r_b, self.w_out
        fire = Signal()
        m.d.comb += [
            fire.eq(a.valid & b.valid & out.room),
            a.pop.eq(fire),
            b.pop.eq(fire),
            out.issue.eq(fire),
        ]
        if self.params["op"] == "mul":
            self._multiply(m, fire)
        else:
            self._combine(m, fire)
        return m

    def _combine(self, m: Module, fire: Signal) -> None:
        """Issue and push in one cycle."""
        a, b, out = self.r_a.token, self.r_b.token, self.w_out
        assert self.unit.unit.latency == 1, "an integer sum takes one cycle"
        left, right = a.data.a, b.data.b
        match self.params["op"]:
            case "add":
                exact = left + right
            case "sub":
                exact = left - right
            case "max":
                exact = Mux(left > right, left, right)
            case _:
                exact = Mux(left < right, left, right)
        result = Signal(signed(self.widths.val + 1))
        m.d.comb += [
            result.eq(exact),
            out.push.eq(fire),
            out.token.empty.eq(a.empty),
            out.token.close.eq(a.close),
            out.token.data.val.eq(result),
            self.overflow.eq(fire & (a.empty == 0) & ~fits(result, self.widths.val)),
        ]

    def _multiply(self, m: Module, fire: Signal) -> None:
        """Register four partial products at issue, add them up at the push."""
        a, b, out = self.r_a.token, self.r_b.token, self.w_out
        assert self.unit.unit.latency == 2, "an integer product takes two cycles"
        width = self.widths.val
        half = width // 2
        a_low, a_high = _split(a.data.a, half)
        b_low, b_high = _split(b.data.b, half)
        low = Signal(2 * half, reset_less=True)
        cross_a = Signal(signed(width + 1), reset_less=True)
        cross_b = Signal(signed(width + 1), reset_less=True)
        high = Signal(signed(2 * (width - half)), reset_less=True)
        pushing = Signal()
        empty = Signal.like(a.empty, reset_less=True)
        close = Signal.like(a.close, reset_less=True)
        m.d.sync += [
            low.eq(a_low * b_low),
            cross_a.eq(a_high * b_low),
            cross_b.eq(a_low * b_high),
            high.eq(a_high * b_high),
            pushing.eq(fire),
            empty.eq(a.empty),
            close.eq(a.close),
        ]
        outer = Cat(low, high).as_signed()
        product = Signal(signed(2 * width))
        m.d.comb += [
            product.eq(outer + ((cross_a + cross_b) << half)),
            out.push.eq(pushing),
            out.token.empty.eq(empty),
            out.token.close.eq(close),
            out.token.data.val.eq(product),
            self.overflow.eq(pushing & (empty == 0) & ~fits(product, width)),
        ]


def _split(value: Value, half: int) -> tuple[Value, Value]:
    """Split a signed value into its unsigned low and its signed high part."""
    bits = value.as_unsigned()
    return bits[:half], bits[half:].as_signed()


COMPONENTS = {"": Alu}
