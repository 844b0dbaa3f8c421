"""union: keeps the coordinates that either side has."""

from typing import Any

from amaranth import Const, Module, Mux, Value
from amaranth.lib import wiring

from fuseflow.samml.streams import Field, Kind
from hw.layout import word
from hw.step import MergeStep
from hw.unit import UnitComponent


class Union(UnitComponent):
    """Every merge step writes one token, so there is nothing to hold back."""

    def elaborate(self, platform: object) -> Module:
        """Write what the merge step finds."""
        m = Module()
        out = self.w_out
        left, right = self.r_left.token, self.r_right.token
        m.submodules.step = step = MergeStep(
            self.read_layout("left"), self.read_layout("right"), len(out.token.close)
        )
        wiring.connect(m, step.left, wiring.flipped(self.r_left))
        wiring.connect(m, step.right, wiring.flipped(self.r_right))
        m.d.comb += [
            step.fire.eq(step.ready & out.room),
            out.issue.eq(step.fire),
            out.push.eq(step.fire),
            out.token.data.crd.eq(Mux(step.left_has, left.data.crd, right.data.crd)),
        ]
        with m.If(step.ends):
            m.d.comb += out.token.close.eq(step.close)
        with m.If(step.copied):
            m.d.comb += out.token.empty.eq(left.empty)
        with m.Elif(~step.left_has & ~step.right_has):
            m.d.comb += out.token.empty.eq(1)
        for has, side, port in ((step.left_has, left, "left"), (step.right_has, right, "right")):
            for field in self.read_types[port].fields[1:]:
                self._ride(m, field, port, out.token.data[field.name], has, side.data[field.name])
        return m

    def _ride(
        self, m: Module, field: Field, side: str, target: Any, has: Value, source: Any
    ) -> None:
        """Copy a field, or write what stands for a missing side."""
        match field.kind:
            case Kind.REF:
                m.d.comb += [
                    target.null.eq(~has | source.null),
                    target.addr.eq(Mux(has, source.addr, 0)),
                ]
            case Kind.VAL | Kind.SUM:
                value = self.widths.value
                value = value if field.kind is Kind.VAL else value.wide
                fill = Const(value.encode(self.params[side]), word(value))
                m.d.comb += target.eq(Mux(has, source, fill))
            case _:
                m.d.comb += target.eq(Mux(has, source, 0))


COMPONENTS = {"": Union}
