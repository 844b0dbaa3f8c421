"""source: plays recorded tokens into the graph."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module, Signal
from amaranth.lib.wiring import In

from fuseflow.samml.units import UnitGraph, UnitInstance
from hw.layout import Widths
from hw.ram import ram
from hw.unit import UnitComponent


class Source(UnitComponent):
    """Issues the first `count` words of its memory, from cycle 0 on.

    The memory is filled from outside, by the simulator.
    """

    def __init__(self, unit: UnitInstance, units: UnitGraph, widths: Widths) -> None:
        super().__init__(unit, units, widths)
        self.mem = ram(self.write_layout("out"), self.params["words"])

    def ports(self) -> Mapping[str, Any]:
        """Return the start and the number of tokens."""
        return {"start": In(1), "count": In(32)}

    def elaborate(self, platform: object) -> Module:
        """Build the position in the memory."""
        m = Module()
        m.submodules.mem = self.mem
        read = self.mem.read_port(domain="comb")
        position = Signal(range(self.mem.depth + 1))
        playing = Signal()
        fire = Signal()
        last = position + 1 == self.count
        m.d.comb += [
            fire.eq((self.start | playing) & (position != self.count) & self.w_out.room),
            self.w_out.issue.eq(fire),
            self.w_out.push.eq(fire),
            read.addr.eq(position),
            self.w_out.token.eq(read.data),
        ]
        with m.If(self.start):
            m.d.sync += playing.eq(1)
        with m.If(fire):
            m.d.sync += position.eq(position + 1)
            with m.If(last):
                m.d.sync += [position.eq(0), playing.eq(0)]
        return m


COMPONENTS = {"": Source}
