"""Parts of a graph that have nothing in common but its root: they run beside each other."""

from fuseflow.samml.graph import Graph


def parts(graph: Graph) -> tuple[frozenset[str], ...]:
    """Return the names of the nodes of every part, in the order of their first nodes.

    A root sends one token a run. It belongs to no part.
    """
    part_of: dict[str, set[str]] = {}
    for node in graph.nodes:
        if node.primitive != "root":
            part = {node.name}.union(*(part_of.get(edge.node, ()) for edge in node.inputs))
            part_of |= dict.fromkeys(part, part)
    return tuple({id(part): frozenset(part) for part in part_of.values()}.values())
