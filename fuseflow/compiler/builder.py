"""Building a graph node by node, with the type of every stream at hand."""

from collections.abc import Sequence
from dataclasses import dataclass

from fuseflow.compiler.sharing import Shared
from fuseflow.compiler.table import VALUE, FusionTable
from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.graph import Connection, Node, ParamValue
from fuseflow.samml.streams import Field, Kind, StreamType
from fuseflow.samml.values import Number

MOST_NODES = 320
"""Nodes of the largest graph that is built, before what nobody reads is removed."""


def check_size(nodes: int) -> None:
    """Check that a graph of at least so many nodes may be built.

    Raises
    ------
    LoweringError
        It may not.
    """
    if nodes > MOST_NODES:
        raise LoweringError(
            f"the region needs more than {MOST_NODES} nodes: split it, so that what many "
            "statements read is stored"
        )


@dataclass(frozen=True)
class Stream:
    """An output of a node that has been built."""

    node: str
    output: str
    type: StreamType


@dataclass(frozen=True)
class Wire:
    """One field of a stream."""

    stream: Stream
    field: str

    @property
    def rank(self) -> int:
        """Nesting depth of its stream."""
        return self.stream.type.rank


@dataclass(frozen=True)
class Link:
    """An input edge to be: fields of a stream, under the reader's names."""

    stream: Stream
    fields: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Builder:
    """Makes nodes in topological order, under deterministic names, and fills a table with them.

    `shared` finds the nodes that have been made already.
    """

    def __init__(self, table: FusionTable | None = None) -> None:
        self.nodes: list[Node] = []
        self.table = table or FusionTable(())
        self.shared = Shared[dict[str, Stream]]()
        self._names: set[str] = set()

    def add(
        self,
        primitive: str,
        name: str,
        inputs: dict[str, Link],
        params: dict[str, ParamValue] | None = None,
    ) -> dict[str, Stream]:
        """Add a node, or find it; returns its outputs. A name that is taken gets a number."""
        given = dict(params or {})
        outputs, known = self.shared.get(
            primitive, inputs, given,
            lambda: self._make(primitive, self._unique(name), inputs, given),
        )  # fmt: skip
        if known and outputs:
            first = next(iter(outputs.values()))
            self.table.refer(_row(outputs, inputs), first.node)
        return outputs

    def _make(
        self, primitive: str, name: str, inputs: dict[str, Link], given: dict[str, ParamValue]
    ) -> dict[str, Stream]:
        check_size(len(self.nodes))
        entry = CATALOG[primitive]
        complete = entry.complete(given)
        types: dict[str, StreamType] = {}
        edges: list[Connection] = []
        for port in entry.inputs(complete):
            link = inputs[port.name]
            source = link.stream.type
            kinds = {field.name: field.kind for field in source.fields}
            types[port.name] = StreamType(
                tuple(
                    Field(new, kinds[old]) for new, old in zip(link.names, link.fields, strict=True)
                ),
                source.levels,
            )
            edges.append(
                Connection(port.name, link.stream.node, link.stream.output, link.fields, link.names)
            )
        made = entry.outputs(name, complete, types)
        outputs = {port: Stream(name, port, stream) for port, stream in made.items()}
        self.nodes.append(Node(name, primitive, given, tuple(edges)))
        self.table.put(_row(outputs, inputs), self.nodes[-1])
        return outputs

    def role(self, wire: Wire, role: str) -> Link:
        """Return a link that takes one field for one role."""
        return Link(wire.stream, (wire.field,), (role,))

    def alu(self, op: str, a: Wire, b: Wire, *, wide: bool = False) -> Wire:
        """Combine two aligned values."""
        params: dict[str, ParamValue] = {"op": op, "wide": True} if wide else {"op": op}
        outputs = self.add("alu", op, {"a": self.role(a, "a"), "b": self.role(b, "b")}, params)
        return Wire(outputs["out"], "val")

    def unary(self, op: str, a: Wire, constant: Number | None = None) -> Wire:
        """Apply a function of one value, or of a value and a constant."""
        params: dict[str, ParamValue] = {"op": op}
        if constant is not None:
            params["constant"] = constant
        return Wire(self.add("unary", op, {"a": self.role(a, "a")}, params)["out"], "val")

    def lift(self, wire: Wire, scope: Sequence[Stream], name: str) -> Wire:
        """Repeat a wire down to the innermost of nested streams."""
        for signal in scope[wire.rank :]:
            index = signal.type.levels[-1].index
            links = {"x": self.role(wire, "x"), "signal": Link(signal)}
            out = self.add("repeat", f"repeat_{name}_{index}", links)["out"]
            wire = Wire(out, out.type.names[0])
        return wire

    def _unique(self, name: str) -> str:
        chosen, number = name, 2
        while chosen in self._names:
            chosen, number = f"{name}_{number}", number + 1
        self._names.add(chosen)
        return chosen


def _row(outputs: dict[str, Stream], inputs: dict[str, Link]) -> str:
    """Return the row of a node: the loop whose coordinates or references it makes, or values."""
    streams = [stream.type for stream in outputs.values()] or [
        StreamType(tuple(f for f in link.stream.type.fields if f.name in link.fields),
                   link.stream.type.levels)
        for link in inputs.values()
    ]  # fmt: skip
    for stream in streams:
        if stream.levels and any(field.kind in (Kind.CRD, Kind.REF) for field in stream.fields):
            return stream.levels[-1].index
    return VALUE
