"""intersect: keeps the coordinates that both sides have."""

from typing import Any

from amaranth import Module, Signal
from amaranth.lib import wiring

from hw.holder import Holder
from hw.step import MergeStep
from hw.unit import UnitComponent


class Intersect(UnitComponent):
    """A merge step per firing; a match waits in the holder for its fiber's fate."""

    def elaborate(self, platform: object) -> Module:
        """Join the merge step and the holder."""
        m = Module()
        layout = self.write_layout("out")
        m.submodules.step = step = MergeStep(
            self.read_layout("left"), self.read_layout("right"), len(self.w_out.token.close)
        )
        m.submodules.holder = holder = Holder(layout)
        wiring.connect(m, step.left, wiring.flipped(self.r_left))
        wiring.connect(m, step.right, wiring.flipped(self.r_right))
        wiring.connect(m, holder.w, wiring.flipped(self.w_out))

        match, insert = Signal(), Signal()
        m.d.comb += [
            match.eq(step.left_has & step.right_has),
            insert.eq(match | (step.ends & ~holder.incomplete)),
            step.fire.eq(step.ready & (~insert | holder.insertable)),
            holder.insert.eq(step.fire & insert),
            holder.finish.eq(step.fire & step.ends),
            holder.complete.eq(step.ends),
            holder.close.eq(step.close),
        ]
        self._token(m, holder.token, match, step)
        return m

    def _token(self, m: Module, out: Any, match: Signal, step: MergeStep) -> None:
        """Build the element that a step inserts."""
        left, right = self.r_left.token, self.r_right.token
        with m.If(step.ends):
            m.d.comb += out.close.eq(step.close)
        with m.If(step.copied):
            m.d.comb += out.empty.eq(left.empty)
        with m.Elif(~match):
            m.d.comb += out.empty.eq(1)
        fields = [(left, field) for field in self.read_types["left"].names]
        fields += [(right, field) for field in self.read_types["right"].names[1:]]
        m.d.comb += [out.data[field].eq(side.data[field]) for side, field in fields]


COMPONENTS = {"": Intersect}
