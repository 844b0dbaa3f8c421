"""repeat: repeats a ref or value for every token of a deeper stream."""

from amaranth import Module, Signal

from hw.unit import UnitComponent


class Repeat(UnitComponent):
    """Every firing needs both heads; x is popped with the last token of its fiber."""

    def elaborate(self, platform: object) -> Module:
        """Build the firing rule."""
        m = Module()
        x, signal, out = self.r_x, self.r_signal, self.w_out
        fire = Signal()
        m.d.comb += [
            fire.eq(x.valid & signal.valid & out.room),
            out.issue.eq(fire),
            out.push.eq(fire),
            signal.pop.eq(fire),
            x.pop.eq(fire & (signal.token.close != 0)),
            out.token.empty.eq(signal.token.empty),
            out.token.close.eq(signal.token.close),
            out.token.data.eq(x.token.data),
        ]
        return m


COMPONENTS = {"": Repeat}
