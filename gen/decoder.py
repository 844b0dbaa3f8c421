"""The host's side of a tile: the register block and the array windows behind the AXI slave."""

from typing import Any

from amaranth import Cat, Const, Module, Signal
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from gen.axi import Bus
from gen.control import CYCLE_BITS, ErrorCode
from gen.memory import HostPort
from gen.plan import Access, Plan, Register, Window, count_register, shape_register
from hw.component import Component

ID = int.from_bytes(b"FUSE", "little")
VERSION = 0x0001_0000


class Decoder(Component):
    """Decodes the host's accesses; the shape registers live here.

    While a run is under way, everything but the reading of registers is refused, and so is
    whatever lies outside a register or an array, is read-only or write-only, or is a shape
    beyond its capacity.  What is refused changes nothing.

    Parameters
    ----------
    plan : Plan
    graph_hash : int
        64 bits that identify the graph.

    Members
    -------
    request : Out(1)
        A start is asked for, whether or not a run is under way.
    shape_<tensor>_<mode> : Out
    count_<tensor>_<array> : In(32)
    <memory> : Out(HostPort)
        One per memory of the plan, under its name.
    """

    def __init__(self, plan: Plan, graph_hash: int) -> None:
        self.plan = plan
        self.graph_hash = graph_hash
        ports: dict[str, Any] = {
            "bus": In(Bus(plan.address_bits)),
            "request": Out(1),
            "running": In(1),
            "done": In(1),
            "overflow": In(1),
            "error": In(ErrorCode),
            "cycle": In(CYCLE_BITS),
        }
        self._limits = {
            shape_register(tensor.name, mode): size
            for tensor in plan.graph.tensors
            for mode, size in enumerate(tensor.dims)
        }
        self._counts = [
            count_register(array.tensor, array.name) for array in plan.arrays if array.counted
        ]
        ports |= {name: Out(plan.widths.crd) for name in self._limits}
        ports |= {name: In(32) for name in self._counts}
        ports |= {
            memory.name: In(HostPort(memory.depth, memory.width))
            for array in plan.arrays
            for memory in array.memories
        }
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        """Build the registers and the windows."""
        m = Module()
        self._build_registers(m)
        for window in self.plan.windows:
            self._build_window(m, window)
        return m

    def _build_registers(self, m: Module) -> None:
        bus = self.bus
        index_bits = ceil_log2(self.plan.register_bytes)
        values = self._values()
        with m.If(bus.address[index_bits:] == 0), m.Switch(bus.address[2:index_bits]):
            for register in self.plan.registers:
                with m.Case(register.address // 4):
                    self._build_register(m, register, values)

    def _build_register(self, m: Module, register: Register, values: dict[str, Any]) -> None:
        bus = self.bus
        with m.If(bus.write):
            if register.name == "control":
                m.d.comb += [
                    self.request.eq(bus.strobe & bus.wdata[0]),
                    bus.ok.eq(~(bus.wdata[0] & self.running)),
                ]
            elif register.access is Access.BOTH:
                m.d.comb += bus.ok.eq((bus.wdata <= self._limits[register.name]) & ~self.running)
                with m.If(bus.strobe & bus.ok):
                    m.d.sync += values[register.name].eq(bus.wdata)
        if register.access is not Access.WRITE:
            with m.Else():
                m.d.comb += [bus.ok.eq(1), bus.rdata.eq(values[register.name])]

    def _values(self) -> dict[str, Any]:
        """Return what every register reads as."""
        values: dict[str, Any] = {
            "id": Const(ID, 32),
            "version": Const(VERSION, 32),
            "hash_lo": Const(self.graph_hash & 0xFFFF_FFFF, 32),
            "hash_hi": Const(self.graph_hash >> 32, 32),
            "status": Cat(self.running, self.done, self.overflow),
            "error": self.error.as_value(),
            "cycles_lo": self.cycle[:32],
            "cycles_hi": self.cycle[32:],
        }
        for name in (*self._limits, *self._counts):
            values[name] = getattr(self, name)
        return values

    def _build_window(self, m: Module, window: Window) -> None:
        bus, array = self.bus, window.array
        offset_bits = ceil_log2(window.size)
        word = bus.address[2:offset_bits]
        bank_bits = ceil_log2(len(array.banks))
        with m.If(bus.address[offset_bits:] == window.base >> offset_bits):
            legal = (word < array.words) & ~self.running
            if window.access is Access.READ:
                legal &= ~bus.write
            m.d.comb += bus.ok.eq(legal)
            for bank, copies in enumerate(array.banks):
                with m.If(word[:bank_bits] == bank if bank_bits else Const(1)):
                    m.d.comb += bus.rdata.eq(getattr(self, copies[0].name).rdata)
                    self._build_writes(m, window, [memory.name for memory in copies])
        for memory in array.memories:
            port = getattr(self, memory.name)
            m.d.comb += [port.addr.eq(word[bank_bits:]), port.wdata.eq(bus.wdata)]

    def _build_writes(self, m: Module, window: Window, names: list[str]) -> None:
        if window.access is Access.BOTH:
            for name in names:
                strobe: Signal = getattr(self, name).we
                m.d.comb += strobe.eq(self.bus.strobe & self.bus.ok & self.bus.write)
