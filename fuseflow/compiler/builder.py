"""Building a graph node by node, with the type of every stream at hand."""

from collections.abc import Sequence
from dataclasses import dataclass

from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.graph import Connection, Node, ParamValue
from fuseflow.samml.streams import Field, StreamType
from fuseflow.samml.values import Number


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
    """Collects nodes in topological order under deterministic names."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._names: set[str] = set()
        self._repeats: dict[tuple[Wire, Stream], Wire] = {}

    def add(
        self,
        primitive: str,
        name: str,
        inputs: dict[str, Link],
        params: dict[str, ParamValue] | None = None,
    ) -> dict[str, Stream]:
        """Add a node; returns its outputs. The name gets a number where it is taken."""
        name = self._unique(name)
        entry = CATALOG[primitive]
        given = dict(params or {})
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
        self.nodes.append(Node(name, primitive, given, tuple(edges)))
        outputs = entry.outputs(name, complete, types)
        return {port: Stream(name, port, stream) for port, stream in outputs.items()}

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
        """Repeat a wire down to the innermost of nested streams; equal repeats are shared."""
        for signal in scope[wire.rank :]:
            key = (wire, signal)
            if key not in self._repeats:
                index = signal.type.levels[-1].index
                outputs = self.add(
                    "repeat",
                    f"repeat_{name}_{index}",
                    {"x": self.role(wire, "x"), "signal": Link(signal)},
                )
                self._repeats[key] = Wire(outputs["out"], outputs["out"].type.names[0])
            wire = self._repeats[key]
        return wire

    def _unique(self, name: str) -> str:
        chosen, number = name, 2
        while chosen in self._names:
            chosen, number = f"{name}_{number}", number + 1
        self._names.add(chosen)
        return chosen
