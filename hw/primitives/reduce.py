"""reduce: folds every innermost fiber to one value."""

from collections.abc import Mapping
from typing import Any

from amaranth import Const, Module, Mux, Signal, Value
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
    """A running fold, or the lanes of a floating-point sum; only a fiber's end needs room."""

    def ports(self) -> Mapping[str, Any]:
        """Return the overflow flag."""
        return {"overflow": Out(1)}

    def elaborate(self, platform: object) -> Module:
        """Build the firing rule, the fold, and what goes along with it."""
        m = Module()
        head, out = self.r_val, self.w_out
        token, latency = head.token, self.unit.unit.latency
        fire, payload, closing, deep = Signal(), Signal(), Signal(), Signal()
        ending = Signal(data.StructLayout({name: out.token[name].shape() for name in _BESIDE}))
        m.d.comb += [
            payload.eq(token.empty == 0),
            closing.eq(token.close != 0),
            deep.eq(token.empty > 1),
            fire.eq(head.valid & (~closing | out.room)),
            head.pop.eq(fire),
            ending.empty.eq(Mux(deep, token.empty - 1, 0)),
            ending.close.eq(token.close - 1),
            out.issue.eq(fire & closing),
            out.push.eq(delay(m, out.issue, latency - 1, reset_less=False)),
        ]
        ended = delay(m, ending, latency - 1)
        m.d.comb += [out.token[name].eq(ended[name]) for name in _BESIDE]
        if self.widths.value.lanes > 1 and self.params["op"] == "sum":
            self._lanes(m, fire & payload, fire & closing, payload)
        else:
            self._run(m, fire, payload, closing)
        return m

    def _addend(self) -> Value:
        """Return the payload in the type of the sum."""
        value = self.r_val.token.data.val
        narrow = self.read_types["val"].fields[0].kind is Kind.VAL
        return widened(value, self.widths.value) if narrow else value

    def _result(self) -> ValueType:
        """Return the type of a sum that leaves."""
        value = self.widths.value
        return value.wide if self.params["wide"] else value

    def _run(self, m: Module, fire: Signal, payload: Signal, closing: Signal) -> None:
        """Fold in one cycle."""
        value, op, out = self.widths.value, self.params["op"], self.w_out
        sums = op == "sum"
        stored = value.wide if sums else value
        identity = Const(stored.encode(stored.identity(op)), word(stored))
        m.submodules.operation = fold = operation("add" if sums else op, stored, 1)
        total = Signal(word(stored), init=identity.value)
        after = Signal(word(stored))
        m.d.comb += [
            fold.a.eq(total),
            fold.b.eq(self._addend() if sums else self.r_val.token.data.val),
            after.eq(Mux(payload, fold.result, total)),
        ]
        with m.If(fire):
            m.d.sync += total.eq(Mux(closing, identity, after))
        result, lost = narrowed(m, after, self._result()) if sums else (after, Const(0, 1))
        m.d.comb += [
            out.token.data.val.eq(result),
            self.overflow.eq(fire & ((payload & fold.overflow) | (closing & lost))),
        ]

    def _lanes(self, m: Module, valid: Value, close: Value, payload: Value) -> None:
        """Sum in lanes; the last cycle of the latency rounds the total."""
        value, out = self.widths.value, self.w_out
        m.submodules.lanes = lanes = Lanes(value.wide, value.lanes)
        result, lost = narrowed(m, lanes.total, self._result())
        some = delay(m, payload, self.unit.unit.latency - 1)
        m.d.comb += [
            lanes.valid.eq(valid),
            lanes.value.eq(self._addend()),
            lanes.close.eq(close),
            out.token.data.val.eq(Mux(some, result, 0)),
            self.overflow.eq(lanes.overflow | (out.push & some & lost)),
        ]


_BESIDE = ("empty", "close")

COMPONENTS = {"": Reduce}
