"""Faults that the bench must catch: each is one edit of a source file (DESIGN section 7).

A mutant lives in copies of ordinary setups whose parts are loaded from the edited text, so that
all of them, and untouched controls beside them, stand in one Verilog top.
"""

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

from amaranth import Module

from fuseflow.samml.graph import Extent, Graph, ParamValue
from fuseflow.samml.units import UnitGraph, flatten
from fuseflow.samml.values import INT32, ValueType
from gen.tile import Maker, Tile
from hw.edge import Edge
from hw.unit import fork
from verif.primitives import FUNCTIONS, SETUPS, Setup, bench_graph, sink_name


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Attributes
    ----------
    name : str
    module : str
        What is edited.
    old, new : str
        The edit; `old` must occur exactly once.
    setups : tuple of str
        Setups that must show the fault, each by itself.
    """

    name: str
    module: str
    old: str
    new: str
    setups: tuple[str, ...]

    def source(self) -> str:
        """Return the edited text."""
        spec = importlib.util.find_spec(self.module)
        assert spec is not None
        assert isinstance(spec.loader, InspectLoader)
        text = spec.loader.get_source(self.module) or ""
        count = text.count(self.old)
        assert count == 1, f"mutant {self.name}: `{self.old}` occurs {count} times in {self.module}"
        return text.replace(self.old, self.new)


_SINGLY = """
    from amaranth import Cat, Mux, Signal

    late = Signal(len(edges))
    rooms = Cat(edge.w.room for edge, _, _ in edges)
    m.d.comb += writer.room.eq(rooms.any() & ~late.any())
    for k, (edge, names, taken) in enumerate(edges):
        fresh = Signal(edge.w.token.shape(), name=f"fresh{k}")
        kept = Signal(edge.w.token.shape(), name=f"kept{k}")
        owed = late[k] | writer.issue
        m.d.sync += late[k].eq(owed & ~edge.w.room)
        with m.If(writer.issue):
            m.d.sync += kept.eq(fresh)
        m.d.comb += [
            edge.w.issue.eq(owed & edge.w.room),
            edge.w.push.eq(owed & edge.w.room),
            edge.w.token.eq(Mux(late[k], kept, fresh)),
            fresh.close.eq(writer.token.close),
            fresh.empty.eq(writer.token.empty),
        ]
        for name, source in zip(names, taken, strict=True):
            m.d.comb += fresh.data[name].eq(writer.token.data[source])
"""
"""A fork that fires once one reader has room, and still owes the token to the others."""

MUTANTS = (
    Mutant(
        "joiner_loses_close", "hw.primitives.intersect",
        "insert.eq(match | (step.ends & ~holder.incomplete))", "insert.eq(match)",
        ("intersect",),
    ),
    Mutant(
        "filter_loses_close", "hw.filter",
        "insert.eq(~self.drop | (ends & ~holder.incomplete))", "insert.eq(~self.drop)",
        ("drop_value", "drop_empty"),
    ),
    Mutant(
        "left_less", "hw.step",
        "left.data.crd <= right.data.crd", "left.data.crd < right.data.crd", ("union",),
    ),
    Mutant(
        "right_less", "hw.step",
        "right.data.crd <= left.data.crd", "right.data.crd < left.data.crd", ("union",),
    ),
    Mutant(
        "ref_popped_at_2", "hw.primitives.repeat",
        "signal.token.close != 0", "signal.token.close > 1", ("repeat",),
    ),
    Mutant(
        "scan_dense_empty", "hw.primitives.scan_dense",
        "head.token.empty + 1", "head.token.empty", ("scan_dense",),
    ),
    Mutant(
        "scan_compressed_empty", "hw.primitives.scan_compressed",
        "head.token.empty + 1", "head.token.empty", ("scan_compressed",),
    ),
    Mutant(
        "reduce_empty", "hw.primitives.reduce",
        "Mux(deep, token.empty - 1, 0)", "Mux(deep, token.empty, 0)", ("reduce",),
    ),
    Mutant(
        "reduce_takes_deep_for_empty", "hw.primitives.reduce",
        "deep.eq(token.empty > 1)", "deep.eq(token.empty > 2)", ("reduce",),
    ),
    Mutant(
        "fork_asks_any", "hw.unit",
        "room = room & edge.w.room", "room = room | edge.w.room", ("drop_empty",),
    ),
    Mutant(
        "fork_writes_singly", "hw.unit",
        """
    room: Value = edges[0][0].w.room if edges else Const(1)
    for edge, _, _ in edges[1:]:
        room = room & edge.w.room
    m.d.comb += writer.room.eq(room)
    for edge, names, taken in edges:
        m.d.comb += [
            edge.w.issue.eq(writer.issue),
            edge.w.push.eq(writer.push),
            edge.w.token.close.eq(writer.token.close),
            edge.w.token.empty.eq(writer.token.empty),
        ]
        for name, source in zip(names, taken, strict=True):
            m.d.comb += edge.w.token.data[name].eq(writer.token.data[source])
""",
        _SINGLY, ("drop_empty",),
    ),
    # Where the latency is 1, filled and reserved are equal.
    Mutant(
        "room_by_filled", "hw.edge",
        "reserved != depth, filled != 0", "filled != depth, filled != 0", ("array",),
    ),
    Mutant(
        "reduce_waits_inside", "hw.primitives.reduce",
        ".all() & (~closing | out.room)", ".all() & out.room", ("reduce", "reduce_products"),
    ),
    Mutant(
        "relu_of_an_operand", "hw.fused",
        "Mux(inner.result[-1], 0, inner.result)", "Mux(inner.a[-1], 0, inner.result)",
        ("add_relu", "min_relu"),
    ),
    Mutant(
        "affine_adds_early", "hw.fused",
        "delay(m, product.result, 1)", "product.result", ("affine",),
    ),
    Mutant(
        "product_comes_early", "hw.primitives.reduce",
        "return delay(m, product.result, 1)", "return product.result", ("reduce_products",),
    ),
    Mutant(
        "fold_ends_before_its_products", "hw.primitives.reduce",
        "delay(m, closing, before)", "closing", ("reduce_products",),
    ),
    # Popped with the other side's last token: no step and no output differs, only the pop.
    Mutant(
        "left_empty_popped_late", "hw.step",
        "(left.empty != 0) | self.left_has",
        "((left.empty != 0) & (right_infinite | (right.close != 0))) | self.left_has",
        ("intersect",),
    ),
    Mutant(
        "right_empty_popped_late", "hw.step",
        "(right.empty != 0) | self.right_has",
        "((right.empty != 0) & (left_infinite | (left.close != 0))) | self.right_has",
        ("union",),
    ),
    # The step still sees the complete element that leaves in this cycle.
    Mutant(
        "step_before_emit", "hw.holder",
        "self.insertable.eq(~held | self.w.room)",
        "self.insertable.eq(~held | (self.w.room & ~complete))",
        ("intersect", "drop_value"),
    ),
    # An element leaves in the cycle that completes it.
    Mutant(
        "emit_sees_step", "hw.holder",
        """
            leave.eq(held & self.w.room & (complete | self.insert)),
            self.w.issue.eq(leave),
            self.w.push.eq(leave),
            self.w.token.eq(kept),
        ]
""",
        """
            leave.eq(held & self.w.room & (complete | self.insert | self.finish)),
            self.w.issue.eq(leave),
            self.w.push.eq(leave),
            self.w.token.eq(kept),
        ]
        with m.If(self.finish & ~complete):
            m.d.comb += self.w.token.close.eq(self.close)
""",
        ("intersect",),
    ),
    Mutant(
        "hazard_ignored", "hw.primitives.accumulate",
        "& ~(adds & self._hazard(m, fire & adds, fire & ends))", "", ("accumulate_slow",),
    ),
    Mutant(
        "stale_touched", "hw.banks",
        "word.eq(Mux(top, seen, 0))", "word.eq(seen)", ("accumulate_slow",),
    ),
    Mutant(
        "top_not_cleared", "hw.bank",
        "m.d.sync += tops.eq(self.others)", "m.d.sync += tops.eq(tops)", ("accumulate_slow",),
    ),
    Mutant(
        "stale_word_when_dense", "hw.banks",
        "with m.If(~choice.tops.bit_select(choice.number, 1)):", "with m.If(choice.copied):",
        ("accumulate_dense",),
    ),
    Mutant(
        "one_bank_fewer", "hw.banks",
        "self.fill.free.eq(taken != self.count)", "self.fill.free.eq(taken != self.count - 1)",
        ("accumulate_slow",),
    ),
    Mutant(
        "joiner_holds_survivors", "hw.primitives.intersect",
        "holder.complete.eq(step.ends)", "holder.complete.eq(step.ends & ~match)",
        ("intersect",),
    ),
    Mutant(
        "filter_holds_survivors", "hw.filter",
        "holder.complete.eq(token.close != self.height)",
        "holder.complete.eq(self.drop)", ("drop_value",),
    ),
    # Only what lies inside the fiber of a survivor is held too: no value differs.
    Mutant(
        "filter_holds_insides", "hw.filter",
        "token.close != self.height", "token.close > self.height", ("drop_empty",),
    ),
    Mutant(
        "no_seg_of_empty_fiber", "hw.primitives.write_crd",
        "(token.empty <= 1)", "(token.empty == 0)", ("write_crd",),
    ),
)  # fmt: skip


FLOAT_MUTANTS = (
    # The newest sum goes first; of an odd number, another one passes.
    Mutant(
        "lane_order_reversed", "hw.lanes",
        "place.eq(end.slot - before)", "place.eq(end.slot + 1 + before - end.count)", ("reduce",),
    ),
    # The newest sum goes before the oldest, so every pair is another one.
    Mutant(
        "pair_order", "hw.lanes",
        "place.eq(end.slot - before)",
        "place.eq(end.slot - Mux(before + 1 == end.count, 0, before + 1))", ("reduce",),
    ),
    Mutant(
        "one_lane_fewer", "hw.lanes", "old.addr.eq(slot)", "old.addr.eq(slot + 1)", ("reduce",),
    ),
    Mutant(
        "first_of_a_lane_added_to_plus_zero", "hw.lanes",
        "Mux(count == lanes, old.data, negative_zero(value))", "Mux(count == lanes, old.data, 0)",
        ("reduce",),
    ),
    Mutant(
        "odd_one_added_to_plus_zero", "hw.lanes",
        "Mux(waiting, self.value, negative_zero(value))", "Mux(waiting, self.value, 0)",
        ("reduce",),
    ),
    Mutant(
        "first_payload_added_to_plus_zero", "hw.fold",
        "return negative_zero(self.stored).value", "return 0", ("accumulate",),
    ),
    Mutant(
        "untouched_is_minus_zero", "hw.banks",
        "Const(self.fold.untouched, self.shape)", "Const(self.fold.identity, self.shape)",
        ("accumulate_dense",),
    ),
    Mutant(
        "sticky_bit_dropped", "hw.float_adder", "moved[0] | lost", "moved[0]",
        ("add", "reduce", "accumulate"),
    ),
    Mutant(
        "half_rounds_up", "hw.floating",
        "half & (significand[: below - 1].any() | significand[below])", "half", ("add", "mul"),
    ),
    Mutant(
        "remainder_forgotten", "hw.digits",
        'Cat(parts["remainder"].any(), parts["found"])', 'Cat(Const(0, 1), parts["found"])',
        ("div", "sqrt"),
    ),
    Mutant(
        "root_of_an_even_exponent", "hw.digits", "odd = ~a.exponent[0]", "odd = a.exponent[0]",
        ("sqrt",),
    ),
    Mutant(
        "zero_divisor_is_finite", "hw.digits",
        "a.special | b.nan | b.zero", "a.special | b.nan", ("div",),
    ),
    Mutant(
        "halves_swapped", "hw.tabulated",
        '"low": found * low, "high": found * high', '"low": found * high, "high": found * low',
        ("exp", "log", "tanh"),
    ),
    Mutant(
        "polynomial_of_the_next_segment", "hw.tabulated",
        'parts["index"], column', 'parts["index"] ^ 1, column', ("rsqrt", "sigmoid"),
    ),
    Mutant(
        "tail_for_both_signs", "hw.tabulated",
        'Mux(parts["sign"], tail, (1 << places) - moved)', "tail", ("sigmoid", "gelu"),
    ),
    Mutant(
        "log_of_large_significands", "hw.tabulated",
        "exponent + large", "exponent", ("log",),
    ),
    Mutant(
        "steep_tangent_scaled", "hw.tabulated",
        "Mux(steep, 1 << spec.fraction, significand)", "significand", ("tanh",),
    ),
    Mutant(
        "hazard_ignored_by_sums", "hw.primitives.accumulate",
        "& ~(adds & self._hazard(m, fire & adds, fire & ends))", "", ("accumulate",),
    ),
    Mutant(
        "hazard_one_cycle_short", "hw.primitives.accumulate",
        "range(1, self.fold.latency)", "range(1, self.fold.latency - 1)", ("accumulate",),
    ),
)  # fmt: skip
"""Faults of floating-point arithmetic and of the order of its sums."""


@dataclass(frozen=True)
class Copy:
    """A setup under a name of its own, with or without a fault; `of` is the setup's first name."""

    setup: Setup
    of: str
    mutant: Mutant | None


def copies(mutants: Sequence[Mutant] = MUTANTS) -> tuple[Copy, ...]:
    """Return one copy per mutant and setup, and one control per setup."""
    plain = {setup.name: setup for setup in (*SETUPS, *FUNCTIONS)}
    used = dict.fromkeys(name for mutant in mutants for name in mutant.setups)
    pairs = [(None, name) for name in used]
    pairs += [(mutant, name) for mutant in mutants for name in mutant.setups]
    return tuple(
        Copy(_renamed(plain[name], f"{mutant.name if mutant else 'control'}_in_{name}"),
             name, mutant)
        for mutant, name in pairs
    )  # fmt: skip


def _renamed(setup: Setup, name: str) -> Setup:
    """Return a setup under another name; its tensor goes with it."""

    def rename(key: str, value: ParamValue) -> Any:
        match value:
            case Extent():
                return Extent(name, value.mode)
            case tuple():
                return tuple(rename(key, item) for item in value)
            case _:
                return name if key == "tensor" else value

    params = {key: rename(key, value) for key, value in setup.params.items()}
    return replace(setup, name=name, params=params)


# --- from edited text to components -----------------------------------------------------


class _Edited(MetaPathFinder, InspectLoader):
    """Finds one module in an edited text."""

    def __init__(self, module: str, text: str) -> None:
        self._module = module
        self._text = text

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname == self._module else None

    def get_source(self, fullname: str) -> str:
        return self._text


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """Import the hardware anew, with a fault, for as long as the context lasts."""
    finder = _Edited(mutant.module, mutant.source())
    before = {name: sys.modules.pop(name) for name in _hardware()}
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in _hardware():
            del sys.modules[name]
        sys.modules.update(before)


def _hardware() -> list[str]:
    return [name for name in sys.modules if name == "hw" or name.startswith("hw.")]


class MutantTile:
    """Makes the tile of some copies, every part from its copy's own source.

    Parameters
    ----------
    copies : sequence of Copy
    value : ValueType

    Attributes
    ----------
    graph : Graph
    owners : list of str
        By edge, the copy that reads or fills it; empty for a helper's.
    """

    def __init__(self, copies: Sequence[Copy], value: ValueType = INT32) -> None:
        self.graph: Graph = bench_graph([copy.setup for copy in copies], "mutants", value)
        self._units = flatten(self.graph)
        self.owners = _owners(self._units, copies)
        self._components: dict[str, Maker] = {}
        self._edges: dict[str, Any] = {}
        self._forks: dict[str, Any] = {}
        for copy in copies:
            if copy.mutant is not None:
                self._load(copy.setup, copy.mutant)

    def _load(self, setup: Setup, mutant: Mutant) -> None:
        with applied(mutant):
            module = import_module(f"hw.primitives.{setup.primitive}")
            self._edges[setup.name] = import_module("hw.edge").Edge
            self._forks[setup.name] = import_module("hw.unit").fork
        for unit in self._units.units:
            if unit.node.name == setup.name:
                self._components[unit.name] = module.COMPONENTS[unit.kind.partition(".")[2]]
        if hasattr(module, "shared"):
            self._components[setup.name] = module.shared

    def make(self) -> Tile:
        """Return the tile."""
        owners = iter(self.owners)
        built: dict[int, str] = {}

        def make_edge(layout: Any, depth: int, *, gated: bool) -> Edge:
            owner = next(owners)
            edge = self._edges.get(owner, Edge)(layout, depth, gated=gated)
            built[id(edge)] = owner
            return edge

        def join(m: Module, writer: Any, edges: Any) -> None:
            owner = built[id(edges[0][0])] if edges else ""
            self._forks.get(owner, fork)(m, writer, edges)

        return Tile(self.graph, gated=True, components=self._components, edge=make_edge, join=join)


def _owners(units: UnitGraph, copies: Sequence[Copy]) -> list[str]:
    owner = {copy.setup.name: copy.setup.name for copy in copies}
    owner |= {
        sink_name(copy.setup, port): copy.setup.name
        for copy in copies
        for port in copy.setup.drains
    }
    return [owner.get(units.units[edge.reader].node.name, "") for edge in units.edges]
