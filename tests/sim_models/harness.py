"""Small graphs of sources, one primitive and sinks, and what must hold of every run."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.check import infer
from fuseflow.samml.digest import DIGEST_START, MASK, step
from fuseflow.samml.formats import Format
from fuseflow.samml.gates import HEAD_PERIOD, ROOM_PERIOD, Gates, random_gates
from fuseflow.samml.graph import Connection, Graph, Node, TensorDecl
from fuseflow.samml.image import TensorImage
from fuseflow.samml.streams import Kind, StreamType
from fuseflow.samml.tokens import Nested, Token, encode, project
from fuseflow.samml.units import UnitGraph, flatten
from fuseflow.samml.values import INT32, ValueType
from sim_models.cycle.result import CycleResult
from sim_models.cycle.simulate import simulate
from sim_models.golden import GoldenResult, evaluate

LEVELS = ("i", "j", "k", "l", "m", "n")
CAPACITY = 1 << 12


@dataclass(frozen=True)
class Port:
    """What a bench plays into one input: fields as name/kind, rank, and the streams."""

    fields: tuple[str, ...]
    rank: int
    streams: Sequence[Nested]


@dataclass(frozen=True)
class Bench:
    """A graph with everything it needs to run."""

    graph: Graph
    streams: dict[str, Sequence[Nested]] = field(default_factory=dict)
    images: dict[str, TensorImage] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def flat(self) -> UnitGraph:
        return flatten(self.graph)

    def golden(self) -> GoldenResult:
        return evaluate(self.graph, self.images, self.shapes, self.streams)

    def run(self, gates: Gates | None = None, **options: Any) -> CycleResult:
        options = {"trace": True} | options
        return simulate(
            self.flat(), self.images, self.shapes, gates=gates, streams=self.streams, **options
        )


def size_tensor(name: str, *sizes: int) -> tuple[TensorDecl, TensorImage]:
    """Return a dense tensor that only gives run-time sizes."""
    rank = len(sizes)
    declared = TensorDecl(
        name, "input", Format.parse("d" * rank), (CAPACITY,) * rank, (CAPACITY,) * rank
    )
    return declared, TensorImage(tuple(sizes), (None,) * rank, (None,) * rank, ())


def bench(
    primitive: str,
    params: Mapping[str, Any],
    ports: Mapping[str, Port],
    tensors: Sequence[tuple[TensorDecl, TensorImage]] = (),
    depth: int | None = None,
    value: ValueType = INT32,
) -> Bench:
    """Return a graph: a source per port, the primitive, a sink per output."""
    nodes: list[Node] = []
    inputs: list[Connection] = []
    for name, port in ports.items():
        source = f"from_{name}"
        nodes.append(
            Node(
                source,
                "source",
                {"fields": port.fields, "levels": LEVELS[: port.rank], "space": "s"},
            )
        )
        fields = tuple(text.split("/")[0] for text in port.fields)
        inputs.append(Connection(name, source, "out", fields, fields, depth))
    nodes.append(Node("it", primitive, dict(params), tuple(inputs)))
    indices = dict.fromkeys(LEVELS, CAPACITY)
    declared = tuple(tensor for tensor, _ in tensors)
    partial = Graph("bench", value, indices, declared, tuple(nodes))
    for output, stream in infer(partial).outputs["it"].items():
        edge = Connection("in", "it", output, stream.names, stream.names, depth)
        nodes.append(Node(f"to_{output}", "sink", {}, (edge,)))
    return Bench(
        Graph("bench", value, indices, declared, tuple(nodes)),
        {f"from_{name}": port.streams for name, port in ports.items()},
        {tensor.name: image for tensor, image in tensors if tensor.role == "input"},
        {tensor.name: image.shape for tensor, image in tensors if tensor.role == "result"},
    )


def check(it: Bench, seeds: Sequence[int] = (1, 2)) -> CycleResult:
    """Compare golden meaning and cycle model, ungated and gated; return the ungated run."""
    golden = it.golden()
    graph = it.flat()
    free = it.run()
    runs = [(None, free)]
    for seed in seeds:
        gates = random_gates(graph, seed)
        runs.append((gates, it.run(gates)))
    for gates, run in runs:
        check_values(it, golden, run)
        check_invariants(graph, run)
        check_gates(graph, gates, run)
        # A gate never speeds a run up.
        assert run.cycles >= free.cycles
    for ideal in ("unlimited", "banks"):
        run = it.run(ideal=ideal)
        check_values(it, golden, run)
        assert run.cycles <= free.cycles
    return free


def check_values(it: Bench, golden: GoldenResult, run: CycleResult) -> None:
    for node in it.graph.nodes:
        for edge in node.inputs:
            streams = golden.streams[edge.node, edge.output]
            type_ = golden.types[edge.node, edge.output]
            columns = [type_.names.index(name) for name in edge.fields]
            expected = [
                token
                for nested in streams
                for token in encode(project(nested, type_.rank, columns), type_.rank)
            ]
            name = f"{node.name}.{edge.port}"
            assert run.traces[name].tokens() == expected, name
    for name, image in golden.outputs.items():
        got = run.outputs[name]
        assert (got.segs, got.crds, list(got.vals)) == (image.segs, image.crds, list(image.vals))
    assert run.flags == golden.flags


def check_invariants(graph: UnitGraph, run: CycleResult) -> None:
    stalls = {unit.name: unit.bank + unit.coordinate for unit in run.units}
    for edge, report in zip(graph.edges, run.edges, strict=True):
        trace = run.traces[edge.name]
        issue, pop = trace.issue.tolist(), trace.pop.tolist()
        stalls[graph.units[edge.reader].name] += report.missing + report.head_gated
        stalls[graph.units[edge.writer].name] += report.full + report.room_gated
        assert report.tokens == len(issue)
        for times in (issue, pop):
            assert all(a < b for a, b in pairwise(times))
        assert all(t + edge.latency <= p for t, p in zip(issue, pop, strict=True))
        depth = edge.depth
        assert all(p < t for p, t in zip(pop, issue[depth:], strict=False))
        assert report.high_water == trace.high_water() <= depth
        digests = digest_of(graph.graph.value, trace.type, issue, pop, trace.tokens())
        assert (report.issue_digest, report.pop_digest) == digests
    for unit in run.units:
        assert unit.firings + stalls[unit.name] == unit.last + 1, unit.name


def digest_of(
    value: ValueType,
    type_: StreamType,
    issue: Sequence[int],
    pop: Sequence[int],
    tokens: Sequence[Token],
) -> tuple[int, int]:
    bits = {Kind.VAL: value.bits, Kind.SUM: value.wide.bits}
    masks = [(1 << bits.get(field.kind, 64)) - 1 for field in type_.fields]
    issued = popped = DIGEST_START
    for t in issue:
        issued = step(issued, t)
    for t, token in zip(pop, tokens, strict=True):
        popped = step(step(popped, t), token.empty << 8 | token.close)
        for mask, word in zip(masks, token.payload or (), strict=False):
            popped = step(popped, MASK if word is None else word & mask)
    return issued, popped


def check_gates(graph: UnitGraph, gates: Gates | None, run: CycleResult) -> None:
    if gates is None:
        assert all(edge.head_gated == edge.room_gated == 0 for edge in run.edges)
        return
    for edge, room, head in zip(graph.edges, gates.room, gates.head, strict=True):
        trace = run.traces[edge.name]
        assert all(room >> t % ROOM_PERIOD & 1 for t in trace.issue.tolist())
        assert all(head >> t % HEAD_PERIOD & 1 for t in trace.pop.tolist())


def catalog_names() -> list[str]:
    return list(CATALOG)


def random_cases(count: int) -> Any:
    """Decorate a test that takes a seeded ``rng``; hypothesis prints and replays the seed."""

    def decorate(test: Any) -> Any:
        def run(seed: int) -> None:
            test(random.Random(seed))

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        seeds = st.integers(0, 2**32 - 1)
        return settings(max_examples=count, deadline=None)(given(seed=seeds)(run))

    return decorate
