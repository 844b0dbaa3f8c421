"""An AXI4-Lite slave (AMBA AXI and ACE, IHI 0022, part B), one access at a time.

Only whole words are written: a write whose strobes are not all set is refused.  The slave
turns each access into one strobe on a `Bus`; what is refused answers SLVERR.
"""

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.component import Component

OKAY = 0b00
SLVERR = 0b10
FULL_WORD = 0b1111


def ports(address_bits: int) -> dict[str, Any]:
    """Return the signals of an AXI4-Lite slave by their AXI names."""
    return {
        "awaddr": In(address_bits),
        "awprot": In(3),
        "awvalid": In(1),
        "awready": Out(1),
        "wdata": In(32),
        "wstrb": In(4),
        "wvalid": In(1),
        "wready": Out(1),
        "bresp": Out(2),
        "bvalid": Out(1),
        "bready": In(1),
        "araddr": In(address_bits),
        "arprot": In(3),
        "arvalid": In(1),
        "arready": Out(1),
        "rdata": Out(32),
        "rresp": Out(2),
        "rvalid": Out(1),
        "rready": In(1),
    }


class Bus(wiring.Signature):
    """One access at a time, seen from its master.

    `strobe` is high in one cycle; address, direction and data hold until the next access.
    `ok` is taken in that cycle, `rdata` in the one after.
    """

    def __init__(self, address_bits: int) -> None:
        super().__init__(
            {
                "strobe": Out(1),
                "write": Out(1),
                "address": Out(address_bits),
                "wdata": Out(32),
                "ok": In(1),
                "rdata": In(32),
            }
        )


class AxiLite(Component):
    """The slave; reads and writes that wait at the same time take turns."""

    def __init__(self, address_bits: int) -> None:
        super().__init__(
            {
                "axi": Out(wiring.Signature(ports(address_bits))),
                "bus": Out(Bus(address_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the three held channels and the access phases."""
        m = Module()
        axi, bus = self.axi, self.bus
        awaddr, aw_held = self._accept(m, axi.awaddr, axi.awvalid, axi.awready, "aw")
        araddr, ar_held = self._accept(m, axi.araddr, axi.arvalid, axi.arready, "ar")
        w = Signal(36)
        w_word, w_held = self._accept(m, w, axi.wvalid, axi.wready, "w")
        full = Signal()
        m.d.comb += [
            w.eq(axi.wdata | (axi.wstrb << 32)),
            bus.wdata.eq(w_word[:32]),
            full.eq(w_word[32:] == FULL_WORD),
        ]
        choose_write = Signal()
        m.d.comb += choose_write.eq(aw_held & w_held & ~(ar_held & bus.write))
        resp = Signal(2)
        rdata = Signal(32)
        m.d.comb += [axi.bresp.eq(resp), axi.rresp.eq(resp), axi.rdata.eq(rdata)]
        with m.FSM(name="phase"):
            with m.State("wait"), m.If(choose_write | ar_held):
                m.d.sync += [
                    bus.write.eq(choose_write),
                    bus.address.eq(Mux(choose_write, awaddr, araddr)),
                ]
                m.next = "access"
            with m.State("access"):
                m.d.comb += bus.strobe.eq(~bus.write | full)
                m.d.sync += resp.eq(Mux(bus.strobe & bus.ok, OKAY, SLVERR))
                m.next = "collect"
            with m.State("collect"):
                m.d.sync += rdata.eq(Mux(resp == OKAY, bus.rdata, 0))
                m.d.sync += [axi.bvalid.eq(bus.write), axi.rvalid.eq(~bus.write)]
                m.next = "respond"
            with m.State("respond"):
                with m.If(axi.bvalid & axi.bready):
                    m.d.sync += [axi.bvalid.eq(0), aw_held.eq(0), w_held.eq(0)]
                    m.next = "wait"
                with m.If(axi.rvalid & axi.rready):
                    m.d.sync += [axi.rvalid.eq(0), ar_held.eq(0)]
                    m.next = "wait"
        return m

    def _accept(
        self, m: Module, word: Signal, valid: Signal, ready: Signal, name: str
    ) -> tuple[Signal, Signal]:
        """Hold one beat of a channel until the response clears its flag."""
        taken = Signal.like(word, name=f"{name}_word")
        held = Signal(name=f"{name}_held")
        m.d.comb += ready.eq(~held)
        with m.If(valid & ~held):
            m.d.sync += [taken.eq(word), held.eq(1)]
        return taken, held
