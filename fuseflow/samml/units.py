"""A graph flattened to its units and edges: what the cycle model runs and the generator builds."""

from collections.abc import Mapping
from dataclasses import dataclass

from fuseflow.samml.catalog import CATALOG, Unit
from fuseflow.samml.check import infer
from fuseflow.samml.graph import Graph, Node
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
    protos: list[tuple[Node, Unit]] = []
    writer_of: dict[tuple[str, str], int] = {}
    bundle_of: dict[tuple[str, str], StreamType] = {}
    edges: list[UnitEdge] = []
    for node in graph.nodes:
        entry = CATALOG[node.primitive]
        params = entry.complete(node.params)
        node = Node(node.name, node.primitive, params, node.inputs)
        inputs = types.inputs[node.name]
        internals = entry.internals(params, graph.value, inputs)
        connections = {edge.port: edge for edge in node.inputs}
        for unit in entry.units(params, graph.value):
            position = len(protos)
            protos.append((node, unit))
            for port in unit.reads:
                if port in internals:
                    internal = internals[port]
                    writer = writer_of[node.name, port]
                    edges.append(
                        UnitEdge(
                            f"{node.name}.{port}", writer, position, internal.type,
                            tuple(range(len(internal.type.fields))), internal.depth,
                            protos[writer][1].latency, gated=False,
                        )
                    )  # fmt: skip
                    continue
                source = connections[port]
                writer = writer_of[source.node, source.output]
                latency = protos[writer][1].latency
                bundle = bundle_of[source.node, source.output]
                edges.append(
                    UnitEdge(
                        f"{node.name}.{port}", writer, position, inputs[port],
                        tuple(bundle.names.index(name) for name in source.fields),
                        source.depth or latency + 1, latency, gated=True,
                    )
                )  # fmt: skip
            for stream in unit.writes:
                writer_of[node.name, stream] = position
                bundle_of[node.name, stream] = (
                    internals[stream].type
                    if stream in internals
                    else types.outputs[node.name][stream]
                )
    return UnitGraph(graph, _instances(protos, edges, bundle_of), tuple(edges))


def _instances(
    protos: list[tuple[Node, Unit]],
    edges: list[UnitEdge],
    bundle_of: Mapping[tuple[str, str], StreamType],
) -> tuple[UnitInstance, ...]:
    number = {edge.name: k for k, edge in enumerate(edges)}
    output_of = {
        f"{node.name}.{edge.port}": edge.output for node, _ in protos for edge in node.inputs
    }
    units: list[UnitInstance] = []
    for position, (node, unit) in enumerate(protos):
        suffix = unit.name.rstrip("0123456789")
        writes = tuple(
            tuple(
                k
                for k, edge in enumerate(edges)
                if edge.writer == position
                and output_of.get(edge.name, edge.name.rpartition(".")[2]) == stream
            )
            for stream in unit.writes
        )
        units.append(
            UnitInstance(
                name=f"{node.name}.{unit.name}" if unit.name else node.name,
                kind=f"{node.primitive}.{suffix}" if suffix else node.primitive,
                node=node,
                unit=unit,
                reads=tuple(number[f"{node.name}.{port}"] for port in unit.reads),
                writes=writes,
                bundles=tuple(bundle_of[node.name, stream] for stream in unit.writes),
            )
        )
    return tuple(units)
