"""The banks of an accumulator, shared by its fill and emit units (DESIGN section 6).

Rows use the banks in turn.  Timing, t being the cycle in which fill fires a payload: its old sum
and touched bit arrive in t + 1, the new sum is written in t + A.  The word that holds a row's first
touched coordinate waits in `emit` from the third cycle after the row's end on.
"""

from typing import Any

from amaranth import Array, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.bank import Bank
from hw.component import Component
from hw.fold import Fold, FoldType
from hw.geometry import Geometry
from hw.layout import word
from hw.prefetch import Prefetch
from hw.ram import below
from hw.touched import Lowest, Walk


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

    def __init__(self, geometry: Geometry, stored: Shape) -> None:
        super().__init__(
            {
                "free": In(1),
                "begin": Out(1),
                "end": Out(1),
                "copy": Out(1),
                "add": Out(1),
                "address": Out(geometry.address_bits),
                "value": Out(stored),
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

    def __init__(self, geometry: Geometry, stored: Shape, crd_bits: int) -> None:
        super().__init__(
            {
                "ready": In(1),
                "none": In(1),
                "address": In(geometry.address_bits),
                "last_inner": In(1),
                "last": In(1),
                "take": Out(1),
                "value": In(stored),
                "size": Out(crd_bits),
            }
        )


class Banks(Component):
    """Sums and touched sets of several rows.

    Parameters
    ----------
    geometry : Geometry
    count : int
        Number of banks.
    fold : FoldType
    crd_bits : int
        Width of a coordinate.
    dense : bool
        Every coordinate below the size is emitted.
    """

    def __init__(
        self,
        geometry: Geometry,
        count: int,
        fold: FoldType,
        crd_bits: int,
        *,
        dense: bool,
    ) -> None:
        self.geometry = geometry
        self.count = count
        self.fold = fold
        self.shape = word(fold.stored)
        self.crd_bits = crd_bits
        self.dense = dense
        super().__init__(
            {
                "fill": In(FillPort(geometry, self.shape)),
                "emit": In(EmitPort(geometry, self.shape, crd_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the banks, the adder and what empties a row."""
        m = Module()
        banks = [Bank(self.geometry, self.shape) for _ in range(self.count)]
        for k, bank in enumerate(banks):
            m.submodules[f"bank{k}"] = bank
        ended = Signal(data.StructLayout({"valid": 1, "copy": 1, "bank": below(self.count)}))
        released = Signal(data.StructLayout({"valid": 1, "bank": below(self.count)}))
        self._account(m, banks, ended, released)
        self._add(m, banks, ended)
        current = self._offer(m, banks, ended)
        m.d.comb += [
            released.valid.eq(self.emit.take & self.emit.last),
            released.bank.eq(current),
        ]
        return m

    def _account(self, m: Module, banks: list[Bank], ended: Any, released: Any) -> None:
        """Count the banks that are taken, and tell each whether it is filled or emptied."""
        taken = Signal(range(self.count + 1))
        m.d.comb += self.fill.free.eq(taken != self.count)
        m.d.sync += taken.eq(taken + self.fill.begin - released.valid)
        for k, bank in enumerate(banks):
            emptying = Signal(name=f"emptying{k}")
            m.d.comb += bank.emptying.eq(emptying)
            with m.If(ended.valid & (ended.bank == k)):
                m.d.sync += emptying.eq(1)
            with m.Elif(released.valid & (released.bank == k)):
                m.d.sync += emptying.eq(0)

    def _add(self, m: Module, banks: list[Bank], ended: Any) -> None:
        """Fill: read in the cycle of the firing, add from the next one on."""
        fill = self.fill
        filling = Signal(below(self.count))
        with m.If(fill.end):
            m.d.sync += filling.eq(self._after(filling))
        place = data.StructLayout({"bank": below(self.count), "address": len(fill.address)})
        fired, forwarded = Signal(), Signal(reset_less=True)
        where = Signal(place, reset_less=True)
        value, written = (Signal(self.shape, reset_less=True) for _ in range(2))
        m.submodules.fold = fold = Fold(place, self.fold)
        m.d.sync += [
            fired.eq(fill.add),
            where.bank.eq(filling),
            where.address.eq(fill.address),
            value.eq(fill.value),
            ended.valid.eq(fill.end),
            ended.copy.eq(fill.copy),
            ended.bank.eq(filling),
            # A sum that is written while it is read comes from the write port.  Another row's sum
            # does no harm: fewer than A cycles into this row, the address is not touched here.
            forwarded.eq(fold.done & (fold.done_place.address == fill.address)),
            written.eq(fold.total),
        ]
        touched = self._touch(m, banks, where, fired)
        stored = Mux(forwarded, written, self._of(where.bank, [bank.sum for bank in banks]))
        m.d.comb += [
            fold.valid.eq(fired),
            fold.place.eq(where),
            fold.old.eq(Mux(touched, stored, Const(self.fold.identity, self.shape))),
            fold.value.eq(value),
            fill.overflow.eq(fold.overflow),
        ]
        for k, bank in enumerate(banks):
            m.d.comb += [
                bank.fill_address.eq(fill.address),
                bank.write.eq(fold.done & (fold.done_place.bank == k)),
                bank.write_address.eq(fold.done_place.address),
                bank.write_data.eq(fold.total),
            ]

    def _touch(self, m: Module, banks: list[Bank], where: Any, fired: Signal) -> Signal:
        """Put an address into its bank's set; return whether it was there already."""
        word_bits = self.geometry.word_bits
        bit, number = where.address[:word_bits], where.address[word_bits:]
        word, touched = Signal(self.geometry.word_size), Signal()
        top = self._of(where.bank, [bank.tops.bit_select(number, 1) for bank in banks])
        seen = self._of(where.bank, [bank.word for bank in banks])
        m.d.comb += [word.eq(Mux(top, seen, 0)), touched.eq(word.bit_select(bit, 1))]
        for k, bank in enumerate(banks):
            m.d.comb += [
                bank.fill_number.eq(number),
                bank.add.eq(fired & (where.bank == k)),
                bank.added.eq(word | (1 << bit)),
            ]
        return touched

    def _offer(self, m: Module, banks: list[Bank], ended: Any) -> Signal:
        """Emit: take words out of the banks in row order; return the bank being emitted."""
        choice = Walk(self.geometry, self.crd_bits) if self.dense else Lowest(self.geometry)
        prefetch = Prefetch(self.geometry, self.crd_bits, dense=self.dense)
        m.submodules.choice, m.submodules.prefetch = choice, prefetch
        rows = Signal(range(self.count + 1))
        scanned, current = Signal(below(self.count)), Signal(below(self.count), reset_less=True)
        done = prefetch.load & choice.final
        m.d.comb += [
            choice.tops.eq(self._of(scanned, [bank.tops for bank in banks])),
            prefetch.offered.eq(rows != 0),
            prefetch.number.eq(choice.number),
            prefetch.word.eq(self._of(scanned, [bank.word for bank in banks])),
            prefetch.none.eq(choice.none),
            prefetch.final.eq(choice.final),
            prefetch.same.eq(choice.same),
        ]
        m.d.sync += rows.eq(rows + ended.valid - done)
        with m.If(prefetch.load):
            m.d.sync += current.eq(scanned)
        with m.If(done):
            m.d.sync += scanned.eq(self._after(scanned))
        for k, bank in enumerate(banks):
            m.d.comb += [
                bank.empty_address.eq(self.emit.address),
                bank.empty_number.eq(choice.number),
                bank.take.eq(prefetch.load & (scanned == k)),
                bank.others.eq(choice.others),
            ]
        if self.dense:
            copied = Signal(self.count)
            with m.If(ended.valid):
                m.d.sync += copied.bit_select(ended.bank, 1).eq(ended.copy)
            m.d.comb += [
                choice.copied.eq(copied.bit_select(scanned, 1)),
                choice.size.eq(self.emit.size),
                choice.take.eq(prefetch.load),
            ]
            with m.If(~choice.tops.bit_select(choice.number, 1)):
                m.d.comb += prefetch.word.eq(0)
        self._output(m, banks, prefetch, current)
        return current

    def _output(self, m: Module, banks: list[Bank], prefetch: Prefetch, current: Signal) -> None:
        """Say which output is next; its sum is read when it is taken and comes two cycles on."""
        emit = self.emit
        source, touched = Signal(below(self.count), reset_less=True), Signal(reset_less=True)
        value = Signal(self.shape, reset_less=True)
        m.d.comb += [
            prefetch.size.eq(emit.size),
            prefetch.take.eq(emit.take),
            emit.ready.eq(prefetch.ready),
            emit.none.eq(prefetch.empty),
            emit.address.eq(prefetch.address),
            emit.last_inner.eq(prefetch.last_inner),
            emit.last.eq(prefetch.last),
            emit.value.eq(value),
        ]
        stored = self._of(source, [bank.sum for bank in banks])
        m.d.sync += [
            source.eq(current),
            touched.eq(prefetch.touched),
            value.eq(Mux(touched, stored, Const(self.fold.untouched, self.shape))),
        ]

    def _after(self, bank: Signal) -> Value:
        """Return the bank whose turn is next."""
        return Mux(bank == self.count - 1, 0, bank + 1)

    def _of(self, bank: Value, choices: list[Any]) -> Any:
        """Return the choice of one bank."""
        return Array(choices)[bank] if self.count > 1 else choices[0]
