"""accumulate: folds an outer level while keeping one or two inner levels."""

from collections.abc import Mapping
from typing import Any, cast

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fuseflow.samml.catalog import fold_latency
from fuseflow.samml.graph import Graph, Node
from fuseflow.samml.streams import Kind
from fuseflow.samml.units import UnitGraph
from hw.banks import Banks, EmitPort, FillPort
from hw.bits import any_of
from hw.fold import FoldType
from hw.geometry import Geometry
from hw.layout import Widths, word
from hw.narrow import narrowed, widened
from hw.unit import UnitComponent


def shared(node: Node, units: UnitGraph, widths: Widths) -> Banks:
    """Build the banks that the fill and emit units of a node share."""
    params = cast(Mapping[str, Any], node.params)
    graph = units.graph
    return Banks(
        Geometry.of(params, graph),
        params["banks"],
        fold_type(params, graph),
        widths.crd,
        dense=params["mode"] == "dense",
    )


def fold_type(params: Mapping[str, Any], graph: Graph) -> FoldType:
    """Return what a node does with the payloads at one coordinate."""
    return FoldType(params["op"], graph.value, fold_latency(params, graph.value))


class _Part(UnitComponent):
    """What both units have in common."""

    @property
    def kept(self) -> int:
        """Levels that are kept."""
        return self.params["kept"]

    @property
    def fold(self) -> FoldType:
        """What is done with the payloads at one coordinate."""
        return fold_type(self.params, self.graph)

    def _later(self, m: Module, name: str, issue: Value, token: Any) -> tuple[Value, Any]:
        """Return an issue and its token when they are due to be pushed."""
        for stage in range(1, self.unit.unit.latency):
            pushing = Signal(name=f"{name}_pushing{stage}")
            later = Signal(token.shape(), name=f"{name}{stage}", reset_less=True)
            m.d.sync += [pushing.eq(issue), later.eq(token)]
            issue, token = pushing, later
        return issue, token


class Fill(_Part):
    """Folds the payloads of a row into its bank; writes one row token at the row's end.

    Two reasons make it wait beside heads: a row's first token waits for a free bank, and a payload
    until the adder has taken the row's previous one at the same coordinate.
    """

    def ports(self) -> Mapping[str, Any]:
        """Return the banks, the sizes and the flags."""
        geometry = Geometry.of(self.params, self.graph)
        return {
            "banks": Out(FillPort(geometry, word(self.fold.stored))),
            **{f"size_{k}": In(self.widths.crd) for k in range(self.kept)},
            "overflow": Out(1),
            "range_error": Out(1),
        }

    def elaborate(self, platform: object) -> Module:
        """Build the firing rule and the row pipeline."""
        m = Module()
        banks, crd, token = self.banks, self.r_crd, self.r_crd.token
        fire, payload, adds, ends = Signal(), Signal(), Signal(), Signal()
        in_row = Signal()
        m.d.comb += [
            payload.eq(token.empty == 0),
            ends.eq(token.close > self.kept),
            adds.eq(payload & self._address(m)),
            fire.eq(
                self._valid()
                & (in_row | banks.free)
                & (~ends | self.w_row.room)
                & ~(adds & self._hazard(m, fire & adds, fire & ends))
            ),
            crd.pop.eq(fire),
            self.r_val.pop.eq(fire),
            banks.begin.eq(fire & ~in_row),
            banks.end.eq(fire & ends),
            banks.copy.eq(token.empty > self.kept + 1),
            banks.add.eq(fire & adds),
            banks.value.eq(self._value()),
            self.range_error.eq(fire & payload & ~adds),
            self.overflow.eq(banks.overflow),
        ]
        if self.kept == 2:
            m.d.comb += self.r_outer.pop.eq(fire & (token.close != 0))
        with m.If(fire):
            m.d.sync += in_row.eq(~ends)
        self._row(m, fire & ends)
        return m

    def _valid(self) -> Value:
        """Whether every head is there."""
        valid = self.r_crd.valid & self.r_val.valid
        return valid & self.r_outer.valid if self.kept == 2 else valid

    def _value(self) -> Value:
        """Return the payload as the banks hold it."""
        value = self.r_val.token.data.val
        narrow = self.read_types["val"].fields[0].kind is Kind.VAL
        return widened(value, self.fold.value) if narrow and self.fold.op == "sum" else value

    def _address(self, m: Module) -> Value:
        """Drive the address of the heads' coordinates; return whether it lies in the sizes."""
        geometry = Geometry.of(self.params, self.graph)
        crd = self.r_crd.token.data.crd
        if self.kept == 1:
            m.d.comb += self.banks.address.eq(crd)
            return crd < self.size_0
        outer = self.r_outer.token.data.crd
        inner = Signal(geometry.inner_bits)
        m.d.comb += [inner.eq(crd), self.banks.address.eq(Cat(inner, outer))]
        return (outer < self.size_0) & (crd < self.size_1)

    def _hazard(self, m: Module, add: Value, end: Value) -> Value:
        """Return whether the adder still works on this row's sum at the heads' coordinate.

        Parameters
        ----------
        m : Module
        add : Value
            A payload is added in this cycle; one outside the sizes is not, and is no hazard.
        end : Value
            The row ends in this cycle.
        """
        address = self.banks.address
        busy: Value = add & ~end
        place: Value = address
        hits: list[Value] = []
        for age in range(1, self.fold.latency):
            recent = Signal(name=f"recent{age}")
            recent_address = Signal.like(address, name=f"recent_address{age}", reset_less=True)
            m.d.sync += [recent.eq(busy), recent_address.eq(place)]
            hits.append(recent & (recent_address == address))
            busy, place = recent & ~end, recent_address
        return any_of(hits)

    def _row(self, m: Module, issue: Value) -> None:
        """Issue the row's token; it is pushed latency - 1 cycles later."""
        token, row = self.r_crd.token, self.w_row
        above = self.kept + 1
        deep = token.empty > above
        layout = data.StructLayout({"empty": len(row.token.empty), "close": len(row.token.close)})
        now = Signal(layout)
        m.d.comb += [
            now.empty.eq(Mux(deep, token.empty - above, 0)),
            now.close.eq(token.close - above),
            row.issue.eq(issue),
        ]
        push, pushed = self._later(m, "row", issue, now)
        m.d.comb += [
            row.push.eq(push),
            row.token.empty.eq(pushed.empty),
            row.token.close.eq(pushed.close),
        ]


class Emit(_Part):
    """Writes the sums of a row, one a cycle; pops the row with the last and frees its bank."""

    def ports(self) -> Mapping[str, Any]:
        """Return the banks, the overflow flag and, in dense mode, the size."""
        geometry = Geometry.of(self.params, self.graph)
        dense = self.params["mode"] == "dense"
        return {
            "banks": Out(EmitPort(geometry, word(self.fold.stored), self.widths.crd)),
            "overflow": Out(1),
            **({"size_0": In(self.widths.crd)} if dense else {}),
        }

    def elaborate(self, platform: object) -> Module:
        """Build the firing rule and the output pipelines."""
        m = Module()
        row, banks, out = self.r_row, self.banks, self.w_out
        fire, roomy = Signal(), Signal()
        m.d.comb += [
            roomy.eq(out.room),
            fire.eq(row.valid & banks.ready & roomy),
            row.pop.eq(fire & banks.last),
            banks.take.eq(fire),
        ]
        if self.params["mode"] == "dense":
            m.d.comb += banks.size.eq(self.size_0)
        inner_bits = Geometry.of(self.params, self.graph).inner_bits
        close = Mux(banks.last_inner, self.kept - 1, 0)
        self._stream(m, "out", fire, banks.address[:inner_bits], self.kept, close)
        value, lost = banks.value, Const(0, 1)
        if self.fold.op == "sum":
            result = self.fold.value.wide if self.params["wide"] else self.fold.value
            value, lost = narrowed(m, value, result)
        m.d.comb += [
            out.token.data.val.eq(value),
            self.overflow.eq(out.push & (out.token.empty == 0) & lost),
        ]
        if self.kept == 2:
            outer = banks.address[inner_bits:]
            m.d.comb += roomy.eq(out.room & (~banks.last_inner | self.w_outer.room))
            self._stream(m, "outer", fire & banks.last_inner, outer, 1, 0)
        return m

    def _stream(
        self, m: Module, name: str, issue: Value, crd: Value, height: int, close: Any
    ) -> None:
        """Write a stream `height` levels below the row: pushed two cycles after the issue."""
        writer, row, banks = getattr(self, f"w_{name}"), self.r_row.token, self.banks
        layout = self.write_layout(name)
        now = Signal(layout, name=f"{name}_issued")
        m.d.comb += [
            writer.issue.eq(issue),
            now.empty.eq(Mux(banks.none, row.empty + height, 0)),
            now.close.eq(Mux(banks.last, row.close + height, close)),
            now.data.crd.eq(crd),
        ]
        push, pushed = self._later(m, name, issue, now)
        m.d.comb += [
            writer.push.eq(push),
            writer.token.empty.eq(pushed.empty),
            writer.token.close.eq(pushed.close),
            writer.token.data.crd.eq(pushed.data.crd),
        ]


COMPONENTS = {"fill": Fill, "emit": Emit}
