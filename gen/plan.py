"""What a tile stores and where the host finds it: arrays, memories, registers, windows.

A `Plan` is plain data derived from the graph.  The tile is built from it and the manifest
is printed from it, so the two cannot disagree.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from fuseflow.samml.errors import CapacityError, GraphError
from fuseflow.samml.graph import Graph, Role, TensorDecl
from fuseflow.samml.units import UnitGraph, UnitInstance, flatten
from hw.geometry import Geometry
from hw.layout import Widths
from hw.ram import rows

READS = {
    "scan_compressed.lookup": {"seg": ("mem_even", "mem_odd")},
    "scan_compressed.emit": {"crd": ("mem_crd",)},
    "array": {"val": ("mem_val",)},
}
"""Memory ports of the units that read a tensor: array kind to one port per bank."""

WRITES = {
    "write_crd": {"seg": ("mem_seg",), "crd": ("mem_crd",)},
    "write_val": {"val": ("mem_val",)},
}
"""Memory ports of the units that write a tensor."""

READERS_PER_MEMORY = 2
"""Ports of a block RAM; the host shares the first one while the tile is idle."""

LARGEST_TILE = 2**26
"""Most words of all memories and FIFOs: more than any device has, and quick to convert."""

LARGEST_ACCUMULATOR = 2**18
"""Most coordinates that an accumulate keeps: it has a register for every 64 of them."""

WORD_BYTES = 4
REGISTER_BYTES = 0x400
"""Least size of the register block."""


class Port(NamedTuple):
    """A memory port of a unit: the unit's position and the port's name."""

    unit: int
    name: str


@dataclass(frozen=True)
class MemoryPlan:
    """One memory of the tile.

    Attributes
    ----------
    name : str
        Instance name in the tile; its words are the Verilog array ``<name>.mem.rows``.
    depth, width : int
        Words, and bits of a word.
    readers : tuple of Port
        At most `READERS_PER_MEMORY`; the host writes such a memory.
    writer : Port or None
        The unit that fills it; the host only reads it then.
    """

    name: str
    depth: int
    width: int
    readers: tuple[Port, ...] = ()
    writer: Port | None = None


@dataclass(frozen=True)
class ArrayPlan:
    """One stored array of a tensor: word i is row ``i // n`` of bank ``i % n``, n banks.

    Attributes
    ----------
    tensor, name : str
        The array's name is ``seg<level>``, ``crd<level>`` or ``val``.
    kind : str
    level : int or None
    words, width : int
        Declared capacity in words, and bits of a word.
    role : str
    banks : tuple of tuple of MemoryPlan
        For every bank its copies, which hold the same words.
    """

    tensor: str
    name: str
    kind: str
    level: int | None
    words: int
    width: int
    role: str
    banks: tuple[tuple[MemoryPlan, ...], ...]

    @property
    def counted(self) -> bool:
        """Whether its unit counts the words it appends."""
        return self.role == Role.RESULT and self.kind != "seg"

    @property
    def memories(self) -> Iterator[MemoryPlan]:
        """Every memory of the array."""
        return (memory for copies in self.banks for memory in copies)


class Access(Enum):
    """What the host may do with a register or window."""

    READ = "ro"
    WRITE = "wo"
    BOTH = "rw"


@dataclass(frozen=True)
class Register:
    """One 32-bit register at a byte address."""

    name: str
    address: int
    access: Access
    doc: str


@dataclass(frozen=True)
class Window:
    """The address range of one array: word i lies at ``base + 4*i``.

    Attributes
    ----------
    array : ArrayPlan
    base, size : int
        Byte address, a multiple of the size, which is a power of two.
    """

    array: ArrayPlan
    base: int
    size: int

    @property
    def access(self) -> Access:
        """Inputs are read and written, results only read."""
        return Access.BOTH if self.array.role == Role.INPUT else Access.READ


@dataclass(frozen=True)
class Plan:
    """Everything about a tile but its logic.

    Attributes
    ----------
    graph : Graph
    units : UnitGraph
    widths : Widths
    arrays : tuple of ArrayPlan
        Arrays that a unit reads or writes; one that no unit uses is not built.
    registers : tuple of Register
    windows : tuple of Window
    register_bytes, address_bits : int
        Size of the register block, and of a byte address.
    """

    graph: Graph
    units: UnitGraph
    widths: Widths
    arrays: tuple[ArrayPlan, ...]
    registers: tuple[Register, ...]
    windows: tuple[Window, ...]
    register_bytes: int
    address_bits: int

    @property
    def top(self) -> str:
        """Name of the top module; the prefix keeps it clear of SystemVerilog's keywords."""
        return "ff_" + identifier(self.graph.name)

    def bench_ports(self) -> tuple[str, ...]:
        """Return the ports that only graphs with sources and sinks have."""
        members = {"source": "count", "sink": "streams"}
        return tuple(
            f"{identifier(unit.node.name)}_{members[unit.kind]}"
            for unit in self.units.units
            if unit.kind in members
        )

    @classmethod
    def of(cls, graph: Graph) -> "Plan":
        """Plan the tile of a graph.

        Raises
        ------
        GraphError
            The graph is ill-formed, never ends, or two of its names
            clash in the RTL.
        CapacityError
            Its memories, FIFOs or accumulators are larger than a tile can be.
        """
        units = flatten(graph)
        _check(graph, units)
        widths = Widths.of(graph)
        arrays = tuple(
            array for tensor in graph.tensors for array in _arrays(tensor, units, widths)
        )
        _check_capacity(units, arrays)
        registers = tuple(_registers(graph, arrays))
        register_bytes = max(REGISTER_BYTES, _power(registers[-1].address + WORD_BYTES))
        windows = tuple(_windows(arrays, register_bytes))
        end = windows[-1].base + windows[-1].size if windows else register_bytes
        return cls(
            graph, units, widths, arrays, registers, windows, register_bytes,
            (end - 1).bit_length(),
        )  # fmt: skip


def identifier(name: str) -> str:
    """Return a name as a Verilog identifier."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def instance(what: str, name: str) -> str:
    """Return the instance name of a unit, an edge or a memory."""
    return f"{what}_{identifier(name)}"


def shape_register(tensor: str, mode: int) -> str:
    """Return the name of a shape register."""
    return f"shape_{identifier(tensor)}_{mode}"


def count_register(tensor: str, array: str) -> str:
    """Return the name of the register that counts the words of a result array."""
    return f"count_{identifier(tensor)}_{array}"


def ends(units: UnitGraph) -> tuple[int, ...]:
    """Return the units that must finish before a run is done: writers and sinks."""
    return tuple(k for k, unit in enumerate(units.units) if unit.kind in (*WRITES, "sink"))


def _check(graph: Graph, units: UnitGraph) -> None:
    problems: list[str] = []
    if not ends(units):
        problems.append(
            f"graph '{graph.name}' has no writer and no sink, so a run would never end: add one"
        )
    for what, names in (
        ("node", [unit.name for unit in units.units]),
        ("edge", [edge.name for edge in units.edges]),
        ("tensor", [tensor.name for tensor in graph.tensors]),
    ):
        first: dict[str, str] = {}
        for name in names:
            other = first.setdefault(identifier(name), name)
            if other != name:
                problems.append(
                    f"{what}s '{other}' and '{name}' have one name in Verilog: rename one"
                )
    for unit in units.units:
        if unit.kind in READS and graph.tensor(_tensor(unit)).role != Role.INPUT:
            problems.append(
                f"node '{unit.node.name}' reads '{_tensor(unit)}', a result of the same tile: "
                "declare another tensor for it"
            )
    if problems:
        raise GraphError(*problems)


def _check_capacity(units: UnitGraph, arrays: tuple[ArrayPlan, ...]) -> None:
    """Refuse what could not be converted to Verilog in any useful time."""
    for node in units.graph.nodes:
        kept = Geometry.of(node.params, units.graph).depth if node.primitive == "accumulate" else 0
        if kept > LARGEST_ACCUMULATOR:
            raise CapacityError(
                f"node '{node.name}' keeps sums of {kept} coordinates, a tile at most "
                f"{LARGEST_ACCUMULATOR}: lower the sizes (--dim), or use an order with the sum "
                "further inside"
            )
    depths = {
        f"array {array.tensor}.{array.name}": sum(memory.depth for memory in array.memories)
        for array in arrays
    }
    depths |= {f"edge {edge.name}": edge.depth for edge in units.edges}
    total = sum(depths.values())
    if total > LARGEST_TILE:
        largest = max(depths, key=depths.__getitem__)
        raise CapacityError(
            f"the tile needs {total} words, {depths[largest]} of them for {largest}, and holds at "
            f"most {LARGEST_TILE}: lower capacities (--capacity) or sizes (--dim)"
        )


def _tensor(unit: UnitInstance) -> str:
    return str(unit.node.params["tensor"])


def _arrays(tensor: TensorDecl, units: UnitGraph, widths: Widths) -> Iterator[ArrayPlan]:
    for level in tensor.compressed():
        words = tensor.parents(level) + 1
        yield from _array(tensor, units, "seg", level, words, widths.ref)
        yield from _array(tensor, units, "crd", level, tensor.positions[level], widths.crd)
    yield from _array(tensor, units, "val", None, tensor.words, widths.value.bits)


def _array(
    tensor: TensorDecl, units: UnitGraph, kind: str, level: int | None, words: int, width: int
) -> Iterator[ArrayPlan]:
    table = READS if tensor.role == Role.INPUT else WRITES
    users = [
        (position, table[unit.kind][kind])
        for position, unit in enumerate(units.units)
        if kind in table.get(unit.kind, {})
        and _tensor(unit) == tensor.name
        and unit.node.params.get("level") == level
    ]
    if not users:
        return
    name = kind if level is None else f"{kind}{level}"
    stem = f"mem_{identifier(tensor.name)}_{name}"
    bank_count = len(users[0][1])
    words = max(words, bank_count)
    banks = tuple(
        tuple(
            _copies(
                stem if bank_count == 1 else f"{stem}_{('even', 'odd')[bank]}",
                rows((words - bank + bank_count - 1) // bank_count),
                width,
                [Port(position, ports[bank]) for position, ports in users],
                tensor.role,
            )
        )
        for bank in range(bank_count)
    )
    yield ArrayPlan(tensor.name, name, kind, level, words, width, tensor.role, banks)


def _copies(
    stem: str, depth: int, width: int, users: list[Port], role: str
) -> Iterator[MemoryPlan]:
    if role == Role.RESULT:
        yield MemoryPlan(stem, depth, width, writer=users[0])
        return
    for copy, first in enumerate(range(0, len(users), READERS_PER_MEMORY)):
        readers = tuple(users[first : first + READERS_PER_MEMORY])
        yield MemoryPlan(f"{stem}_copy{copy}" if copy else stem, depth, width, readers)


_FIXED = (
    ("id", 0x00, Access.READ, "0x45535546, the letters FUSE"),
    ("version", 0x04, Access.READ, "version of this register map, major in the upper half"),
    ("hash_lo", 0x08, Access.READ, "graph hash, bits 31..0"),
    ("hash_hi", 0x0C, Access.READ, "graph hash, bits 63..32"),
    ("control", 0x10, Access.WRITE, "bit 0: start a run; refused while one is under way"),
    ("status", 0x14, Access.READ, "bit 0 busy, bit 1 done, bit 2 overflow (sticky)"),
    (
        "error",
        0x18,
        Access.READ,
        "first error since the last accepted start: 0 none, 1 coordinate out of range, "
        "2 result overrun, 3 start while busy",
    ),
    ("cycles_lo", 0x20, Access.READ, "cycles of the run, bits 31..0; frozen when done"),
    ("cycles_hi", 0x24, Access.READ, "cycles of the run, bits 47..32"),
)
_FIRST_FREE = 0x40


def _registers(graph: Graph, arrays: tuple[ArrayPlan, ...]) -> Iterator[Register]:
    for entry in _FIXED:
        yield Register(*entry)
    address = _FIRST_FREE
    for tensor in graph.tensors:
        for mode, size in enumerate(tensor.dims):
            doc = f"size of mode {mode} of {tensor.name}, at most {size}"
            yield Register(shape_register(tensor.name, mode), address, Access.BOTH, doc)
            address += WORD_BYTES
    for array in arrays:
        if array.counted:
            doc = f"words of {array.tensor}.{array.name} that the last run appended"
            yield Register(count_register(array.tensor, array.name), address, Access.READ, doc)
            address += WORD_BYTES


def _windows(arrays: tuple[ArrayPlan, ...], first: int) -> Iterator[Window]:
    free = first
    for array in arrays:
        size = _power(array.words * WORD_BYTES)
        base = -(-free // size) * size
        yield Window(array, base, size)
        free = base + size


def _power(size: int) -> int:
    """Return the least power of two that is not below size."""
    return 1 << (size - 1).bit_length()
