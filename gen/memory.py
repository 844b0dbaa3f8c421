"""The tile's memories: block RAMs that a unit and the host share."""

from typing import Any

from amaranth import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gen.plan import MemoryPlan
from hw.component import Component
from hw.ram import below, ram
from hw.unit import MemoryRead, MemoryWrite


class HostPort(wiring.Signature):
    """The host's way into a memory, seen from the memory; used while the tile is idle."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__(
            {"addr": In(below(words)), "wdata": In(width), "we": In(1), "rdata": Out(width)}
        )


class InputMemory(Component):
    """A memory that the host fills and up to two units read.

    The host's writes and reads go through the address of the first reader, so that the
    memory has two ports in all, like a block RAM.
    """

    def __init__(self, plan: MemoryPlan) -> None:
        self.plan = plan
        ports: dict[str, Any] = {
            f"read{k}": In(MemoryRead(plan.depth, plan.width)) for k in range(len(plan.readers))
        }
        super().__init__({"running": In(1), "host": Out(HostPort(plan.depth, plan.width)), **ports})

    def elaborate(self, platform: object) -> Module:
        """Build the memory; its first port is the host's while the tile is idle."""
        m = Module()
        plan = self.plan
        m.submodules.mem = mem = ram(plan.width, plan.depth)
        write: Any = mem.write_port()
        for k in range(len(plan.readers)):
            port = getattr(self, f"read{k}")
            read: Any = mem.read_port()
            m.d.comb += [read.addr.eq(port.addr), port.data.eq(read.data)]
            if k == 0:
                addr = Mux(self.running, port.addr, self.host.addr)
                m.d.comb += [
                    read.addr.eq(addr),
                    read.en.eq(~self.host.we),
                    write.addr.eq(addr),
                    write.data.eq(self.host.wdata),
                    write.en.eq(self.host.we),
                    self.host.rdata.eq(read.data),
                ]
        return m


class ResultMemory(Component):
    """A memory that one unit fills and the host reads."""

    def __init__(self, plan: MemoryPlan) -> None:
        self.plan = plan
        super().__init__(
            {
                "host": Out(HostPort(plan.depth, plan.width)),
                "write": In(MemoryWrite(plan.depth, plan.width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the memory."""
        m = Module()
        plan = self.plan
        m.submodules.mem = mem = ram(plan.width, plan.depth)
        write: Any = mem.write_port()
        read: Any = mem.read_port()
        m.d.comb += [
            write.addr.eq(self.write.addr),
            write.data.eq(self.write.data),
            write.en.eq(self.write.en),
            read.addr.eq(self.host.addr),
            self.host.rdata.eq(read.data),
        ]
        return m
