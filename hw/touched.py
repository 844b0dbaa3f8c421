"""The touched set of one accumulator bank: which coordinates hold a sum.

Bits lie in words of a memory, and each word has one top bit in a register; a word whose top bit is
0 reads as 0, so nothing in memory is ever cleared (DESIGN section 6).  `emit` takes whole words out
of the set, lowest first.
"""

from typing import Any

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import any_of, encode, lowest, rest
from hw.geometry import Geometry


class TouchedSet(wiring.Component):
    """A set of addresses.

    Parameters
    ----------
    geometry : Geometry
    dense : bool
        Words are taken by number instead of lowest first.

    Attributes
    ----------
    address : In
        The element that fill asks about and may add.
    touched : Out(1)
        Whether it is in the set already.
    add : In(1)
        Put it into the set.
    scanning : In(1)
        The bank is emptied by emit; the ports below are used and those above are not.
    take : In(1)
        Take the offered word out of the set.
    wanted : In
        Number of the offered word (dense only).
    number, word : Out
        The offered word and its number; 0 where the set is empty.
    vacant, more, same : Out(1)
        The set is empty; it has words beyond the offered one; the next of them belongs to the
        same outer coordinate.
    """

    address: Any
    touched: Any
    add: Any
    scanning: Any
    take: Any
    wanted: Any
    number: Any
    word: Any
    vacant: Any
    more: Any
    same: Any

    def __init__(self, geometry: Geometry, *, dense: bool) -> None:
        self.geometry = geometry
        self.dense = dense
        numbers = range(geometry.words)
        super().__init__(
            {
                "address": In(geometry.address_bits),
                "touched": Out(1),
                "add": In(1),
                "scanning": In(1),
                "take": In(1),
                "wanted": In(numbers),
                "number": Out(numbers),
                "word": Out(geometry.word_size),
                "vacant": Out(1),
                "more": Out(1),
                "same": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        geometry = self.geometry
        m.submodules.mem = mem = memory.Memory(
            shape=geometry.word_size, depth=geometry.words, init=[]
        )
        read, write = mem.read_port(domain="comb"), mem.write_port()
        tops = Signal(geometry.words)
        bit = self.address[: geometry.word_bits]
        place = Signal(range(geometry.words))
        m.d.comb += [
            place.eq(Mux(self.scanning, self.number, self.address[geometry.word_bits :])),
            read.addr.eq(place),
            self.word.eq(Mux(tops.bit_select(place, 1), read.data, 0)),
            self.touched.eq(self.word.bit_select(bit, 1)),
            write.addr.eq(place),
            write.data.eq(self.word | (1 << bit)),
            write.en.eq(self.add),
        ]
        others = self._offer(m, tops)
        with m.If(self.add):
            m.d.sync += tops.bit_select(place, 1).eq(1)
        with m.If(self.take):
            m.d.sync += tops.eq(others)
        return m

    def _offer(self, m: Module, tops: Signal) -> Value:
        """Choose the offered word; return the set of words without it."""
        if self.dense:
            m.d.comb += self.number.eq(self.wanted)
            return tops & ~(Const(1) << self.wanted)[: len(tops)]
        others = rest(tops)
        picked = Signal(len(tops))
        m.d.comb += [
            picked.eq(lowest(tops)),
            self.number.eq(encode(picked)),
            self.vacant.eq(~tops.any()),
            self.more.eq(others.any()),
        ]
        group = self.geometry.fiber_words
        if group > 1:
            groups = range(0, len(tops), group)
            m.d.comb += self.same.eq(
                any_of([picked[k : k + group].any() & others[k : k + group].any() for k in groups])
            )
        return others
