"""write_crd: stores the coordinates and segments of a compressed result level."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module, Signal
from amaranth.lib.wiring import In, Out

from hw.append import Append
from hw.unit import MemoryWrite, UnitComponent


class WriteCrd(UnitComponent):
    """Appends coordinates, and the count of them at every fiber's end.

    Word 0 of the segment array is 0 from configuration; appending starts at word 1.
    """

    def ports(self) -> Mapping[str, Any]:
        """Return the two memories and the run's figures."""
        tensor, level = self.graph.tensor(self.params["tensor"]), self.params["level"]
        self.crd_words = max(1, tensor.positions[level])
        self.seg_words = tensor.parents(level) + 1
        return {
            "start": In(1),
            "mem_crd": Out(MemoryWrite(self.crd_words, self.widths.crd)),
            "mem_seg": Out(MemoryWrite(self.seg_words, self.widths.ref)),
            "finished": Out(1),
            "count": Out(32),
            "overrun": Out(1),
        }

    def elaborate(self, platform: object) -> Module:
        """Build the two append pointers."""
        m = Module()
        head = self.r_crd
        token = head.token
        fire = Signal()
        m.submodules.crds = crds = Append(self.crd_words)
        m.submodules.segs = segs = Append(self.seg_words, first=1)
        m.d.comb += [
            fire.eq(head.valid),
            head.pop.eq(fire),
            crds.start.eq(self.start),
            crds.append.eq(fire & (token.empty == 0)),
            self.mem_crd.en.eq(crds.en),
            self.mem_crd.addr.eq(crds.addr),
            self.mem_crd.data.eq(token.data.crd),
            segs.start.eq(self.start),
            segs.append.eq(fire & (token.close != 0) & (token.empty <= 1)),
            self.mem_seg.en.eq(segs.en),
            self.mem_seg.addr.eq(segs.addr),
            self.mem_seg.data.eq(crds.after),
            self.count.eq(crds.count),
            self.overrun.eq(crds.overrun | segs.overrun),
            self.finished.eq(fire & (token.close == self.read_types["crd"].rank)),
        ]
        return m


COMPONENTS = {"": WriteCrd}
