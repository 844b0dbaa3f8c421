"""Which loops of a graph do the same in every iteration, whatever the values are.

A loop is the scan that makes it. What differs from one of its iterations to the next is *loose*:
the scan's coordinates and references, and what is made of them. Where nothing loose decides which
tokens pass, every iteration has the same control (docs/rfcs/0010-closed-form-runs.md).
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from fuseflow.samml.graph import Extent
from fuseflow.samml.parts import parts
from fuseflow.samml.streams import Kind
from fuseflow.samml.units import UnitGraph, UnitInstance
from sim_models.ragged import Words
from sim_models.storage import Storage

SCANS = ("scan_dense", "scan_compressed.emit")


@dataclass(frozen=True)
class Loop:
    """A loop whose iterations have the same control.

    Attributes
    ----------
    unit : int
        The scan that makes it, by number.
    together : frozenset of int
        The scans that go through the same coordinates side by side, itself included.
    rank : int
        Loops around it.
    fixed : tuple of tuple of int
        For every edge, the fields, by number, that do not differ from iteration to iteration.
    bundles : tuple of tuple of int
        The same of the first bundle of every unit.
    fibers : tuple of int
        The lookups of the compressed level that the scan's references lead to: there iterations
        have the same control as far as their fibers store the same coordinates.
    """

    unit: int
    together: frozenset[int]
    rank: int
    fixed: tuple[tuple[int, ...], ...]
    bundles: tuple[tuple[int, ...], ...]
    fibers: tuple[int, ...]


def find_loops(graph: UnitGraph, storage: Storage, decided: Collection[str]) -> tuple[Loop, ...]:
    """Return the loops of a graph whose iterations have the same control, the outermost first.

    Parameters
    ----------
    graph : UnitGraph
    storage : Storage
    decided : collection of str
        The drop_value nodes of which it is known what they drop.
    """
    if any(unit.kind in ("source", "sink") for unit in graph.units):
        return ()
    found: list[Loop] = []
    for part in parts(graph.graph):
        for number, unit in enumerate(graph.units):
            if unit.kind in SCANS and unit.node.name in part:
                loop = _Taint(graph, storage, decided, number, part).loop()
                if loop is not None:
                    found.append(loop)
    return tuple(sorted(found, key=lambda loop: loop.rank))


class _LooseError(Exception):
    """Something loose decides which tokens pass."""


class _Taint:
    """Follows what is loose through the units, which stand in dataflow order."""

    def __init__(
        self,
        graph: UnitGraph,
        storage: Storage,
        decided: Collection[str],
        scan: int,
        part: Collection[str],
    ) -> None:
        self.graph = graph
        self.storage = storage
        self.decided = decided
        self.scan = scan
        self.part = part
        self.loose: dict[tuple[int, int], set[int]] = {}
        self.fibers: list[int] = []

    def loop(self) -> Loop | None:
        graph = self.graph
        together = frozenset(
            number for number, unit in enumerate(graph.units) if self._beside(unit)
        )
        try:
            for number, unit in enumerate(graph.units):
                for port, bundle in enumerate(unit.bundles):
                    if number in together:
                        loose = set(range(len(bundle.fields)))
                    else:
                        loose = self._made(unit, port)
                    self.loose[number, port] = loose
            for number, unit in enumerate(graph.units):
                self._check(number, unit)
        except _LooseError:
            return None
        return Loop(
            unit=self.scan,
            together=together,
            rank=self._rank(graph.units[self.scan]),
            fixed=tuple(self._fixed(k) for k in range(len(graph.edges))),
            bundles=tuple(
                tuple(k for k in range(len(unit.bundles[0].fields)) if k not in self.loose[u, 0])
                if unit.bundles
                else ()
                for u, unit in enumerate(graph.units)
            ),
            fibers=tuple(self.fibers),
        )

    def _rank(self, unit: UnitInstance) -> int:
        return self.graph.edges[unit.reads[0]].type.rank

    def _beside(self, unit: UnitInstance) -> bool:
        """Tell whether a scan goes through the coordinates of this one, beside it."""
        scan = self.graph.units[self.scan]
        if unit is scan:
            return True
        return (
            unit.node.name in self.part
            and scan.kind == unit.kind == "scan_dense"
            and self._rank(scan) == self._rank(unit) == 0
            and self._size(scan) == self._size(unit)
        )

    def _size(self, unit: UnitInstance) -> int:
        extent = unit.node.params["size"]
        return self.storage.size(extent)  # pyright: ignore[reportArgumentType]

    def _of_edge(self, number: int) -> set[int]:
        """Return the loose fields of an edge."""
        edge = self.graph.edges[number]
        port = next(
            port
            for port, readers in enumerate(self.graph.units[edge.writer].writes)
            if number in readers
        )
        loose = self.loose[edge.writer, port]
        return {k for k, column in enumerate(edge.columns) if column in loose}

    def _fixed(self, number: int) -> tuple[int, ...]:
        """Return the fields of an edge that are compared: positions that are not loose."""
        fields = self.graph.edges[number].type.fields
        loose = self._of_edge(number)
        values = (Kind.VAL, Kind.SUM)
        return tuple(
            k for k, each in enumerate(fields) if k not in loose and each.kind not in values
        )

    def _made(self, unit: UnitInstance, port: int) -> set[int]:
        """Return the loose fields of what a unit writes."""
        reads = [self._of_edge(k) for k in unit.reads]
        any_loose = any(reads)
        fields = unit.bundles[port].fields
        everything = set(range(len(fields)))
        values = {k for k, each in enumerate(fields) if each.kind in (Kind.VAL, Kind.SUM)}
        match unit.kind:
            case "root":
                return set()
            case "scan_dense":
                return {1} & everything if reads[0] else set()
            case "scan_compressed.lookup":
                return everything if reads[0] else set()
            case "scan_compressed.emit":
                # The coordinates are alike where the level's fibers are; the positions are not.
                return {1} & everything if reads[0] else set()
            case "reduce" | "accumulate.fill":
                # A fold over the loop differs even where what it folds does not.
                return values
            case "accumulate.emit":
                return values
            case "repeat":
                return reads[0]
            case "intersect" | "union":
                left = len(self.graph.edges[unit.reads[0]].type.fields)
                return reads[0] | {left - 1 + k for k in reads[1] if k > 0} | (reads[1] & {0})
            case "drop_value":
                crds = len(self.graph.edges[unit.reads[0]].type.fields)
                return reads[0] | {crds + k for k in reads[1]}
            case "drop_empty.drop_outer" | "drop_empty.drop_inner":
                return reads[0]
            case _:
                return everything if any_loose else set()

    def _check(self, number: int, unit: UnitInstance) -> None:
        """Refuse what is loose where it decides which tokens pass, or when."""
        reads = [self._of_edge(k) for k in unit.reads]
        match unit.kind:
            case "intersect" | "union":
                refused = 0 in reads[0] or 0 in reads[1]
            case "scan_compressed.lookup":
                refused = bool(reads[0]) and not self._alike(unit)
                if refused and self._follows(unit):
                    self.fibers.append(number)
                    refused = False
            case "accumulate.fill":
                refused = bool(reads[0]) or any(map(bool, reads[2:]))
            case "drop_value":
                refused = bool(reads[1]) and unit.node.name not in self.decided
            case _:
                refused = False
        if refused:
            raise _LooseError

    def _alike(self, unit: UnitInstance) -> bool:
        """Tell whether all fibers of a tensor's outermost dense level are stored alike.

        Only for the outermost loop, whose coordinates are the positions of that level.
        """
        tensor = str(unit.node.params["tensor"])
        scan = self.graph.units[self.scan]
        declared = self.graph.graph.tensor(tensor)
        if self._rank(scan) != 0 or scan.kind != "scan_dense" or declared.format.rank == 0:
            return False
        image = self.storage.images.get(tensor)
        if image is None or image.segs[0] is not None:
            return False
        order = declared.format.order
        size = image.shape[order[0]]
        return (
            size == self._size(scan)
            and not self._strays(tensor, order[0])
            and _repeats(image.segs, image.crds, image.shape, order, size)
        )

    def _follows(self, lookup: UnitInstance) -> bool:
        """Tell whether a lookup gets the scan's references, one for each iteration, from the first.

        The scan's own come from the root, through loops that are dense and references that are
        never null, so that each of its fibers is as long as the others.
        """
        graph = self.graph
        edge, unit = graph.edges[lookup.reads[0]], graph.units[self.scan]
        if unit.kind != "scan_dense" or edge.writer != self.scan or edge.columns != (1,):
            return False
        makers = {level.maker for level in graph.edges[unit.reads[0]].type.levels}
        primitives = {each.name: each.primitive for each in graph.graph.nodes}
        while unit.kind in ("scan_dense", "repeat"):
            unit = graph.units[graph.edges[unit.reads[0]].writer]
        dense = all(primitives.get(maker) == "scan_dense" for maker in makers)
        return dense and unit.kind == "root" and self._size(graph.units[self.scan]) > 0

    def _strays(self, tensor: str, outermost: int) -> bool:
        """Tell whether a loose coordinate indexes another level of a tensor than its outermost."""
        return any(
            unit.kind == "locate"
            and isinstance(extent := unit.node.params["size"], Extent)
            and extent.tensor == tensor
            and extent.mode != outermost
            and bool(self._of_edge(unit.reads[0]))
            for unit in self.graph.units
        )


def _repeats(
    segs: tuple[object, ...],
    crds: tuple[object, ...],
    shape: tuple[int, ...],
    order: tuple[int, ...],
    size: int,
) -> bool:
    """Tell whether a tensor's levels below its outermost one are the same under every position."""
    positions = size
    for level in range(1, len(segs)):
        if segs[level] is None:
            positions *= shape[order[level]]
            continue
        counts = np.diff(np.asarray(segs[level]))
        crd = np.asarray(crds[level])
        if len(crd) % size or len(counts) != positions:
            return False
        counts, crd = counts.reshape(size, -1), crd.reshape(size, -1)
        if (counts != counts[:1]).any() or (crd != crd[:1]).any():
            return False
        positions = crd.size
    return True


def classes(storage: Storage, tensor: str, level: int) -> Words:
    """Return a number for every fiber of a compressed level: equal where they store the same."""
    seg = np.asarray(storage.seg(tensor, level), np.int64)
    crd = np.asarray(storage.crd(tensor, level), np.int64)
    known: dict[bytes, int] = {}
    bounds = zip(seg[:-1].tolist(), seg[1:].tolist(), strict=True)
    found = [known.setdefault(crd[at:end].tobytes(), len(known)) for at, end in bounds]
    return np.array(found, np.int64)
