"""A floating-point sum at one value a cycle: interleaved lanes, then rounds of pairs (DESIGN 6).

Value n of a fiber is added to the sum of value n - K; the first K to -0, which changes nothing.
At the fiber's end the last min(n, K) sums, oldest first, go through log2 K adders, each of which
joins two neighbours.  With the close in cycle t, the sum of value i before the last enters the
first of them in cycle t + K - 1 - i, which leaves one cycle of the latency for rounding the
total.  A fiber of n values took n cycles, so the sums of two fibers never meet there.
"""

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fuseflow.samml.values import ValueType
from hw.bits import any_of
from hw.component import Component
from hw.float_adder import FloatAdder
from hw.floating import negative_zero
from hw.layout import word
from hw.pipeline import delay
from hw.ram import ram


class Lanes(Component):
    """Sums fibers; the total of one comes ``K - 1 + log2 K * A`` cycles after its close.

    Parameters
    ----------
    value : ValueType
        Type of the values and of the sum.
    lanes : int
        K, a power of two above the adder's latency A.

    Attributes
    ----------
    valid, value : In
        A value of the fiber.
    close : In(1)
        The fiber ends in this cycle, with the value if there is one.
    total : Out
        Meaningful where the fiber had a value.
    overflow : Out(1)
        A sum overflows in this cycle.
    """

    def __init__(self, value: ValueType, lanes: int) -> None:
        assert lanes > value.adder, "the sum of a lane is not ready for its next value"
        self.value_type = value
        self.lanes = lanes
        shape = word(value)
        super().__init__(
            {
                "valid": In(1),
                "value": In(shape),
                "close": In(1),
                "total": Out(shape),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the lanes, the order in which they empty, and the pairs."""
        m = Module()
        value, lanes = self.value_type, self.lanes
        sums: Any = ram(word(value), lanes)
        m.submodules.sums = sums
        write, old, drain = sums.write_port(), *(sums.read_port(domain="comb") for _ in range(2))
        m.submodules.adder = adder = FloatAdder(value, value.adder)
        count, slot = Signal(range(lanes + 1)), Signal(range(lanes))
        added = delay(m, self.valid, value.adder - 1, reset_less=False)
        m.d.comb += [
            old.addr.eq(slot),
            adder.a.eq(Mux(count == lanes, old.data, negative_zero(value))),
            adder.b.eq(self.value),
            write.en.eq(added),
            write.addr.eq(delay(m, slot, value.adder - 1)),
            write.data.eq(adder.result),
        ]
        after = Signal.like(count)
        m.d.comb += after.eq(Mux(count == lanes, lanes, count + self.valid))
        m.d.sync += count.eq(Mux(self.close, 0, after))
        # The next fiber goes on at the next slot, for this one's sums are still to be read.
        with m.If(self.valid):
            m.d.sync += slot.eq(slot + 1)
        valid, last, drain_slot = self._drain(m, after, slot)
        m.d.comb += drain.addr.eq(drain_slot)
        self._pair_up(m, valid, last, drain.data, added & adder.overflow)
        return m

    def _drain(self, m: Module, count: Signal, slot: Signal) -> tuple[Any, Any, Any]:
        """Return whether a sum is read, whether it is its fiber's last, and from which slot."""
        layout = data.StructLayout({"close": 1, "count": len(count), "slot": len(slot)})
        end = Signal(layout)
        m.d.comb += [end.close.eq(self.close), end.count.eq(count), end.slot.eq(slot)]
        reads: list[Any] = []
        place = Signal.like(slot, name="drain_slot")
        for age in range(self.lanes):
            # The sum of value `before` before the last.
            before = self.lanes - 1 - age
            read = Signal(name=f"read{before}")
            m.d.comb += read.eq(end.close & (end.count > before))
            with m.If(read):
                m.d.comb += place.eq(end.slot - before)
            reads.append(read)
            later = Signal(layout, name=f"end{age + 1}")
            m.d.sync += later.eq(end)
            end = later
        return any_of(reads), reads[-1], place

    def _pair_up(self, m: Module, valid: Any, last: Any, value: Any, overflow: Any) -> None:
        """Join neighbours until one sum is left."""
        for number in range((self.lanes - 1).bit_length()):
            pair = Pair(self.value_type)
            m.submodules[f"pair{number}"] = pair
            m.d.comb += [pair.valid.eq(valid), pair.last.eq(last), pair.value.eq(value)]
            valid, last, value = pair.joined, pair.joined_last, pair.total
            overflow |= pair.overflow
        m.d.comb += [self.total.eq(value), self.overflow.eq(overflow)]


class Pair(Component):
    """Adds neighbours of a series, older + newer; an odd last one is added to -0.

    Parameters
    ----------
    value : ValueType

    Attributes
    ----------
    valid, value, last : In
        An element of a series; it is the last.
    joined, total, joined_last : Out
        An element of the series of sums: A cycles after the newer element.
    overflow : Out(1)
        A sum overflows in this cycle.
    """

    def __init__(self, value: ValueType) -> None:
        self.value_type = value
        shape = word(value)
        super().__init__(
            {
                "valid": In(1),
                "last": In(1),
                "value": In(shape),
                "joined": Out(1),
                "joined_last": Out(1),
                "total": Out(shape),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the register of an element that waits for its neighbour."""
        m = Module()
        value = self.value_type
        waiting, joins = Signal(), Signal()
        older = Signal(word(value), reset_less=True)
        m.submodules.adder = adder = FloatAdder(value, value.adder)
        m.d.comb += [
            joins.eq(self.valid & (waiting | self.last)),
            adder.a.eq(Mux(waiting, older, self.value)),
            adder.b.eq(Mux(waiting, self.value, negative_zero(value))),
        ]
        with m.If(self.valid):
            m.d.sync += [older.eq(self.value), waiting.eq(~joins)]
        joined = delay(m, joins, value.adder - 1, reset_less=False)
        m.d.comb += self.overflow.eq(joined & adder.overflow)
        m.d.sync += [
            self.joined.eq(joined),
            self.joined_last.eq(delay(m, self.last, value.adder - 1)),
            self.total.eq(adder.result),
        ]
        return m
