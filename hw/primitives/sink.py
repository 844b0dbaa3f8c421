"""sink: takes tokens from the graph and counts the streams that end."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module, Signal
from amaranth.lib.wiring import In, Out

from hw.unit import UnitComponent


class Sink(UnitComponent):
    """Pops every token; finished with the last of `streams` whole streams."""

    def ports(self) -> Mapping[str, Any]:
        """Return the number of streams and the end of the last."""
        return {"streams": In(32), "finished": Out(1)}

    def elaborate(self, platform: object) -> Module:
        """Build the counter of streams."""
        m = Module()
        head = self.r_in
        seen = Signal(32)
        after = Signal(32)
        ends = head.token.close == self.read_types["in"].rank
        m.d.comb += [
            head.pop.eq(head.valid),
            after.eq(seen + 1),
            self.finished.eq(head.valid & ends & (after == self.streams)),
        ]
        with m.If(self.finished):
            m.d.sync += seen.eq(0)
        with m.Elif(head.valid & ends):
            m.d.sync += seen.eq(after)
        return m


COMPONENTS = {"": Sink}
