"""Runs a SAMML graph as RTL in Amaranth's simulator and records every cycle of every edge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from amaranth import Module, ResetInserter, Signal
from amaranth.lib import memory, wiring
from amaranth.sim import Simulator

from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.formats import Format
from fuseflow.samml.gates import Gates, open_gates
from fuseflow.samml.graph import Graph, Node, TensorDecl
from fuseflow.samml.streams import Kind
from fuseflow.samml.tokens import Token
from fuseflow.samml.units import UnitEdge, flatten
from hw.edge import Edge
from hw.layout import Widths, token_layout
from hw.primitives import component, shared
from hw.unit import fork

IDLE_CYCLES = 2


@dataclass
class EdgeTrace:
    """What happened on one edge; one entry per cycle, or per token."""

    room: list[bool] = field(default_factory=list)
    valid: list[bool] = field(default_factory=list)
    issues: list[int] = field(default_factory=list)
    pushes: list[int] = field(default_factory=list)
    pops: list[int] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)


@dataclass
class Run:
    """The record of one run: edges by name, memories after it, flags that were raised."""

    edges: dict[str, EdgeTrace]
    memories: dict[str, list[int]] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    cycles: int = 0


class Tile:
    """A minimal tile: units, edges, memories, sizes."""

    def __init__(self, graph: Graph, memories: Mapping[str, Sequence[int]] | None = None) -> None:
        self.units = flatten(graph)
        self.widths = Widths.of(graph)
        self.contents = memories or {}
        self.memories: dict[str, Any] = {}
        self.start, self.running, self.reset = Signal(), Signal(), Signal()
        self.module = m = Module()
        self.parts = {
            unit.name: component(unit, self.units, self.widths) for unit in self.units.units
        }
        self.edges = {
            edge.name: Edge(token_layout(edge.type, self.widths), edge.depth, gated=edge.gated)
            for edge in self.units.edges
        }
        for name, part in (*self.parts.items(), *self.edges.items()):
            m.submodules[name] = part
        self._connect(m)
        self._share(m)
        for name, part in self.parts.items():
            self._attach(m, name, part)
        for edge in self.edges.values():
            if edge.gated:
                m.d.comb += edge.running.eq(self.running)

    def _connect(self, m: Module) -> None:
        for unit in self.units.units:
            part = self.parts[unit.name]
            for port, number in zip(unit.unit.reads, unit.reads, strict=True):
                edge = self.edges[self.units.edges[number].name]
                wiring.connect(m, getattr(part, f"r_{port}"), edge.r)
            for stream, numbers, bundle in zip(
                unit.unit.writes, unit.writes, unit.bundles, strict=True
            ):
                edges = [self.units.edges[k] for k in numbers]
                fork(
                    m,
                    getattr(part, f"w_{stream}"),
                    [
                        (
                            self.edges[edge.name],
                            edge.type.names,
                            tuple(bundle.names[c] for c in edge.columns),
                        )
                        for edge in edges
                    ],
                )

    def _share(self, m: Module) -> None:
        for node in self.units.graph.nodes:
            node = Node(node.name, node.primitive, CATALOG[node.primitive].complete(node.params))
            common = shared(node, self.units, self.widths)
            if common is not None:
                m.submodules[f"shared_{node.name}"] = common
                for stem in ("fill", "emit"):
                    part = self.parts[f"{node.name}.{stem}"]
                    wiring.connect(m, part.banks, getattr(common, stem))

    def _attach(self, m: Module, name: str, part: Any) -> None:
        for port in part.signature.members:
            if port == "start":
                m.d.comb += part.start.eq(self.start)
            if port.startswith("mem_"):
                key = f"{name}.{port.removeprefix('mem_')}"
                interface = getattr(part, port)
                mem = memory.Memory(
                    shape=interface.data.shape(),
                    depth=1 << len(interface.addr),
                    init=self.contents.get(key, []),
                )
                m.submodules[f"mem_{key}"] = self.memories[key] = mem
                if hasattr(interface, "en"):
                    target = mem.write_port()
                    m.d.comb += [target.en.eq(interface.en), target.data.eq(interface.data)]
                else:
                    target = mem.read_port()
                    m.d.comb += interface.data.eq(target.data)
                m.d.comb += target.addr.eq(interface.addr)


def run(
    graph: Graph,
    sources: Mapping[str, Sequence[Token]],
    *,
    sizes: Mapping[str, int] | None = None,
    memories: Mapping[str, Sequence[int]] | None = None,
    gates: Gates | None = None,
    streams: int = 1,
    limit: int = 3000,
    reset_at: int | None = None,
    runs: int = 1,
) -> Run:
    """Simulate until every sink and writer has finished, and four cycles more.

    Raises
    ------
    AssertionError
        An edge is used against its rules, is not empty at the end, or the run does not end.
    """
    tile = Tile(graph, memories)
    gates = gates or open_gates(tile.units)
    result: list[Run] = []

    async def bench(ctx: Any) -> None:
        _prepare(ctx, tile, sources, sizes or {}, gates, streams)
        for _ in range(IDLE_CYCLES):
            await ctx.tick()
        if reset_at is not None:
            await _play(ctx, tile, reset_at, stop_early=True)
            ctx.set(tile.start, 0)
            ctx.set(tile.running, 0)
            ctx.set(tile.reset, 1)
            await ctx.tick()
            ctx.set(tile.reset, 0)
            for _ in range(IDLE_CYCLES):
                await ctx.tick()
        for _ in range(runs):
            result.append(await _play(ctx, tile, limit))
            ctx.set(tile.running, 0)
            for _ in range(IDLE_CYCLES):
                await ctx.tick()

    simulator = Simulator(ResetInserter(tile.reset)(tile.module))
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    first = result[0]
    assert all(again == first for again in result), "a second run differs from the first"
    return first


def _prepare(
    ctx: Any,
    tile: Tile,
    sources: Mapping[str, Sequence[Token]],
    sizes: Mapping[str, int],
    gates: Gates,
    streams: int,
) -> None:
    for name, part in tile.parts.items():
        for port, size in sizes.items():
            if hasattr(part, port):
                ctx.set(getattr(part, port), size)
        if hasattr(part, "streams"):
            ctx.set(part.streams, streams)
        if name in sources:
            ctx.set(part.count, len(sources[name]))
            layout = part.mem.shape
            for k, token in enumerate(sources[name]):
                ctx.set(part.mem.data[k], pack(layout, part.write_types["out"], token))
    for edge, room, head in zip(tile.edges.values(), gates.room, gates.head, strict=True):
        if edge.gated:
            ctx.set(edge.room_pattern, room)
            ctx.set(edge.head_pattern, head)


async def _play(ctx: Any, tile: Tile, limit: int, *, stop_early: bool = False) -> Run:
    record = Run({name: EdgeTrace() for name in tile.edges})
    types = {edge.name: edge for edge in tile.units.edges}
    enders = [part for part in tile.parts.values() if hasattr(part, "finished")]
    pending = set(range(len(enders)))
    ctx.set(tile.running, 1)
    left = 4
    cycle = 0
    while left:
        ctx.set(tile.start, cycle == 0)
        for name, edge in tile.edges.items():
            _sample(ctx, types[name], edge, record.edges[name], cycle)
        for name, part in tile.parts.items():
            for flag in ("overflow", "range_error", "overrun"):
                if hasattr(part, flag) and ctx.get(getattr(part, flag)):
                    record.flags.add(f"{name}.{flag}")
        pending -= {k for k in pending if ctx.get(enders[k].finished)}
        if not pending:
            record.cycles = record.cycles or cycle + 1
            left -= 1
        cycle += 1
        if stop_early and cycle == limit:
            return record
        assert cycle < limit, "the run does not end"
        await ctx.tick()
    for name, trace in record.edges.items():
        assert len(trace.issues) == len(trace.pushes) == len(trace.pops), f"{name} is not empty"
    for name, mem in tile.memories.items():
        record.memories[name] = [ctx.get(mem.data[k]) for k in range(mem.depth)]
    for name, part in tile.parts.items():
        if "overrun" in part.signature.members:
            record.counts[name] = ctx.get(part.count)
    return record


def _sample(ctx: Any, unit_edge: UnitEdge, edge: Edge, trace: EdgeTrace, cycle: int) -> None:
    name = unit_edge.name
    room, valid = bool(ctx.get(edge.w.room)), bool(ctx.get(edge.r.valid))
    trace.room.append(room)
    trace.valid.append(valid)
    if ctx.get(edge.w.issue):
        assert room, f"{name}: issue without room in cycle {cycle}"
        trace.issues.append(cycle)
    if ctx.get(edge.w.push):
        trace.pushes.append(cycle)
        issued = trace.issues[len(trace.pushes) - 1]
        assert cycle == issued + unit_edge.latency - 1, f"{name}: push at the wrong cycle"
    if ctx.get(edge.r.pop):
        assert valid, f"{name}: pop without a head in cycle {cycle}"
        trace.pops.append(cycle)
        trace.tokens.append(unpack(ctx.get(edge.r.token), unit_edge.type))


def pack(layout: Any, stream: Any, token: Token) -> dict[str, Any]:
    """Turn a token into an initial value of its layout."""
    payload: dict[str, Any] = {}
    if token.empty == 0:
        values = token.payload if isinstance(token.payload, tuple) else (token.payload,)
        for one, value in zip(stream.fields, values, strict=True):
            if one.kind is Kind.REF:
                value = {"addr": value or 0, "null": value is None}
            payload[one.name] = value
    words: dict[str, Any] = {"close": token.close, "empty": token.empty}
    return {**words, "data": payload} if stream.fields else words


def unpack(bits: Any, stream: Any) -> Token:
    """Turn the simulator's view of a token into a token; its payload is always a tuple."""
    empty, close = bits["empty"], bits["close"]
    if empty:
        return Token(None, empty, close)
    values = []
    for one in stream.fields:
        value = bits["data"][one.name]
        if one.kind is Kind.REF:
            value = None if value["null"] else value["addr"]
        values.append(value)
    return Token(tuple(values), 0, close)


def tensor(name: str, dims: tuple[int, ...], form: str = "", **more: Any) -> TensorDecl:
    """Declare an input tensor, dense in every mode unless a format is given."""
    positions = more.pop("positions", None) or dims
    return TensorDecl(
        name, more.pop("role", "input"), Format.parse(form or "d" * len(dims) or "scalar"), dims,
        positions, **more,
    )  # fmt: skip


def graph_of(*nodes: Node, tensors: Sequence[TensorDecl] = ()) -> Graph:
    """Make a graph with capacities of 64 for i, j, k, l, and for refs where no tensor is given."""
    tensors = tensors or [tensor("T", (64,))]
    return Graph("g", indices=dict.fromkeys("ijkl", 64), tensors=tuple(tensors), nodes=nodes)
