"""The SAMML graph: primitives joined by typed streams.

Nodes stand in topological order, so a graph is acyclic by construction.  An edge is
written at its reader (`Connection`); every connection is one hardware edge.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.values import INT32, Number, ValueType

LARGEST_SIZE = 2**31 - 1
"""Largest size of a mode: what a 32-bit shape register holds, signed."""


@dataclass(frozen=True)
class Extent:
    """The run-time size of one tensor mode, read from a shape register."""

    tensor: str
    mode: int

    def __str__(self) -> str:
        return f"{self.tensor}.{self.mode}"


ParamValue: TypeAlias = (
    "Number | bool | str | Extent | tuple[Extent, ...] | tuple[Number, ...] | tuple[str, ...]"
)


@dataclass(frozen=True)
class Connection:
    """One edge, seen from its reader.

    Attributes
    ----------
    port : str
        Input port of the reading node.
    node, output : str
        The writing node and its output port.
    fields : tuple of str
        Fields taken from the writer's bundle, in the order of the reader's roles.
    names : tuple of str
        The reader's name for each of them (a role, or the name of a passenger).
    depth : int or None
        Slots of the edge; None until the slack pass has run (then latency + 1 is meant).
    """

    port: str
    node: str
    output: str
    fields: tuple[str, ...]
    names: tuple[str, ...]
    depth: int | None = None


@dataclass(frozen=True)
class Node:
    """One primitive of the catalog with its parameters and input edges."""

    name: str
    primitive: str
    params: dict[str, ParamValue] = field(default_factory=dict[str, ParamValue])
    inputs: tuple[Connection, ...] = ()

    def connection(self, port: str) -> Connection:
        """Return the edge at an input port, which must exist."""
        return next(edge for edge in self.inputs if edge.port == port)


class Role:
    """What a stored tensor is to the graph."""

    INPUT = "input"
    RESULT = "result"


@dataclass(frozen=True)
class TensorDecl:
    """A tensor that the tile stores, with its declared capacities.

    Attributes
    ----------
    name : str
    role : str
        `Role.INPUT` or `Role.RESULT`.
    format : Format
    dims : tuple of int
        Largest size of every mode.
    positions : tuple of int
        Largest number of stored positions of every level: a compressed level's coordinate
        words; a dense level's parent positions times its size.
    fill : number
        The value of entries that are not stored; exact in the graph's value type.
    """

    name: str
    role: str
    format: Format
    dims: tuple[int, ...]
    positions: tuple[int, ...]
    fill: Number = 0

    def parents(self, level: int) -> int:
        """Capacity in positions of the level above; 1 above the outermost."""
        return self.positions[level - 1] if level else 1

    @property
    def words(self) -> int:
        """Capacity of the value array in words."""
        return self.positions[-1] if self.positions else 1

    def compressed(self) -> Iterator[int]:
        """Yield the compressed levels, outermost first."""
        for number, kind in enumerate(self.format.levels):
            if kind is LevelKind.COMPRESSED:
                yield number


@dataclass(frozen=True)
class Graph:
    """A named SAMML graph.

    Attributes
    ----------
    name : str
    value : ValueType
    indices : dict of str to int
        Every index variable and its capacity: the largest coordinate plus one.
    tensors : tuple of TensorDecl
    nodes : tuple of Node
        In topological order.
    """

    name: str
    value: ValueType = INT32
    indices: dict[str, int] = field(default_factory=dict[str, int])
    tensors: tuple[TensorDecl, ...] = ()
    nodes: tuple[Node, ...] = ()

    def tensor(self, name: str) -> TensorDecl:
        """Return the declaration of a tensor, which must exist."""
        return next(tensor for tensor in self.tensors if tensor.name == name)

    def node(self, name: str) -> Node:
        """Return the node of that name, which must exist."""
        return next(node for node in self.nodes if node.name == name)
