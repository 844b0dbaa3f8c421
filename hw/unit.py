"""What every unit's component has in common: its ports, derived from the catalog.

A unit reads edges through ``r_<port>`` and writes streams through ``w_<stream>``; the tile joins
a written stream to its readers with `fork`.  Everything else a unit may need is optional and
declared by the class in `ports`:

* ``start``: high in cycle 0 of a run, and in no other cycle.
* ``size`` or ``size_<k>``: run-time sizes, `Widths.crd` bits.
* memory ports, `MemoryRead` and `MemoryWrite`, named ``mem_<array>``.
* ``finished``: high in the cycle in which a writer or sink takes its last token.
* ``count``: how many words a writer has appended in this run.
* ``overflow``, ``range_error``, ``overrun``: high in a cycle that raises the sticky flag.
* ``banks``: storage that the units of one node share (accumulate).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth import Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fuseflow.samml.graph import Graph
from fuseflow.samml.streams import StreamType
from fuseflow.samml.units import UnitGraph, UnitInstance
from hw.component import Component
from hw.edge import Edge, Reader, Writer
from hw.layout import Widths, token_layout
from hw.ram import below


class MemoryRead(wiring.Signature):
    """A synchronous read port: the data of an address given in cycle t come in t + 1.

    Parameters
    ----------
    words : int
        Words of the memory; the address has just the bits that they need.
    shape : shape-like
        Shape of a word.
    """

    def __init__(self, words: int, shape: Any) -> None:
        super().__init__({"addr": Out(below(words)), "data": In(shape)})


class MemoryWrite(wiring.Signature):
    """A write port.

    Parameters
    ----------
    words : int
        Words of the memory; the address has just the bits that they need.
    shape : shape-like
        Shape of a word.
    """

    def __init__(self, words: int, shape: Any) -> None:
        super().__init__({"addr": Out(below(words)), "data": Out(shape), "en": Out(1)})


class UnitComponent(Component):
    """Base of all units.

    Parameters
    ----------
    unit : UnitInstance
        The unit to build, with its node's parameters.
    units : UnitGraph
        The flattened graph it stands in; gives the types of its edges.
    widths : Widths
        Field widths of the tile.
    """

    def __init__(self, unit: UnitInstance, units: UnitGraph, widths: Widths) -> None:
        self.unit = unit
        self.params: Mapping[str, Any] = unit.node.params
        self.graph: Graph = units.graph
        self.widths = widths
        self.read_types: dict[str, StreamType] = {
            port: units.edges[edge].type
            for port, edge in zip(unit.unit.reads, unit.reads, strict=True)
        }
        self.write_types: dict[str, StreamType] = dict(
            zip(unit.unit.writes, unit.bundles, strict=True)
        )
        ports: dict[str, Any] = {
            f"r_{port}": Out(Reader(token_layout(stream, widths)))
            for port, stream in self.read_types.items()
        }
        ports |= {
            f"w_{name}": Out(Writer(token_layout(stream, widths)))
            for name, stream in self.write_types.items()
        }
        ports |= self.ports()
        super().__init__(ports)

    def ports(self) -> Mapping[str, Any]:
        """Return the ports a unit has beside its edges."""
        return {}

    def read_layout(self, port: str) -> data.StructLayout:
        """Return the layout of the tokens of an input port."""
        return token_layout(self.read_types[port], self.widths)

    def write_layout(self, stream: str) -> data.StructLayout:
        """Return the layout of the tokens of a written stream."""
        return token_layout(self.write_types[stream], self.widths)


def fork(
    m: Module, writer: Any, edges: Sequence[tuple[Edge, tuple[str, ...], tuple[str, ...]]]
) -> None:
    """Join a written stream to all its readers, which are issued to in one firing.

    Parameters
    ----------
    m : Module
    writer : interface of `Writer`
        The unit's ``w_<stream>``.
    edges : list of (Edge, names, taken)
        Every edge that reads the stream, its field names, and the writer's field for each.
    """
    room: Value = edges[0][0].w.room if edges else Const(1)
    for edge, _, _ in edges[1:]:
        room = room & edge.w.room
    m.d.comb += writer.room.eq(room)
    for edge, names, taken in edges:
        m.d.comb += [
            edge.w.issue.eq(writer.issue),
            edge.w.push.eq(writer.push),
            edge.w.token.close.eq(writer.token.close),
            edge.w.token.empty.eq(writer.token.empty),
        ]
        for name, source in zip(names, taken, strict=True):
            m.d.comb += edge.w.token.data[name].eq(writer.token.data[source])
