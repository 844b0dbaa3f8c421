"""Draws a SAMML graph for Graphviz."""

from fuseflow.samml.check import Inferred, examine
from fuseflow.samml.graph import Connection, Graph, Node
from fuseflow.samml.text import print_value


def to_dot(graph: Graph) -> str:
    """Return a Graphviz digraph; equal graphs give equal text.

    Nodes show their parameters; edges their ports, fields, rank and depth.  An ill-formed
    graph is drawn as far as its types are known.
    """
    types = examine(graph)[1]
    lines = [
        f"digraph {_quote(graph.name)} {{",
        '  node [shape=box, style=rounded, fontname="Helvetica"];',
        '  edge [fontname="Helvetica", fontsize=10];',
    ]
    for node in graph.nodes:
        lines.append(f"  {_quote(node.name)} [label={_quote(_node_label(node))}];")
    for node in graph.nodes:
        for edge in node.inputs:
            label = _quote(_edge_label(node, edge, types))
            ports = f"taillabel={_quote(edge.output)}, headlabel={_quote(edge.port)}"
            lines.append(f"  {_quote(edge.node)} -> {_quote(node.name)} [label={label}, {ports}];")
    return "\n".join([*lines, "}"]) + "\n"


def _node_label(node: Node) -> str:
    params = [f"{name}={print_value(value)}" for name, value in node.params.items()]
    return "\n".join([node.name, node.primitive, *params])


def _edge_label(node: Node, edge: Connection, types: Inferred) -> str:
    stream = types.inputs.get(node.name, {}).get(edge.port)
    fields = str(stream) if stream else "{" + ", ".join(edge.names) + "}"
    rank = f"\nrank {stream.rank}" if stream else ""
    depth = f"\ndepth {edge.depth}" if edge.depth is not None else ""
    return fields + rank + depth


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
