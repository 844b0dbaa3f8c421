"""The adder or comparator behind the folds of an accumulator."""

from dataclasses import dataclass

from amaranth import Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fuseflow.samml.values import ValueType
from hw.arithmetic import operation
from hw.component import Component
from hw.floating import negative_zero
from hw.layout import word
from hw.pipeline import delay


@dataclass(frozen=True)
class FoldType:
    """What an accumulator does with the payloads at one coordinate.

    Attributes
    ----------
    op : str
        ``sum``, ``max`` or ``min``.
    value : ValueType
        Type of the payloads.
    latency : int
        Cycles that the fold of one payload takes.
    """

    op: str
    value: ValueType
    latency: int

    @property
    def stored(self) -> ValueType:
        """Type of what the banks hold."""
        return self.value.wide if self.op == "sum" else self.value

    @property
    def identity(self) -> int:
        """The word that the first payload at a coordinate is folded with."""
        if self.op == "sum" and self.value.is_float:
            # x + -0 is x, whereas -0 + +0 would be +0.
            return negative_zero(self.stored).value
        return self.stored.encode(self.stored.identity(self.op))

    @property
    def untouched(self) -> int:
        """The word of a coordinate without a payload."""
        return self.stored.encode(self.stored.identity(self.op))


class Fold(Component):
    """Folds a value into an old one; what comes in in cycle t leaves in t + latency - 1.

    Parameters
    ----------
    place : data.StructLayout
        Layout of where the result goes.
    fold : FoldType

    Attributes
    ----------
    valid, place, old, value : In
    done, done_place, total : Out
    overflow : Out(1)
        A sum that counts overflows in this cycle.
    """

    def __init__(self, place: data.StructLayout, fold: FoldType) -> None:
        self.fold = fold
        shape = word(fold.stored)
        super().__init__(
            {
                "valid": In(1),
                "place": In(place),
                "old": In(shape),
                "value": In(shape),
                "done": Out(1),
                "done_place": Out(place),
                "total": Out(shape),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the operation, and what goes along with it."""
        m = Module()
        fold = self.fold
        op = "add" if fold.op == "sum" else fold.op
        m.submodules.operation = folded = operation(op, fold.stored, fold.latency)
        m.d.comb += [
            folded.a.eq(self.old),
            folded.b.eq(self.value),
            self.done.eq(delay(m, self.valid, fold.latency - 1, reset_less=False)),
            self.done_place.eq(delay(m, self.place, fold.latency - 1)),
            self.total.eq(folded.result),
            self.overflow.eq(self.done & folded.overflow),
        ]
        return m
