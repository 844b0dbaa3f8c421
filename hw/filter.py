"""The filter step that drop_value and drop_empty are made of (DESIGN section 2, 'Filter')."""

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.component import Component
from hw.edge import Writer
from hw.holder import Holder


class Filter(Component):
    """Drops tokens of one stream and gives the last survivor of a fiber the fiber's close.

    Parameters
    ----------
    layout : data.StructLayout
        Layout of a token.
    height : int
        A token of this close is one element of the thinned level; a larger close ends a fiber.

    Attributes
    ----------
    valid, token : In
        The heads that a step needs are there, and the token they make.
    drop : In(1)
        Whether the token is dropped.
    fire : Out(1)
        The step happens: pop the heads.
    """

    def __init__(self, layout: data.StructLayout, height: int) -> None:
        self.layout = layout
        self.height = height
        super().__init__(
            {
                "valid": In(1),
                "token": In(layout),
                "drop": In(1),
                "fire": Out(1),
                "w": Out(Writer(layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the step in front of a holder."""
        m = Module()
        m.submodules.holder = holder = Holder(self.layout)
        wiring.connect(m, wiring.flipped(self.w), holder.w)
        token = self.token
        ends, finish, insert = Signal(), Signal(), Signal()
        m.d.comb += [
            ends.eq(self.drop & (token.close > self.height)),
            finish.eq(ends & holder.incomplete),
            insert.eq(~self.drop | (ends & ~holder.incomplete)),
            self.fire.eq(self.valid & (~insert | holder.insertable)),
            holder.insert.eq(self.fire & insert),
            holder.finish.eq(self.fire & finish),
            holder.complete.eq(token.close != self.height),
            holder.token.eq(token),
            holder.close.eq(token.close),
        ]
        with m.If(self.drop):
            m.d.comb += holder.token.empty.eq(self.height + 1)
        return m
