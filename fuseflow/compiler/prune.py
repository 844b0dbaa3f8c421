"""Removes what nobody reads: passenger fields of joined bundles, and whole nodes."""

from dataclasses import replace

from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.graph import Connection, Graph, Node

_ENDS = ("write_crd", "write_val", "sink")


def prune(graph: Graph) -> Graph:
    """Drop the fields and nodes that lead to no writer."""
    read: dict[tuple[str, str], set[str]] = {}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.primitive not in _ENDS:
            outputs = {
                output: fields for (name, output), fields in read.items() if name == node.name
            }
            if not outputs:
                continue
            node = _thin(node, outputs)
        kept.append(node)
        for edge in node.inputs:
            read.setdefault((edge.node, edge.output), set()).update(edge.fields)
    return replace(graph, nodes=tuple(reversed(kept)))


def _thin(node: Node, read: dict[str, set[str]]) -> Node:
    """Keep the passengers that are read: at ``out`` of a joiner, at a drop's own port."""
    entry = CATALOG[node.primitive]
    ports = {port.name: port for port in entry.inputs(entry.complete(node.params))}
    edges = [
        _keep(
            edge, len(ports[edge.port].roles), read.get("out", set()) | read.get(edge.port, set())
        )
        if ports[edge.port].passengers
        else edge
        for edge in node.inputs
    ]
    return replace(node, inputs=tuple(edges))


def _keep(edge: Connection, roles: int, wanted: set[str]) -> Connection:
    pairs = tuple(zip(edge.fields, edge.names, strict=True))
    pairs = (*pairs[:roles], *(pair for pair in pairs[roles:] if pair[1] in wanted))
    return replace(
        edge, fields=tuple(field for field, _ in pairs), names=tuple(name for _, name in pairs)
    )
