"""Custard's dialect of DOT: attributes of nodes, names of edges, formats of tensors.

A node's attribute ``type`` names the primitive.  An edge's ``type`` tells what it carries
(crd, ref, val, repsig), its ``comment`` which of several it is: ``in-B`` and ``out-B`` are a
tensor's sides of a joiner, ``outer-i``, ``inner-j`` and plain ``i`` a level's coordinates.
Files written by hand leave the comment out at times; then the label ``crd_outer-i`` counts.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from fuseflow.interchange.dot import DotEdge, DotFile, DotNode
from fuseflow.samml.errors import ParseError
from fuseflow.samml.formats import Format, LevelKind


@dataclass(frozen=True)
class Edge:
    """An edge of the dialect.

    Attributes
    ----------
    source, target : str
    kind : str
        ``crd``, ``ref``, ``val`` or ``repsig``.
    name : str
        The tensor or index that it belongs to; empty where the file says nothing.
    line : int
    """

    source: str
    target: str
    kind: str
    name: str
    line: int


@dataclass(frozen=True)
class Source:
    """A file of the dialect, with access to what its statements say.

    Raises
    ------
    ParseError
        File and line of what is missing or does not belong there.
    """

    file: DotFile

    def __post_init__(self) -> None:
        declared: set[str] = set()
        for node in self.file.nodes:
            if node.name in declared:
                raise self.error(node.line, f"node {node.name} is declared twice")
            declared.add(node.name)
        for edge in self.file.edges:
            for name in (edge.source, edge.target):
                if name not in declared:
                    raise self.error(
                        edge.line, f"edge {edge.source} -> {edge.target}: there is no node {name}"
                    )

    def error(self, line: int, what: str) -> ParseError:
        """Return an error about a line."""
        return self.file.error(line, what)

    def at(self, node: DotNode, what: str) -> ParseError:
        """Return an error about a node."""
        return self.error(
            node.line, f"node {node.name} ({node.attributes.get('type', 'no type')}): {what}"
        )

    @cached_property
    def formats(self) -> dict[str, Format]:
        """The format of every tensor, the result's first, from ``comment="X=ss01,B=..."``."""
        comment = self.file.attributes.get("comment")
        if not comment:
            raise ParseError(
                f"{self.file.path}: is no graph of Custard, which begins with the formats of its "
                'tensors, such as comment="X=ss01,B=ss01,C=ss10"'
            )
        formats: dict[str, Format] = {}
        for entry in comment.split(","):
            name, _, text = (part.strip() for part in entry.partition("="))
            if not name or name in formats:
                raise ParseError(
                    f"{self.file.path}: format '{entry}' names no tensor, or one twice"
                )
            formats[name] = self._format(entry, text)
        return formats

    def _format(self, entry: str, text: str) -> Format:
        """Read the letters of the levels followed by the modes that they store."""
        if text == "none":
            return Format((), ())
        half = len(text) // 2
        letters, modes = text[:half], text[half:]
        try:
            levels = tuple(map(LevelKind, letters))
            order = tuple(map(int, modes))
        except ValueError:
            levels, order = (), (0,)
        if sorted(order) != list(range(len(levels))) or not text:
            raise ParseError(
                f"{self.file.path}: no counterpart in SAMML: format '{entry}', expected a letter "
                "per level (s compressed, d dense) and its mode, such as B=ss10"
            )
        return Format(levels, order)

    @cached_property
    def ordered(self) -> tuple[DotNode, ...]:
        """The nodes in topological order."""
        before: dict[str, list[str]] = {node.name: [] for node in self.file.nodes}
        for edge in self.file.edges:
            before[edge.target].append(edge.source)
        nodes = {node.name: node for node in self.file.nodes}
        try:
            return tuple(nodes[name] for name in TopologicalSorter(before).static_order())
        except CycleError as error:
            cycle: list[str] = error.args[1]
            first = nodes[cycle[0]]
            raise self.at(first, f"the nodes {', '.join(cycle[1:])} form a cycle") from None

    def inputs(self, node: DotNode) -> list[Edge]:
        """Return the edges into a node, in the order of the file."""
        return [self._edge(edge) for edge in self.file.edges if edge.target == node.name]

    def _edge(self, edge: DotEdge) -> Edge:
        kind = edge.attributes.get("type", "")
        if kind not in ("crd", "ref", "val", "repsig"):
            raise self.error(
                edge.line,
                f"edge {edge.source} -> {edge.target}: type is '{kind}', "
                "wanted crd, ref, val or repsig",
            )
        comment = (
            edge.attributes.get("comment") or edge.attributes.get("label", "").partition("_")[2]
        )
        return Edge(edge.source, edge.target, kind, comment.rpartition("-")[2], edge.line)

    def text(self, node: DotNode, name: str) -> str:
        """Return an attribute, which must be there."""
        value = node.attributes.get(name)
        if not value:
            raise self.at(node, f"attribute '{name}' is missing")
        return value

    def number(self, node: DotNode, name: str) -> int:
        """Return an attribute that is a whole number."""
        text = self.text(node, name)
        if not re.fullmatch("-?[0-9]{1,9}", text):
            raise self.at(node, f"attribute '{name}' is '{text}', wanted a number")
        return int(text)

    def level(self, node: DotNode) -> tuple[str, int, int]:
        """Return the tensor, mode and storage level that a node names."""
        tensor, mode = self.text(node, "tensor"), self.number(node, "mode")
        form = self.format(node, tensor)
        if mode not in form.order:
            raise self.at(node, f"tensor '{tensor}' of format {form} has no mode {mode}")
        level = form.order.index(mode)
        wanted = "dense" if form.levels[level] is LevelKind.DENSE else "compressed"
        if (given := self.text(node, "format")) != wanted:
            raise self.at(node, f"format is {given}, but {wanted} in format {form} of '{tensor}'")
        return tensor, mode, level

    def format(self, node: DotNode, tensor: str) -> Format:
        """Return the format of a tensor that a node names."""
        if tensor not in self.formats:
            raise self.at(node, f"the comment of the graph tells no format of tensor '{tensor}'")
        return self.formats[tensor]
