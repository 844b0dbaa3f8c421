"""The edge: a FIFO between two units that reserves a slot at issue (DESIGN section 3).

Between unit and edge there is no valid/ready handshake.  The rules are:

1. A reader sees `valid` and `token`; it takes the token by raising `pop` in a cycle in which
   `valid` is high.
2. A writer sees `room`; it may raise `issue` in a cycle in which `room` is high, and raises
   `push` with `token` exactly latency - 1 cycles later.
3. `valid` and `room` are functions of registers alone: a slot popped in cycle t is free in
   t + 1, a token pushed in t can be read in t + 1, in a full or empty edge too.
4. A slot is taken from issue to pop, so `room` counts reserved slots, not filled ones.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fuseflow.samml.gates import HEAD_PERIOD, ROOM_PERIOD
from hw.component import Component
from hw.ram import below, ram


class Writer(wiring.Signature):
    """The writing end of an edge, seen from the unit."""

    def __init__(self, layout: data.StructLayout) -> None:
        super().__init__({"room": In(1), "issue": Out(1), "push": Out(1), "token": Out(layout)})


class Reader(wiring.Signature):
    """The reading end of an edge, seen from the unit."""

    def __init__(self, layout: data.StructLayout) -> None:
        super().__init__({"valid": In(1), "token": In(layout), "pop": Out(1)})


class Edge(Component):
    """A FIFO of `depth` slots, for any latency of its writer.

    Parameters
    ----------
    layout : data.StructLayout
        Layout of a token.
    depth : int
        Slots, reserved and filled together.
    gated : bool
        Build the gates of DESIGN section 7; only benches do.
    """

    def __init__(self, layout: data.StructLayout, depth: int, *, gated: bool = False) -> None:
        self.depth = depth
        self.gated = gated
        ports = {"w": In(Writer(layout)), "r": In(Reader(layout))}
        if gated:
            ports |= {
                "running": In(1),
                "room_pattern": In(ROOM_PERIOD),
                "head_pattern": In(HEAD_PERIOD),
            }
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        """Build the memory, its pointers and the two counters."""
        m = Module()
        depth = self.depth
        reserved = Signal(range(depth + 1))
        filled = Signal(range(depth + 1))
        m.d.sync += [
            reserved.eq(reserved + self.w.issue - self.r.pop),
            filled.eq(filled + self.w.push - self.r.pop),
        ]

        # Payload bits need no reset: `filled` says which of them mean anything.
        m.submodules.mem = mem = ram(self.w.token.shape(), depth)
        write = mem.write_port()
        read = mem.read_port(domain="comb")
        head = Signal(below(depth))
        tail = Signal(below(depth))
        m.d.comb += [
            write.addr.eq(tail),
            write.data.eq(self.w.token),
            write.en.eq(self.w.push),
            read.addr.eq(head),
            self.r.token.eq(read.data),
        ]
        last = depth - 1
        with m.If(self.w.push):
            m.d.sync += tail.eq(Mux(tail == last, 0, tail + 1))
        with m.If(self.r.pop):
            m.d.sync += head.eq(Mux(head == last, 0, head + 1))

        room, valid = reserved != depth, filled != 0
        if self.gated:
            room &= self._gate(m, self.room_pattern)
            valid &= self._gate(m, self.head_pattern)
        m.d.comb += [self.w.room.eq(room), self.r.valid.eq(valid)]
        return m

    def _gate(self, m: Module, pattern: Signal) -> Signal:
        """Return bit ``t % period`` of a pattern in cycle t; cycle 0 is the first running one."""
        ring = Signal.like(pattern)
        m.d.sync += ring.eq(pattern)
        with m.If(self.running):
            m.d.sync += ring.eq(ring.rotate_right(1))
        return ring[0]
