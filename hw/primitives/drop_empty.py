"""drop_empty: removes outer coordinates whose inner fiber is empty."""

from amaranth import Module, Signal
from amaranth.lib import wiring

from hw.filter import Filter
from hw.unit import UnitComponent


class DropOuter(UnitComponent):
    """Thins the outer stream by what a signal from below says.

    A signal token that stays inside an outer element is popped alone; one that ends it decides
    about the head of outer.
    """

    def elaborate(self, platform: object) -> Module:
        """Judge the head of outer by the signal."""
        m = Module()
        outer, signal = self.r_outer, self.r_signal
        height = self.params["signal"]
        m.submodules.filter = thin = Filter(self.write_layout("outer"), height=0)
        wiring.connect(m, thin.w, wiring.flipped(self.w_outer))
        inside = Signal()
        m.d.comb += [
            inside.eq(signal.token.close < height),
            thin.valid.eq(signal.valid & ~inside & outer.valid),
            thin.token.eq(outer.token),
            thin.drop.eq(signal.token.empty == height),
            outer.pop.eq(thin.fire),
            signal.pop.eq(thin.fire | (signal.valid & inside)),
        ]
        return m


class DropInner(UnitComponent):
    """Removes the empty fibers of one inner stream; needs nothing from the others."""

    def elaborate(self, platform: object) -> Module:
        """Judge every token by itself."""
        m = Module()
        (stream,) = self.read_types
        number = int(stream.removeprefix("inner"))
        height = self.params["heights"][number]
        head = getattr(self, f"r_{stream}")
        m.submodules.filter = thin = Filter(self.write_layout(stream), height)
        wiring.connect(m, thin.w, wiring.flipped(getattr(self, f"w_{stream}")))
        m.d.comb += [
            thin.valid.eq(head.valid),
            thin.token.eq(head.token),
            thin.drop.eq(head.token.empty == height),
            head.pop.eq(thin.fire),
        ]
        return m


COMPONENTS = {"drop_outer": DropOuter, "drop_inner": DropInner}
