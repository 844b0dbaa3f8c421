"""The banks of an accumulator, shared by its fill and emit units (DESIGN section 6).

Rows use the banks in turn.  Timing, t being the cycle in which fill fires a payload: its old sum
and touched bit arrive in t + 1, the new sum is written in t + A.  The word that holds a row's first
touched coordinate waits in `emit` from the third cycle after the row's end on.
"""

from typing import Any

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic import fits
from hw.geometry import Geometry
from hw.prefetch import Prefetch
from hw.sums import Sums
from hw.touched import TouchedSet


class FillPort(wiring.Signature):
    """What fill asks of the banks.

    Members
    -------
    free : In(1)
        A row may begin in this cycle.
    begin, end : Out(1)
        A row's first, and last, token fires in this cycle.
    copy : Out(1)
        With `end`: the row has no fiber of its own and is passed on.
    add, address, value : Out
        A payload fires; it is added at the address.
    overflow : In(1)
        A sum wraps in this cycle.
    """

    def __init__(self, geometry: Geometry, value_bits: int) -> None:
        super().__init__(
            {
                "free": In(1),
                "begin": Out(1),
                "end": Out(1),
                "copy": Out(1),
                "add": Out(1),
                "address": Out(geometry.address_bits),
                "value": Out(signed(value_bits)),
                "overflow": In(1),
            }
        )


class EmitPort(wiring.Signature):
    """What emit asks of the banks.

    Members
    -------
    ready : In(1)
        The next output of the oldest row is known; so whenever that row's token can be read.
    none : In(1)
        The row has no coordinate: it gives one empty token.
    address : In
        The next coordinate.
    last_inner, last : In(1)
        It is the last of its outer coordinate; of its row.
    take : Out(1)
        The output is issued; with `last` this releases the row's bank.
    value : In
        The sum of the coordinate taken two cycles before.
    size : Out
        Run-time size of the kept level (dense mode).
    """

    def __init__(self, geometry: Geometry, value_bits: int, crd_bits: int) -> None:
        super().__init__(
            {
                "ready": In(1),
                "none": In(1),
                "address": In(geometry.address_bits),
                "last_inner": In(1),
                "last": In(1),
                "take": Out(1),
                "value": In(signed(value_bits)),
                "size": Out(crd_bits),
            }
        )


class Banks(wiring.Component):
    """Sums and touched sets of several rows.

    Parameters
    ----------
    geometry : Geometry
    count : int
        Number of banks.
    adder : int
        Latency A of the adder.
    value_bits, crd_bits : int
        Field widths.
    dense : bool
        Every coordinate below the size is emitted.
    """

    fill: Any
    emit: Any

    def __init__(
        self,
        geometry: Geometry,
        count: int,
        adder: int,
        value_bits: int,
        crd_bits: int,
        *,
        dense: bool,
    ) -> None:
        self.geometry = geometry
        self.count = count
        self.adder = adder
        self.value_bits = value_bits
        self.crd_bits = crd_bits
        self.dense = dense
        super().__init__(
            {
                "fill": In(FillPort(geometry, value_bits)),
                "emit": In(EmitPort(geometry, value_bits, crd_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numbers = range(self.count)
        emptying = Signal(self.count)
        sets = [TouchedSet(self.geometry, dense=self.dense) for _ in numbers]
        sums = [Sums(self.geometry.depth, self.value_bits) for _ in numbers]
        for k in numbers:
            m.submodules[f"touched{k}"] = sets[k]
            m.submodules[f"sums{k}"] = sums[k]
            m.d.comb += [
                sets[k].scanning.eq(emptying[k]),
                sums[k].read_address.eq(Mux(emptying[k], self.emit.address, self.fill.address)),
            ]
        filling = Signal(range(self.count))
        with m.If(self.fill.end):
            m.d.sync += filling.eq(self._next(filling))
        added = self._add(m, filling, sets, sums)
        self._empty(m, added, emptying, sets, sums)
        return m

    def _add(
        self, m: Module, filling: Signal, sets: list[TouchedSet], sums: list[Sums]
    ) -> data.View:
        """Read, add and write; return the firing of the cycle before, as it was registered."""
        fill, numbers = self.fill, range(self.count)
        bank, address = range(self.count), self.geometry.address_bits
        fired = Signal(data.StructLayout({"add": 1, "end": 1, "copy": 1}))
        where = Signal(data.StructLayout({"bank": bank, "address": address}), reset_less=True)
        value = Signal(signed(self.value_bits), reset_less=True)
        m.d.sync += [
            fired.add.eq(fill.add),
            fired.end.eq(fill.end),
            fired.copy.eq(fill.copy),
            where.bank.eq(filling),
            where.address.eq(fill.address),
            value.eq(fill.value),
        ]
        for k in numbers:
            m.d.comb += [
                sets[k].address.eq(where.address),
                sets[k].add.eq(fired.add & (where.bank == k)),
            ]
        touched = self._choose(m, "touched", where.bank, [part.touched for part in sets])
        stored = self._choose(m, "stored", where.bank, [part.read_data for part in sums])
        old = Signal(signed(self.value_bits))
        m.d.comb += old.eq(Mux(touched, stored, 0))

        writing: Signal = fired.add
        if self.adder > 1:  # the operands wait a cycle in front of the sum
            writing, where, old, value = (
                _delayed(m, part, f"summed_{name}", keep=name == "add")
                for name, part in (
                    ("add", writing),
                    ("where", where),
                    ("old", old),
                    ("value", value),
                )
            )
        exact = Signal(signed(self.value_bits + 1))
        m.d.comb += [
            exact.eq(old + value),
            fill.overflow.eq(writing & ~fits(exact, self.value_bits)),
        ]
        total: Any = exact
        for stage in range(2, self.adder):
            writing = _delayed(m, writing, f"add{stage}", keep=True)
            where = _delayed(m, where, f"where{stage}")
            total = _delayed(m, total, f"total{stage}")
        for k in numbers:
            m.d.comb += [
                sums[k].write.eq(writing & (where.bank == k)),
                sums[k].write_address.eq(where.address),
                sums[k].write_data.eq(total),
            ]
        self.added_bank = self._previous(m, filling)
        return fired
