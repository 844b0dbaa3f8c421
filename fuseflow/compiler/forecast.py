"""The cost heuristic: how much a graph is expected to do, from how full its tensors are.

Expected numbers of coordinates are carried along every stream, level by level, as if the stored
entries of a level were spread evenly over its fibers and independent of those of other tensors.
What a unit is expected to fire follows.  It fires once a cycle from when its inputs begin, and no
sooner ends than they do; what closes fibers begins to write when the first one is complete.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, prod

from fuseflow.compiler.declare import Stored
from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.graph import Connection, Extent, Graph, Node, Role, TensorDecl

DENSITY = 0.1
"""Share of a compressed level's coordinates that are assumed stored where nothing is known."""

SPARING = ("neg", "abs", "scale")
"""Functions that leave a zero what it is."""

POSITIVE = 0.5
"""Share of values that a relu is expected to leave."""

WORD = 4
"""Bytes of a coordinate or segment word."""


@dataclass
class Work:
    """What a node, or several, are expected to do or did.

    Attributes
    ----------
    firings, tokens : float
        Of its busiest unit; tokens that its inputs take.
    operations : float
    coordinates, segments, values : float
        Bytes that it moves between the arrays and the graph.
    """

    firings: float = 0.0
    tokens: float = 0.0
    operations: float = 0.0
    coordinates: float = 0.0
    segments: float = 0.0
    values: float = 0.0

    @property
    def bytes(self) -> float:
        """All that it moves."""
        return self.coordinates + self.segments + self.values


@dataclass(frozen=True)
class Forecast:
    """What a graph is expected to do.

    Attributes
    ----------
    cycles : float
        Until the last writer ends.
    unit, bottleneck : str, float
        The node that fires most, and how often.
    operations : float
        Payloads of alu, unary, reduce and accumulate; twice where such a unit does two things.
    bytes : float
        Moved between arrays and graph: coordinates, segments and values, read and written.
    firings : float
        Of all units.
    results : dict of str to tuple of float
        Expected stored positions of every level.
    nodes : dict of str to Work
        What every node does of that.
    """

    cycles: float
    unit: str
    bottleneck: float
    operations: float
    bytes: float
    firings: float
    results: dict[str, tuple[float, ...]]
    nodes: dict[str, Work] = field(default_factory=dict[str, Work])

    @property
    def tokens(self) -> float:
        """Tokens on all edges between primitives."""
        return sum(work.tokens for work in self.nodes.values())


def forecast(
    graph: Graph,
    stored: Mapping[str, Stored],
    densities: Mapping[str, float] | None = None,
) -> Forecast:
    """Return what a graph is expected to do.

    Parameters
    ----------
    graph : Graph
        Index capacities are taken for sizes.
    stored : mapping of str to Stored
        Inputs, as far as they are known.
    densities : mapping of str to float, optional
        Stored share of the others; `DENSITY` by default.
    """
    return _Forecasting(graph, stored, densities or {}).run()


def expected_positions(form: Format, dims: Sequence[int], density: float) -> tuple[float, ...]:
    """Return the positions of every level of a tensor whose entries are spread evenly.

    Parameters
    ----------
    form : Format
    dims : sequence of int
        In mode order.
    density : float
        Stored entries over all.
    """
    positions: list[float] = []
    parents, below = 1.0, float(prod(dims))
    for mode, kind in zip(form.order, form.levels, strict=True):
        below /= max(dims[mode], 1)
        points = parents * dims[mode]
        if kind is LevelKind.COMPRESSED:
            points *= 1.0 - (1.0 - density) ** below
        positions.append(points)
        parents = points
    return tuple(positions)


@dataclass(frozen=True)
class _Stream:
    """Expected coordinates of every level of a stream, the root's first, and the levels' sizes.

    `made` tells whose levels gave the last level's coordinates, `present` how often a field is no
    null, `kept` how often a value is not the fill, `covers`
    which streams have no coordinate that this one lacks, `begin` and `end` when it comes.
    """

    counts: tuple[float, ...]
    sizes: tuple[int, ...] = ()
    present: Mapping[str, float] = field(default_factory=dict[str, float])
    made: frozenset[tuple[str, int]] = frozenset()
    kept: float = 1.0
    covers: frozenset[tuple[str, str]] = frozenset()
    begin: float = 0.0
    end: float = 0.0

    @property
    def size(self) -> int:
        """Size of the last level."""
        return self.sizes[-1] if self.sizes else 1

    @property
    def tokens(self) -> float:
        """Payloads, and one token for every fiber without any."""
        if len(self.counts) < 2:
            return 1.0
        fibers, found = self.counts[-2:]
        each = found / fibers if fibers else 0.0
        return found + (fibers * exp(-each) if each < self.size else 0.0)

    @property
    def share(self) -> float:
        """Share of the last level's coordinates that it has."""
        fibers = self.counts[-2] * self.size
        return min(1.0, self.counts[-1] / fibers) if fibers else 0.0


class _Forecasting:
    def __init__(
        self, graph: Graph, stored: Mapping[str, Stored], densities: Mapping[str, float]
    ) -> None:
        self.graph = graph
        self.tensors = {tensor.name: tensor for tensor in graph.tensors}
        self.stored = {
            tensor.name: tuple(stored[tensor.name].positions)
            if tensor.name in stored
            else expected_positions(tensor.format, tensor.dims, densities.get(tensor.name, DENSITY))
            for tensor in graph.tensors
        }
        self.spread = {name: tensor.spread for name, tensor in stored.items()}
        self.streams: dict[str, dict[str, _Stream]] = {}
        self.firings: dict[str, float] = {}
        self.cycles = 0.0
        self.work = {node.name: Work() for node in graph.nodes}
        self.written: dict[tuple[str, int], float] = {}
        self.word = (graph.value.bits + 7) // 8

    def run(self) -> Forecast:
        for node in self.graph.nodes:
            params = CATALOG[node.primitive].complete(node.params)
            getattr(self, f"_{node.primitive}")(replace(node, params=params))
            work = self.work[node.name]
            work.firings = self.firings.get(node.name, 0.0)
            work.tokens = sum(self._in(node, edge.port).tokens for edge in node.inputs)
        unit = max(self.firings, key=lambda name: self.firings[name], default="")
        results = {
            tensor.name: self._positions(tensor)
            for tensor in self.graph.tensors
            if tensor.role == Role.RESULT
        }
        return Forecast(
            self.cycles,
            unit,
            self.firings.get(unit, 0.0),
            sum(work.operations for work in self.work.values()),
            sum(work.bytes for work in self.work.values()),
            sum(self.firings.values()),
            results,
            self.work,
        )

    def _positions(self, tensor: TensorDecl) -> tuple[float, ...]:
        positions: list[float] = []
        parents = 1.0
        for level, mode in enumerate(tensor.format.order):
            parents = self.written.get((tensor.name, level), parents * tensor.dims[mode])
            positions.append(parents)
        return tuple(positions)

    def _edge(self, node: Node, port: str) -> tuple[Connection, _Stream]:
        edge = node.connection(port)
        return edge, self.streams[edge.node][edge.output]

    def _in(self, node: Node, port: str) -> _Stream:
        return self._edge(node, port)[1]

    def _present(self, node: Node, port: str) -> float:
        """Return how often the one field of a port is no null."""
        edge, stream = self._edge(node, port)
        return stream.present.get(edge.fields[0], 1.0) if edge.fields else 1.0

    def _carried(self, node: Node, port: str, factor: float = 1.0) -> dict[str, float]:
        edge, stream = self._edge(node, port)
        pairs = zip(edge.fields, edge.names, strict=True)
        return {new: stream.present.get(old, 1.0) * factor for old, new in pairs}

    def _out(self, node: Node, stream: _Stream, port: str = "out") -> None:
        self.streams.setdefault(node.name, {})[port] = stream

    def _fire(self, node: Node, firings: float, groups: float = inf) -> None:
        """Let a node fire; it writes when the first of so many groups of its input is complete."""
        self.firings[node.name] = max(self.firings.get(node.name, 0.0), firings)
        taken = [self._in(node, edge.port) for edge in node.inputs]
        begin = max((each.begin for each in taken), default=0.0)
        end = max(max((each.end for each in taken), default=0.0), begin + firings)
        units = CATALOG[node.primitive].units(node.params, self.graph.value)
        latency = sum(unit.latency for unit in units)
        begin += (end - begin) / max(groups, 1.0) + latency
        end += latency
        self.cycles = max(self.cycles, end)
        for port, stream in self.streams.get(node.name, {}).items():
            done = max(end, begin + stream.tokens)
            self._out(node, replace(stream, begin=begin, end=done), port)

    def _root(self, node: Node) -> None:
        self._out(node, _Stream((1.0,)))

    def _scan(
        self, node: Node, each: float, size: int, made: frozenset[tuple[str, int]] = frozenset()
    ) -> None:
        above = self._in(node, "ref")
        found = above.counts[-1] * self._present(node, "ref") * each
        out = _Stream((*above.counts, found), (*above.sizes, size), made=made)
        self._out(node, out)
        self._fire(node, out.tokens)

    def _size(self, index: object) -> int:
        return self.graph.indices[str(index)]

    def _scan_dense(self, node: Node) -> None:
        size = self._size(node.params["index"])
        self._scan(node, size, size)

    def _scan_compressed(self, node: Node) -> None:
        tensor, level = str(node.params["tensor"]), int(str(node.params["level"]))
        positions = self.stored[tensor]
        parents = positions[level - 1] if level else 1.0
        each = positions[level] / max(parents, 1.0)
        if any(t == tensor and at >= level for t, at in self._in(node, "ref").made):
            # A tensor that is read along its own coordinates, as a graph is, meets long fibers more
            # often: in a symmetric one each as often as it is long.
            each *= self.spread[tensor][level] if tensor in self.spread else 1.0
        size = self._size(node.params["index"])
        self._scan(node, each, size, frozenset({(tensor, level)}))
        out = self.streams[node.name]["out"]
        self.work[node.name].coordinates += WORD * out.counts[-1]
        self.work[node.name].segments += WORD * 2 * out.counts[-2]

    def _locate(self, node: Node) -> None:
        crd = self._in(node, "crd")
        present = self._present(node, "parent") if node.params["parent"] else 1.0
        self._out(node, replace(crd, present={"ref": present}, covers=frozenset()))
        self._fire(node, crd.tokens)

    def _repeat(self, node: Node) -> None:
        signal = self._in(node, "signal")
        (name,) = node.connection("x").names
        kept = self._in(node, "x").kept
        present = {name: self._present(node, "x")}
        self._out(node, replace(signal, present=present, kept=kept, covers=frozenset()))
        self._fire(node, signal.tokens)

    def _intersect(self, node: Node) -> None:
        left, right = self._in(node, "left"), self._in(node, "right")
        fibers, size = left.counts[-2], left.size
        share = left.share * right.share
        for (edge, side), (_, other) in (
            (self._edge(node, "left"), self._edge(node, "right")),
            (self._edge(node, "right"), self._edge(node, "left")),
        ):
            if (edge.node, edge.output) in other.covers:
                share = side.share
        present = self._carried(node, "left") | self._carried(node, "right")
        counts = (*left.counts[:-1], fibers * size * share)
        out = _Stream(counts, left.sizes, present, left.made | right.made)
        self._out(node, out)
        steps = fibers * size * (left.share + right.share - share)
        self._fire(node, max(steps, out.tokens))

    def _union(self, node: Node) -> None:
        sides = [self._edge(node, port) for port in ("left", "right")]
        left, right = (stream for _, stream in sides)
        fibers, size = left.counts[-2], left.size
        share = left.share + right.share - left.share * right.share
        factors = [side.share / share if share else 0.0 for side in (left, right)]
        present = self._carried(node, "left", factors[0]) | self._carried(node, "right", factors[1])
        covers = frozenset((edge.node, edge.output) for edge, _ in sides)
        covers = covers.union(left.covers, right.covers)
        counts = (*left.counts[:-1], fibers * size * share)
        out = _Stream(counts, left.sizes, present, left.made | right.made, covers=covers)
        self._out(node, out)
        self._fire(node, out.tokens)

    def _array(self, node: Node) -> None:
        ref = self._in(node, "ref")
        self._out(node, replace(ref, present={}, covers=frozenset()))
        self._fire(node, ref.tokens)
        self.work[node.name].values += self.word * ref.counts[-1] * self._present(node, "ref")

    def _alu(self, node: Node) -> None:
        left, right = self._in(node, "a"), self._in(node, "b")
        kept = left.kept * right.kept if node.params["op"] == "mul" else 1.0
        if node.params["relu"]:
            kept *= POSITIVE
        self._elementwise(node, kept, 1 + bool(node.params["relu"]))

    def _unary(self, node: Node) -> None:
        kept, op = self._in(node, "a").kept, node.params["op"]
        sparing = op in SPARING
        if op == "relu" or (op in ("max", "min") and not node.params["constant"]):
            kept, sparing = kept * POSITIVE, True
        self._elementwise(node, kept if sparing else 1.0, 1 + (op == "affine"))

    def _elementwise(self, node: Node, kept: float, operations: int) -> None:
        taken = self._in(node, "a")
        self._out(node, replace(taken, present={}, kept=kept, covers=frozenset()))
        self._fire(node, taken.tokens)
        self.work[node.name].operations += operations * taken.counts[-1]

    def _reduce(self, node: Node) -> None:
        taken = self._in(node, node.inputs[0].port)
        fibers = taken.counts[-2]
        each = taken.counts[-1] / fibers if fibers else 0.0
        kept = 1.0 - exp(-each) if each < taken.size else 1.0
        self._out(node, _Stream(taken.counts[:-1], taken.sizes[:-1], kept=kept))
        self._fire(node, taken.tokens, fibers)
        self.work[node.name].operations += (1 + bool(node.params["multiply"])) * taken.counts[-1]

    def _accumulate(self, node: Node) -> None:
        taken = self._in(node, "val")
        extents = node.params["size"]
        assert isinstance(extents, tuple)
        sizes = [self._extent(extent) for extent in extents if isinstance(extent, Extent)]
        kept = len(sizes)
        rows, fibers = taken.counts[-kept - 2], taken.counts[-kept - 1]
        each = fibers / rows if rows else 0.0
        counts = list(taken.counts[: -kept - 1])
        before = fibers
        for size, found in zip(sizes, taken.counts[-kept:], strict=True):
            share = min(1.0, found / (before * size)) if before else 0.0
            touched = 1.0 if node.params["mode"] == "dense" else 1.0 - (1.0 - share) ** each
            counts.append(counts[-1] * size * touched)
            each *= share / touched if touched else 0.0
            before = found
        if kept > 1:
            outer = _Stream(tuple(counts[:-1]), (*taken.sizes[: -kept - 1], sizes[0]))
            self._out(node, outer, "outer")
        out = _Stream(tuple(counts), (*taken.sizes[: -kept - 1], *sizes))
        self._out(node, out)
        self._fire(node, taken.tokens, rows)
        self.work[node.name].operations += taken.counts[-1]

    def _extent(self, extent: Extent) -> int:
        return self.tensors[extent.tensor].dims[extent.mode]

    def _drop_value(self, node: Node) -> None:
        crd, val = self._in(node, "crd"), self._in(node, "val")
        present = self._carried(node, "crd") | self._carried(node, "val")
        counts = (*crd.counts[:-1], crd.counts[-1] * val.kept)
        self._out(node, _Stream(counts, crd.sizes, present, crd.made))
        self._fire(node, crd.tokens)

    def _drop_empty(self, node: Node) -> None:
        outer = self._in(node, "outer")
        level = len(outer.counts) - 1
        signal = self._in(node, "signal")
        each = signal.counts[level + 1] / outer.counts[-1] if outer.counts[-1] else 0.0
        left = outer.counts[-1] * (1.0 - exp(-each))
        self._out(node, replace(outer, counts=(*outer.counts[:-1], left)), "outer")
        for edge in node.inputs:
            if edge.port.startswith("inner"):
                taken = self._in(node, edge.port)
                counts = (*taken.counts[:level], left, *taken.counts[level + 1 :])
                self._out(node, replace(taken, counts=counts, covers=frozenset()), edge.port)
                self._fire(node, taken.tokens)

    def _write_crd(self, node: Node) -> None:
        crd = self._in(node, "crd")
        tensor, level = str(node.params["tensor"]), int(str(node.params["level"]))
        self.written[tensor, level] = crd.counts[-1]
        self._fire(node, crd.tokens)
        self.work[node.name].coordinates += WORD * crd.counts[-1]
        self.work[node.name].segments += WORD * (crd.counts[-2] if len(crd.counts) > 1 else 0.0)

    def _write_val(self, node: Node) -> None:
        val = self._in(node, "val")
        self._fire(node, val.tokens)
        self.work[node.name].values += self.word * val.counts[-1]

    def _sink(self, node: Node) -> None:
        del node

    def _source(self, node: Node) -> None:
        raise AssertionError(f"{node.name} stands in benches only")
