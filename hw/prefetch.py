"""Turns the touched words of a row into coordinates, one a cycle, read ahead of need."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hw.bits import any_of, encode, lowest, rest
from hw.component import Component
from hw.geometry import Geometry
from hw.ram import below


class Prefetch(Component):
    """Holds one touched word; loads the next in the cycle that takes its last coordinate.

    Parameters
    ----------
    geometry : Geometry
    dense : bool
        Every coordinate below `size` is given.
    crd_bits : int
        Width of the size.

    Attributes
    ----------
    offered, number, word, none, final, same : In
        A word of the next row (or of the rest of this one) can be loaded; its number and bits;
        it stands for a row without coordinates; it is its row's last (then too); the word that
        follows it belongs to the same outer coordinate.
    load : Out(1)
        The word is loaded in this cycle.
    ready, empty, address, touched, last_inner, last : Out
        The next output: known; it has no coordinate; its address; whether that has a sum; it is
        the last of its outer coordinate; of its row.
    take : In(1)
        The output is issued.
    """

    def __init__(self, geometry: Geometry, crd_bits: int, *, dense: bool) -> None:
        self.geometry = geometry
        self.dense = dense
        super().__init__(
            {
                "offered": In(1),
                "number": In(below(geometry.words)),
                "word": In(geometry.word_size),
                "none": In(1),
                "final": In(1),
                "same": In(1),
                "size": In(crd_bits),
                "load": Out(1),
                "ready": Out(1),
                "empty": Out(1),
                "address": Out(geometry.address_bits),
                "touched": Out(1),
                "last_inner": Out(1),
                "last": Out(1),
                "take": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the word that is being emptied."""
        m = Module()
        held, spent = Signal(), Signal()
        word = Signal(self.geometry.word_size, reset_less=True)
        number = Signal(below(self.geometry.words), reset_less=True)
        none, final, same = (Signal(name=n, reset_less=True) for n in ("none", "final", "same"))
        m.d.comb += [
            self.load.eq(self.offered & (~held | (self.take & spent))),
            self.ready.eq(held),
            self.empty.eq(none),
        ]
        with m.If(self.load):
            m.d.sync += [
                held.eq(1),
                word.eq(self.word),
                number.eq(self.number),
                none.eq(self.none),
                final.eq(self.final),
                same.eq(self.same),
            ]
        with m.Elif(self.take):
            m.d.sync += [held.eq(~spent), word.eq(word >> 1 if self.dense else rest(word))]
        if self.dense:
            self._dense(m, word, number, none, spent)
        else:
            self._sparse(m, word, number)
            m.d.comb += [
                spent.eq(none | ~rest(word).any()),
                self.last.eq(spent & final),
                self.last_inner.eq(none | self._ends_inner(word, spent, same)),
            ]
        return m

    def _sparse(self, m: Module, word: Signal, number: Signal) -> None:
        """Give the bits that are set, lowest first."""
        m.d.comb += [
            self.address.eq(Cat(encode(lowest(word))[: self.geometry.word_bits], number)),
            self.touched.eq(1),
        ]

    def _ends_inner(self, word: Signal, spent: Signal, same: Signal) -> Any:
        """Whether the lowest bit is the last of its outer coordinate."""
        if self.geometry.fiber_words:
            return spent & ~same
        picked, others = lowest(word), rest(word)
        fiber = 1 << self.geometry.inner_bits
        starts = range(0, len(word), fiber)
        return any_of([picked[k : k + fiber].any() & ~others[k : k + fiber].any() for k in starts])

    def _dense(self, m: Module, word: Signal, number: Signal, none: Signal, spent: Signal) -> None:
        """Give every bit below the size; the word shifts along."""
        offset = Signal(self.geometry.word_bits)
        m.d.comb += [
            self.address.eq(Cat(offset, number)),
            self.touched.eq(word[0]),
            self.last.eq(none | (self.address + 1 == self.size)),
            self.last_inner.eq(self.last),
            spent.eq(self.last | offset.all()),
        ]
        with m.If(self.take):
            m.d.sync += offset.eq(Mux(spent, 0, offset + 1))
