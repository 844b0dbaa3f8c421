"""A graph flattened to its units and edges: what the cycle model runs and the generator builds."""

from dataclasses import dataclass, field

from fuseflow.samml.catalog import CATALOG, Internal, Unit
from fuseflow.samml.check import infer
from fuseflow.samml.graph import Connection, Graph, Node
from fuseflow.samml.streams import StreamType


@dataclass(frozen=True)
class UnitEdge:
    """One edge between two units.

    Attributes
    ----------
    name : str
        ``node.port`` of the reader; ``node.stream`` for an internal edge.
    writer, reader : int
        Positions in `UnitGraph.units`.
    type : StreamType
        Fields under the reader's names.
    columns : tuple of int
        For each field, its position in the writer's bundle.
    depth, latency : int
        Slots, and the writer's latency in cycles.
    gated : bool
        Whether benches may gate it; internal edges are not gated.
    """

    name: str
    writer: int
    reader: int
    type: StreamType
    columns: tuple[int, ...]
    depth: int
    latency: int
    gated: bool


@dataclass(frozen=True)
class UnitInstance:
    """One unit of one node.

    Attributes
    ----------
    name : str
        ``node`` or ``node.unit``.
    kind : str
        ``primitive`` or ``primitive.unit``; the numbered units of drop_empty share one kind.
    node : Node
        With all parameters filled in.
    unit : Unit
    reads : tuple of int
        Edges in the order of ``unit.reads``.
    writes : tuple of tuple of int
        For each of ``unit.writes``, the edges that read it (possibly none).
    bundles : tuple of StreamType
        For each of ``unit.writes``, the full bundle.
    """

    name: str
    kind: str
    node: Node
    unit: Unit
    reads: tuple[int, ...]
    writes: tuple[tuple[int, ...], ...]
    bundles: tuple[StreamType, ...]


@dataclass(frozen=True)
class UnitGraph:
    """The flattened graph; units stand in dataflow order."""

    graph: Graph
    units: tuple[UnitInstance, ...]
    edges: tuple[UnitEdge, ...]


def flatten(graph: Graph) -> UnitGraph:
    """Flatten a graph to units and edges.

    Raises
    ------
    GraphError
        The graph is ill-formed.
    """
    types = infer(graph)
    flat = _Flattened()
    for node in graph.nodes:
        entry = CATALOG[node.primitive]
        params = entry.complete(node.params)
        inputs = types.inputs[node.name]
        internals = entry.internals(params, graph.value, inputs)
        complete = Node(node.name, node.primitive, params, node.inputs)
        for unit in entry.units(params, graph.value):
            flat.units.append((complete, unit))
            for port in unit.reads:
                if port in internals:
                    flat.join_internal(complete, port, internals[port])
                else:
                    flat.join(complete, node.connection(port), inputs[port])
            for stream in unit.writes:
                internal = internals.get(stream)
                bundle = internal.type if internal else types.outputs[node.name][stream]
                flat.writers[node.name, stream] = len(flat.units) - 1, bundle
    return UnitGraph(graph, flat.instances(), tuple(flat.edges))


@dataclass
class _Flattened:
    """Units and edges so far; `writers` gives the unit and bundle of every stream."""

    units: list[tuple[Node, Unit]] = field(default_factory=list[tuple[Node, Unit]])
    edges: list[UnitEdge] = field(default_factory=list[UnitEdge])
    writers: dict[tuple[str, str], tuple[int, StreamType]] = field(
        default_factory=dict[tuple[str, str], tuple[int, StreamType]]
    )

    def join(self, node: Node, edge: Connection, taken: StreamType) -> None:
        """Add an edge of the graph to the newest unit."""
        writer, bundle = self.writers[edge.node, edge.output]
        latency = self.units[writer][1].latency
        columns = tuple(bundle.names.index(name) for name in edge.fields)
        self.edges.append(
            UnitEdge(
                f"{node.name}.{edge.port}", writer, len(self.units) - 1, taken, columns,
                edge.depth or latency + 1, latency, gated=True,
            )
        )  # fmt: skip

    def join_internal(self, node: Node, stream: str, internal: Internal) -> None:
        """Add an internal edge to the newest unit."""
        writer, bundle = self.writers[node.name, stream]
        self.edges.append(
            UnitEdge(
                f"{node.name}.{stream}", writer, len(self.units) - 1, bundle,
                tuple(range(len(bundle.fields))), internal.depth, self.units[writer][1].latency,
                gated=False,
            )
        )  # fmt: skip

    def instances(self) -> tuple[UnitInstance, ...]:
        """Return the units with the numbers of their edges."""
        number = {edge.name: k for k, edge in enumerate(self.edges)}
        readers: dict[tuple[str, str], list[int]] = {stream: [] for stream in self.writers}
        for node, unit in self.units:
            outputs = {edge.port: (edge.node, edge.output) for edge in node.inputs}
            for port in unit.reads:
                stream = outputs.get(port, (node.name, port))
                readers[stream].append(number[f"{node.name}.{port}"])
        return tuple(
            UnitInstance(
                name=f"{node.name}.{unit.name}" if unit.name else node.name,
                kind=_kind(node, unit),
                node=node,
                unit=unit,
                reads=tuple(number[f"{node.name}.{port}"] for port in unit.reads),
                writes=tuple(tuple(readers[node.name, stream]) for stream in unit.writes),
                bundles=tuple(self.writers[node.name, stream][1] for stream in unit.writes),
            )
            for node, unit in self.units
        )


def _kind(node: Node, unit: Unit) -> str:
    suffix = unit.name.rstrip("0123456789")
    return f"{node.primitive}.{suffix}" if suffix else node.primitive
