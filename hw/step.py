"""The merge step of a joiner (DESIGN section 2, 'Merge and hold-back')."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hw.component import Component
from hw.edge import Reader


class MergeStep(Component):
    """Compares the heads of two sides and knows what a step would pop and end.

    Parameters
    ----------
    left, right : data.StructLayout
        Layouts of the tokens; ``data.crd`` is compared.
    close : int
        Bits of a close.

    Attributes
    ----------
    left, right : Reader
        The heads; popped when the step fires.
    ready : Out(1)
        Every head that the step needs is there.
    fire : In(1)
        The step happens.
    copied : Out(1)
        Both heads have empty >= 2: one step copies them.
    left_has, right_has : Out(1)
        The side contributes a payload to this step; a match where both do.
    ends, close : Out
        Whether the step ends the fiber, and the close of its end.
    """

    def __init__(self, left: data.StructLayout, right: data.StructLayout, close: int) -> None:
        super().__init__(
            {
                "left": Out(Reader(left)),
                "right": Out(Reader(right)),
                "ready": Out(1),
                "fire": In(1),
                "copied": Out(1),
                "left_has": Out(1),
                "right_has": Out(1),
                "ends": Out(1),
                "close": Out(close),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the comparison and the two `ended` flags."""
        m = Module()
        left, right = self.left.token, self.right.token
        left_ended, right_ended = Signal(), Signal()
        left_pop, right_pop = Signal(), Signal()
        left_done, right_done = Signal(), Signal()
        left_infinite, right_infinite = Signal(), Signal()
        m.d.comb += [
            self.ready.eq((left_ended | self.left.valid) & (right_ended | self.right.valid)),
            self.copied.eq((left.empty > 1) & ~left_ended),
            left_infinite.eq(left_ended | (left.empty != 0)),
            right_infinite.eq(right_ended | (right.empty != 0)),
            self.left_has.eq(~left_infinite & (right_infinite | (left.data.crd <= right.data.crd))),
            self.right_has.eq(
                ~right_infinite & (left_infinite | (right.data.crd <= left.data.crd))
            ),
            # An empty side is popped in the first step that sees it.
            left_pop.eq(~left_ended & ((left.empty != 0) | self.left_has)),
            right_pop.eq(~right_ended & ((right.empty != 0) | self.right_has)),
            left_done.eq(left_pop & (left.close != 0)),
            right_done.eq(right_pop & (right.close != 0)),
            self.ends.eq((left_ended | left_done) & (right_ended | right_done)),
            self.close.eq(Mux(left_done, left.close, right.close)),
            self.left.pop.eq(self.fire & left_pop),
            self.right.pop.eq(self.fire & right_pop),
        ]
        with m.If(self.fire):
            m.d.sync += [
                left_ended.eq((left_ended | left_done) & ~self.ends),
                right_ended.eq((right_ended | right_done) & ~self.ends),
            ]
        return m
