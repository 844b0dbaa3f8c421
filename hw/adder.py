"""The adder behind the sums of an accumulator."""

from typing import Any

from amaranth import Module, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hw.arithmetic import fits
from hw.component import Component


class Adder(Component):
    """Adds two integers; what comes in in cycle t leaves in t + latency - 1.

    Parameters
    ----------
    place : data.StructLayout
        Layout of where the sum goes.
    bits : int
        Width of the operands and of the sum, which wraps.
    latency : int
        1 adds in the cycle of arrival; more registers the operands first, then the sum.

    Attributes
    ----------
    valid, place, old, value : In
    done, done_place, total : Out
    overflow : Out(1)
        A sum that counts wraps in this cycle.
    """

    def __init__(self, place: data.StructLayout, bits: int, latency: int) -> None:
        self.bits = bits
        self.latency = latency
        super().__init__(
            {
                "valid": In(1),
                "place": In(place),
                "old": In(signed(bits)),
                "value": In(signed(bits)),
                "done": Out(1),
                "done_place": Out(place),
                "total": Out(signed(bits)),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the pipeline."""
        m = Module()
        valid, place, old, value = self.valid, self.place, self.old, self.value
        if self.latency > 1:
            valid, place = _delay(m, valid, reset_less=False), _delay(m, place)
            old, value = _delay(m, old), _delay(m, value)
        exact = Signal(signed(self.bits + 1))
        m.d.comb += [exact.eq(old + value), self.overflow.eq(valid & ~fits(exact, self.bits))]
        total = exact
        for _ in range(2, self.latency):
            valid, place = _delay(m, valid, reset_less=False), _delay(m, place)
            total = _delay(m, total)
        m.d.comb += [self.done.eq(valid), self.done_place.eq(place), self.total.eq(total)]
        return m


def _delay(m: Module, value: Any, *, reset_less: bool = True) -> Any:
    """Return a value one cycle later."""
    later = Signal(value.shape(), name="delayed", reset_less=reset_less)
    m.d.sync += later.eq(value)
    return later
