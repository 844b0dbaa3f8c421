"""The hash that ties a graph, its Verilog, its manifest and the device together."""

import hashlib

from fuseflow.samml.graph import Graph
from fuseflow.samml.text import print_graph


def graph_hash(graph: Graph) -> int:
    """Return the first 64 bits of the SHA-256 of a graph's text form."""
    digest = hashlib.sha256(print_graph(graph).encode()).digest()
    return int.from_bytes(digest[:8], "big")
