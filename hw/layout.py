"""Bit layouts of tokens: the widths that a tile's declared capacities need."""

from dataclasses import dataclass
from typing import Any

from amaranth import Shape, signed, unsigned
from amaranth.lib import data
from amaranth.utils import bits_for

from fuseflow.samml.graph import Graph
from fuseflow.samml.streams import Kind, StreamType
from fuseflow.samml.values import ValueType


def word(value: ValueType) -> Shape:
    """Return the shape of a word: signed for integers, the bit pattern for floating point."""
    return unsigned(value.bits) if value.is_float else signed(value.bits)


@dataclass(frozen=True)
class Widths:
    """Field widths in bits, from the declared capacities of a graph.

    Attributes
    ----------
    crd : int
        Holds every coordinate, and every size (so the capacity itself).
    ref : int
        Holds every position of every level, and one past the last.
    value : ValueType
        What a value is.
    """

    crd: int
    ref: int
    value: ValueType

    @classmethod
    def of(cls, graph: Graph) -> "Widths":
        """Compute the widths of a graph."""
        sizes = [1, *graph.indices.values()]
        positions = [1]
        for tensor in graph.tensors:
            sizes += tensor.dims
            positions += tensor.positions
        return cls(bits_for(max(sizes)), bits_for(max(positions)), graph.value)


REF_NULL = "null"


def field_layout(kind: Kind, widths: Widths) -> data.StructLayout | Shape:
    """Layout of one field: a ref is ``{addr, null}``, everything else a number."""
    match kind:
        case Kind.CRD:
            return unsigned(widths.crd)
        case Kind.POS:
            return unsigned(widths.ref)
        case Kind.VAL:
            return word(widths.value)
        case Kind.SUM:
            return word(widths.value.wide)
        case Kind.REF:
            return data.StructLayout({"addr": unsigned(widths.ref), REF_NULL: unsigned(1)})


def token_layout(stream: StreamType, widths: Widths) -> data.StructLayout:
    """Layout of a token: ``close``, ``empty`` and, if the stream has fields, ``data``.

    The first field is the least significant; `gen.manifest` tells these offsets.
    """
    height = max(1, bits_for(stream.rank))
    members: dict[str, Any] = {"close": unsigned(height), "empty": unsigned(height)}
    if stream.fields:
        members["data"] = data.StructLayout(
            {field.name: field_layout(field.kind, widths) for field in stream.fields}
        )
    return data.StructLayout(members)
