"""root: starts a run."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module, Signal
from amaranth.lib.wiring import In

from hw.unit import UnitComponent


class Root(UnitComponent):
    """Issues `(0,0,0)` once per accepted start, in cycle 0 where there is room."""

    def ports(self) -> Mapping[str, Any]:
        """Return the start."""
        return {"start": In(1)}

    def elaborate(self, platform: object) -> Module:
        """Remember a start that finds no room."""
        m = Module()
        waiting = Signal()
        fire = Signal()
        wanted = self.start | waiting
        m.d.comb += [
            fire.eq(wanted & self.w_out.room),
            self.w_out.issue.eq(fire),
            self.w_out.push.eq(fire),
        ]
        m.d.sync += waiting.eq(wanted & ~fire)
        return m


COMPONENTS = {"": Root}
