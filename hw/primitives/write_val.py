"""write_val: stores the values of a result."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module, Signal
from amaranth.lib.wiring import In, Out

from hw.append import Append
from hw.layout import word
from hw.unit import MemoryWrite, UnitComponent


class WriteVal(UnitComponent):
    """Appends payloads; a token is taken whenever it is there."""

    @property
    def words(self) -> int:
        """Capacity of the value array."""
        return max(1, self.graph.tensor(self.params["tensor"]).words)

    def ports(self) -> Mapping[str, Any]:
        """Return the memory and the run's figures."""
        return {
            "start": In(1),
            "mem_val": Out(MemoryWrite(self.words, word(self.widths.value))),
            "finished": Out(1),
            "count": Out(32),
            "overrun": Out(1),
        }

    def elaborate(self, platform: object) -> Module:
        """Build the append pointer."""
        m = Module()
        head = self.r_val
        token = head.token
        fire = Signal()
        m.submodules.vals = vals = Append(self.words)
        m.d.comb += [
            fire.eq(head.valid),
            head.pop.eq(fire),
            vals.start.eq(self.start),
            vals.append.eq(fire & (token.empty == 0)),
            self.mem_val.en.eq(vals.en),
            self.mem_val.addr.eq(vals.addr),
            self.mem_val.data.eq(token.data.val),
            self.count.eq(vals.count),
            self.overrun.eq(vals.overrun),
            self.finished.eq(fire & (token.close == self.read_types["val"].rank)),
        ]
        return m


COMPONENTS = {"": WriteVal}
