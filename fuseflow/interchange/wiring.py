"""What the edges of a Custard graph carry, as wires of the graph that is built."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from fuseflow.compiler.builder import Builder, Link, Stream, Wire
from fuseflow.interchange.dialect import Edge, Source
from fuseflow.interchange.dot import DotNode
from fuseflow.samml.catalog import TypeRuleError
from fuseflow.samml.graph import ParamValue


@dataclass(frozen=True)
class Held:
    """Coordinates that SAM repeats for every point below; the wire is the one not repeated."""

    wire: Wire


Ports: TypeAlias = "dict[str, Wire | Held]"
"""The outputs of a node, by kind, or by ``kind-name`` where a node has several of a kind."""


class Wiring:
    """Follows edges from the nodes that have been built to the one that is being built.

    Attributes
    ----------
    source : Source
    builder : Builder
    ports : dict of str to Ports
        By node of the file.
    pending : list of Edge
        Inputs of the present node that nothing has read yet.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.builder = Builder()
        self.ports: dict[str, Ports] = {}
        self.pending: list[Edge] = []
        self._types = {node.name: node.attributes.get("type", "") for node in source.file.nodes}

    def add(
        self,
        node: DotNode,
        primitive: str,
        label: str,
        inputs: dict[str, Link],
        params: dict[str, ParamValue] | None = None,
    ) -> dict[str, Stream]:
        """Add a node of the catalog, named after the node of the file that it stands for."""
        with self._located(node):
            return self.builder.add(primitive, f"{label}_{node.name}", inputs, params)

    @contextmanager
    def _located(self, node: DotNode) -> Generator[None]:
        try:
            yield
        except TypeRuleError as error:
            raise self.source.at(node, str(error)) from None

    def bare(self, edge: Edge) -> Wire:
        """Return what an edge carries, coordinates as they were before any crdhold."""
        value = self._value(edge)
        return value.wire if isinstance(value, Held) else value

    def wire(self, edge: Edge) -> Wire:
        """Return what an edge carries, which must not come from crdhold."""
        value = self._value(edge)
        if isinstance(value, Held):
            raise self.source.error(
                edge.line,
                f"no counterpart in SAMML: the outer coordinates of crdhold {edge.source}, read by "
                f"a {self._types[edge.target]}",
            )
        return value

    def _value(self, edge: Edge) -> Wire | Held:
        self.pending.remove(edge)
        ports = self.ports[edge.source]
        for port in (f"{edge.kind}-{edge.name}", edge.kind):
            if port in ports:
                return ports[port]
        which = f" '{edge.name}'" if edge.name else ""
        raise self.source.error(
            edge.line,
            f"node {edge.source} ({self._types[edge.source]}) has no output {edge.kind}{which}",
        )

    def several(self, node: DotNode, count: int, *kinds: str) -> list[Edge]:
        """Return the pending edges of some kinds; there must be so many."""
        edges = [edge for edge in self.pending if edge.kind in kinds]
        if len(edges) != count:
            raise self.source.at(
                node, f"has {len(edges)} inputs of type {' or '.join(kinds)}, wanted {count}"
            )
        return edges

    def one(self, node: DotNode, *kinds: str) -> Wire:
        """Return what the only pending edge of some kinds carries."""
        return self.wire(self.several(node, 1, *kinds)[0])

    def named(self, node: DotNode, index: str) -> Edge:
        """Return the only pending edge with the coordinates of an index."""
        edges = [edge for edge in self.pending if edge.kind == "crd" and edge.name == index]
        if len(edges) != 1:
            raise self.source.at(node, f"has {len(edges)} inputs of crd '{index}', wanted 1")
        return edges[0]
