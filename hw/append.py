"""The append pointer of a result array."""

from amaranth import Module, Signal
from amaranth.lib.wiring import In, Out

from hw.component import Component
from hw.ram import below


class Append(Component):
    """Hands out the words of an array in order; past its end words are dropped.

    Parameters
    ----------
    words : int
        Words of the array.
    first : int
        The word that is appended first.

    Attributes
    ----------
    start : In(1)
        Begins a run: nothing is appended yet.
    append : In(1)
        A word is appended in this cycle.
    en, addr : Out
        Whether the word is stored in this cycle, and where.
    count, after : Out
        Words stored before this cycle, and with it.
    overrun : Out(1)
        A word is dropped in this cycle.
    """

    def __init__(self, words: int, first: int = 0) -> None:
        self.words = words
        self.first = first
        super().__init__(
            {
                "start": In(1),
                "append": In(1),
                "en": Out(1),
                "addr": Out(below(words)),
                "count": Out(range(words + 1)),
                "after": Out(range(words + 1)),
                "overrun": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the pointer."""
        m = Module()
        full = Signal()
        place = Signal(range(self.words + 1), init=self.first)
        m.d.comb += [
            full.eq(place == self.words),
            self.en.eq(self.append & ~full),
            self.overrun.eq(self.append & full),
            self.addr.eq(place),
            self.count.eq(place - self.first),
            self.after.eq(self.count + self.en),
        ]
        with m.If(self.start):
            m.d.sync += place.eq(self.first)
        with m.Elif(self.en):
            m.d.sync += place.eq(place + 1)
        return m
