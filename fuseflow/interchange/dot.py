"""Reads a DOT file: its nodes and edges in the order of the file, each with its line."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pydot
from pydot.dot_parser import GraphParser
from pyparsing import ParseException

from fuseflow.samml.errors import ParseError

_DEFAULTS = ("graph", "node", "edge")
"""Statements that set defaults, which pydot returns as nodes."""


@dataclass(frozen=True)
class DotNode:
    """A declared node; attribute values are without quotes."""

    name: str
    attributes: dict[str, str]
    line: int


@dataclass(frozen=True)
class DotEdge:
    """A directed edge; attribute values are without quotes."""

    source: str
    target: str
    attributes: dict[str, str]
    line: int


@dataclass(frozen=True)
class DotFile:
    """One digraph.

    Attributes
    ----------
    path : str
        What error messages call it.
    attributes : dict of str to str
    nodes : tuple of DotNode
    edges : tuple of DotEdge
    """

    path: str
    attributes: dict[str, str]
    nodes: tuple[DotNode, ...]
    edges: tuple[DotEdge, ...]

    def error(self, line: int, what: str) -> ParseError:
        """Return an error about a line."""
        return ParseError(f"{self.path}, line {line}: {what}")


def read_dot(path: str | Path) -> DotFile:
    """Read one digraph.

    Raises
    ------
    ParseError
        The file is not text, is no DOT, or holds another number of digraphs than one.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ParseError(f"{path}: is not text, expected a digraph in DOT") from None
    try:
        found = cast(Any, GraphParser.parser).parse_string(text, parse_all=True)
    except ParseException as error:
        place = " ".join(error.line.split())[:40] or "the end"
        raise ParseError(
            f"{path}, line {error.lineno}: this is no DOT, or it ends too early, at '{place}'"
        ) from None
    graphs: list[pydot.Dot] = list(found)
    if len(graphs) != 1 or graphs[0].get_type() != "digraph":
        raise ParseError(f"{path}: holds {len(graphs)} graphs, expected one digraph")
    (graph,) = graphs
    if graph.get_subgraph_list():
        raise ParseError(f"{path}: has subgraphs, expected nodes and edges alone")
    lines = _Lines(text)
    nodes = sorted(graph.get_node_list(), key=lambda node: node.get_sequence() or 0)
    edges = sorted(graph.get_edge_list(), key=lambda edge: edge.get_sequence() or 0)
    return DotFile(
        str(path),
        _plain(graph.get_attributes()),
        tuple(
            DotNode(name, _plain(node.get_attributes()), lines.node(name))
            for node in nodes
            if (name := _bare(node.get_name())) not in _DEFAULTS
        ),
        tuple(
            DotEdge(source, target, _plain(edge.get_attributes()), lines.edge(source, target))
            for edge in edges
            for source, target in [(_bare(edge.get_source()), _bare(edge.get_destination()))]
        ),
    )


class _Lines:
    """Finds the lines of statements, which pydot does not keep."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.seen: dict[str, int] = {}

    def node(self, name: str) -> int:
        return self._next(rf'^[ \t]*"?{re.escape(name)}"?\s*\[')

    def edge(self, source: str, target: str) -> int:
        return self._next(rf'^[ \t]*"?{re.escape(source)}"?\s*->\s*"?{re.escape(target)}"?\b')

    def _next(self, pattern: str) -> int:
        """Return the line of the next match of a pattern, or of the last one there is."""
        starts = [match.start() for match in re.finditer(pattern, self.text, re.MULTILINE)] or [0]
        number = self.seen.get(pattern, 0)
        self.seen[pattern] = number + 1
        return self.text.count("\n", 0, starts[min(number, len(starts) - 1)]) + 1


def _bare(text: object) -> str:
    return str(text).strip('"')


def _plain(attributes: dict[str, object]) -> dict[str, str]:
    return {name: _bare(value) for name, value in attributes.items()}
