"""The holder of a merge: a survivor waits here until it is known whether it ends its fiber.

DESIGN section 2, 'Merge and hold-back': a complete element leaves when there is room, from the
cycle after it became complete; an incomplete one leaves when the next is inserted.
"""

from amaranth import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hw.component import Component
from hw.edge import Writer


class Holder(Component):
    """One register in front of an output stream.

    Parameters
    ----------
    layout : data.StructLayout
        Layout of a token.

    Attributes
    ----------
    insertable : Out(1)
        A step may insert in this cycle: whatever is held can leave in it.
    incomplete : Out(1)
        An element is held that does not yet know whether it is its fiber's last.
    insert : In(1)
        Insert `token`, whose close is known if `complete`.
    finish : In(1)
        The held incomplete element is its fiber's last: it gets `close` and is complete.
    """

    def __init__(self, layout: data.StructLayout) -> None:
        super().__init__(
            {
                "insertable": Out(1),
                "incomplete": Out(1),
                "insert": In(1),
                "complete": In(1),
                "token": In(layout),
                "finish": In(1),
                "close": In(layout["close"].shape),
                "w": Out(Writer(layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the register and its two flags."""
        m = Module()
        held, complete = Signal(), Signal()
        kept = Signal(self.token.shape(), reset_less=True)
        leave = Signal()
        m.d.comb += [
            self.insertable.eq(~held | self.w.room),
            self.incomplete.eq(held & ~complete),
            leave.eq(held & self.w.room & (complete | self.insert)),
            self.w.issue.eq(leave),
            self.w.push.eq(leave),
            self.w.token.eq(kept),
        ]
        with m.If(self.insert):
            m.d.sync += [held.eq(1), complete.eq(self.complete), kept.eq(self.token)]
        with m.Elif(leave):
            m.d.sync += held.eq(0)
        with m.Elif(self.finish):
            m.d.sync += [complete.eq(1), kept.close.eq(self.close)]
        return m
