"""reduce: folds every innermost fiber to one value."""

from collections.abc import Mapping
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import Out

from fuseflow.samml.streams import Kind
from fuseflow.samml.values import ValueType
from hw.arithmetic import operation
from hw.lanes import Lanes
from hw.layout import word
from hw.narrow import narrowed, widened
from hw.pipeline import delay
from hw.unit import UnitComponent


class Reduce(UnitComponent):
    """A running fold, or the lanes of a floating-point sum; only a fiber's end needs room.

    Products of two inputs come to the fold a multiplier's latency after the firing.
    """

    def ports(self) -> Mapping[str, Any]:
        """Return the overflow flag."""
        return {"overflow": Out(1)}

    def elaborate(self, platform: object) -> Module:
        """Build the firing rule, the fold, and what goes along with it."""
        m = Module()
        heads, out = [getattr(self, f"r_{port}") for port in self.read_types], self.w_out
        token, latency = heads[0].token, self.unit.unit.latency
        fire, payload, closing, deep = Signal(), Signal(), Signal(), Signal()
        ending = Signal(data.StructLayout({name: out.token[name].shape() for name in _BESIDE}))
        m.d.comb += [
            payload.eq(token.empty == 0),
            closing.eq(token.close != 0),
            deep.eq(token.empty > 1),
            fire.eq(Cat(head.valid for head in heads).all() & (~closing | out.room)),
            *(head.pop.eq(fire) for head in heads),
            ending.empty.eq(Mux(deep, token.empty - 1, 0)),
            ending.close.eq(token.close - 1),
            out.issue.eq(fire & closing),
            out.push.eq(delay(m, out.issue, latency - 1, reset_less=False)),
        ]
        ended = delay(m, ending, latency - 1)
        m.d.comb += [out.token[name].eq(ended[name]) for name in _BESIDE]
        before = self.widths.value.multiplier if self.params["multiply"] else 0
        taken = delay(m, fire, before, reset_less=False)
        payload, closing = delay(m, payload, before), delay(m, closing, before)
        if self.widths.value.lanes > 1 and self._sums:
            self._lanes(m, taken, payload, closing, latency - before)
        else:
            self._run(m, taken, payload, closing)
        return m

    @property
    def _sums(self) -> bool:
        return self.params["op"] == "sum"

    def _addend(self, m: Module) -> tuple[Value, Value]:
        """Return what is folded, in the type of the fold, and whether a product overflowed."""
        value = self.widths.value
        if self.params["multiply"]:
            product = operation("mul", value, value.multiplier, wide=self._sums)
            m.submodules.multiplier = product
            m.d.comb += [product.a.eq(self.r_a.token.data.a), product.b.eq(self.r_b.token.data.b)]
            return delay(m, product.result, 1), delay(m, product.overflow, 1)
        val = self.r_val.token.data.val
        narrow = self.read_types["val"].fields[0].kind is Kind.VAL
        return widened(val, value) if narrow and self._sums else val, Const(0, 1)

    def _result(self) -> ValueType:
        """Return the type of a sum that leaves."""
        value = self.widths.value
        return value.wide if self.params["wide"] else value

    def _run(self, m: Module, taken: Signal, payload: Signal, closing: Signal) -> None:
        """Fold in one cycle."""
        value, op, out = self.widths.value, self.params["op"], self.w_out
        stored = value.wide if self._sums else value
        identity = Const(stored.encode(stored.identity(op)), word(stored))
        m.submodules.operation = fold = operation("add" if self._sums else op, stored, 1)
        total = Signal(word(stored), init=identity.value)
        after = Signal(word(stored))
        addend, wrong = self._addend(m)
        m.d.comb += [
            fold.a.eq(total),
            fold.b.eq(addend),
            after.eq(Mux(payload, fold.result, total)),
        ]
        with m.If(taken):
            m.d.sync += total.eq(Mux(closing, identity, after))
        result, lost = narrowed(m, after, self._result()) if self._sums else (after, Const(0, 1))
        m.d.comb += [
            out.token.data.val.eq(result),
            self.overflow.eq(taken & ((payload & (fold.overflow | wrong)) | (closing & lost))),
        ]

    def _lanes(
        self, m: Module, taken: Signal, payload: Signal, closing: Signal, latency: int
    ) -> None:
        """Sum in lanes; the last cycle of the latency rounds the total."""
        value, out = self.widths.value, self.w_out
        m.submodules.lanes = lanes = Lanes(value.wide, value.lanes)
        result, lost = narrowed(m, lanes.total, self._result())
        some = delay(m, payload, latency - 1)
        addend, wrong = self._addend(m)
        m.d.comb += [
            lanes.valid.eq(taken & payload),
            lanes.value.eq(addend),
            lanes.close.eq(taken & closing),
            out.token.data.val.eq(Mux(some, result, 0)),
            self.overflow.eq(lanes.overflow | (taken & payload & wrong) | (out.push & some & lost)),
        ]


_BESIDE = ("empty", "close")

COMPONENTS = {"": Reduce}
