"""Chooses the touched word that a bank gives up next."""

from typing import Any

from amaranth import Const, Module, Signal
from amaranth.lib.wiring import In, Out

from hw.bits import any_of, encode, lowest, rest
from hw.component import Component
from hw.geometry import Geometry
from hw.ram import below


def _ports(geometry: Geometry) -> dict[str, Any]:
    """Return what the ways to choose have in common."""
    return {
        "tops": In(geometry.words),
        "number": Out(below(geometry.words)),
        "others": Out(geometry.words),
        "none": Out(1),
        "final": Out(1),
        "same": Out(1),
    }


class Lowest(Component):
    """Sparse mode: the lowest word that has a bit.

    Attributes
    ----------
    tops : In
        The top bits of the bank.
    number : Out
        The word that is chosen.
    others : Out
        The top bits without it.
    none, final : Out(1)
        There is no word; there is none beyond the chosen one.
    same : Out(1)
        The word after the chosen one belongs to the same outer coordinate.
    """

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        super().__init__(_ports(geometry))

    def elaborate(self, platform: object) -> Module:
        """Build the priority encoder."""
        m = Module()
        picked = Signal(self.geometry.words)
        m.d.comb += [
            picked.eq(lowest(self.tops)),
            self.others.eq(rest(self.tops)),
            self.number.eq(encode(picked)),
            self.none.eq(~self.tops.any()),
            self.final.eq(~self.others.any()),
        ]
        size = self.geometry.fiber_words
        if size > 1:
            fibers = [slice(k, k + size) for k in range(0, self.geometry.words, size)]
            m.d.comb += self.same.eq(
                any_of([picked[fiber].any() & self.others[fiber].any() for fiber in fibers])
            )
        return m


class Walk(Component):
    """Dense mode: every word below the size, in order.

    Attributes
    ----------
    tops, number, others, none, final, same
        As for `Lowest`.
    copied : In(1)
        The row is one to pass on.
    size : In
        Run-time size of the kept level.
    take : In(1)
        The chosen word is taken.
    """

    def __init__(self, geometry: Geometry, crd_bits: int) -> None:
        self.geometry = geometry
        own = {"copied": In(1), "size": In(crd_bits), "take": In(1)}
        super().__init__(_ports(geometry) | own)

    def elaborate(self, platform: object) -> Module:
        """Build the counter of words."""
        m = Module()
        number = Signal(below(self.geometry.words))
        beyond = (number + 1) << self.geometry.word_bits
        m.d.comb += [
            self.number.eq(number),
            self.others.eq(self.tops & ~(Const(1) << number)),
            self.none.eq(self.copied | (self.size == 0)),
            self.final.eq(self.none | (beyond >= self.size)),
        ]
        with m.If(self.take):
            m.d.sync += number.eq(number + 1)
            with m.If(self.final):
                m.d.sync += number.eq(0)
        return m
