"""Laying out a flattened graph in the kernel's memory."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from fuseflow.samml.gates import OPEN_HEAD, OPEN_ROOM, Gates
from fuseflow.samml.graph import Extent, ParamValue
from fuseflow.samml.streams import StreamType
from fuseflow.samml.tokens import Nested
from fuseflow.samml.units import UnitEdge, UnitGraph, UnitInstance
from sim_models.cycle.edges import SIGNED_START
from sim_models.cycle.heap import Heap
from sim_models.cycle.layout import (
    DIGESTS,
    E_BASE,
    E_COLUMNS,
    E_DEPTH,
    E_FIELDS,
    E_HEAD_GATE,
    E_ISSUE_DIGEST,
    E_LATENCY,
    E_LIMIT,
    E_MASK,
    E_POP_DIGEST,
    E_READER,
    E_ROOM_GATE,
    E_STRIDE,
    E_WRITER,
    EDGE_WORDS,
    GATED,
    LIMIT,
    QUEUE,
    QUEUE_COUNT,
    QUEUE_SIZE,
    S_FIELDS,
    U_BUNDLES,
    U_KIND,
    U_LAST,
    U_PARAMS,
    U_PORTS,
    U_QUEUED,
    U_RANK,
    U_READ_COUNT,
    U_READS,
    U_STATE,
    UNBOUNDED,
    UNIT_WORDS,
)
from sim_models.cycle.touched import (
    A_MASK,
    A_SIZE,
    A_STORE,
    A_TIMES,
    A_TOPS,
    A_VALS,
    A_WORDS,
    ACCUMULATOR_WORDS,
)
from sim_models.cycle.units import KINDS
from sim_models.cycle.words import field_type, raw
from sim_models.storage import Storage

Ideal = Literal["unlimited", "banks"] | None

UNBOUNDED_RING = 8
"""Slots that the ring of an unbounded edge starts with."""
ROW_STORE = 1 << 12
"""Words that a row store starts with."""


class Builder:
    """Lays out units, edges and arrays; handed to every primitive's ``setup``.

    Parameters
    ----------
    graph : UnitGraph
    storage : Storage
    streams : mapping of str to sequence of Nested
        What every source plays.
    ideal : {None, 'unlimited', 'banks'}
        Whether edges are unbounded and latencies 1, and whether banks are unlimited too.
    """

    def __init__(
        self,
        graph: UnitGraph,
        storage: Storage,
        streams: Mapping[str, Sequence[Nested]],
        ideal: Ideal,
    ) -> None:
        self.graph = graph
        self.storage = storage
        self.streams = streams
        self.ideal: Ideal = ideal
        self.value = graph.graph.value
        self.heap = Heap()
        self.units = [self.heap.reserve(UNIT_WORDS) for _ in graph.units]
        self.edges = [self.heap.reserve(EDGE_WORDS) for _ in graph.edges]
        self._arrays: dict[tuple[str, int, str], tuple[int, int]] = {}
        self._accumulators: dict[str, int] = {}
        for edge, offset in zip(graph.edges, self.edges, strict=True):
            self._lay_edge(edge, offset)
        for unit, offset in zip(graph.units, self.units, strict=True):
            self._lay_unit(unit, offset)
        self._lay_queue()

    # --- for the primitives' setup ---------------------------------------------------

    def size(self, extent: ParamValue) -> int:
        """Return a run-time size."""
        assert isinstance(extent, Extent)
        return self.storage.size(extent)

    def reserve(self, words: int) -> int:
        """Return the offset of a fresh block of zeros."""
        return self.heap.reserve(words)

    def place(self, words: Sequence[int]) -> int:
        """Copy words to a fresh block and return its offset."""
        return self.heap.place(words)

    def array(self, unit: UnitInstance, which: Literal["seg", "crd"]) -> tuple[int, int]:
        """Return where a compressed level's array is, and its length."""
        tensor, level = str(unit.node.params["tensor"]), unit.node.params["level"]
        assert isinstance(level, int)
        key = tensor, level, which
        if key not in self._arrays:
            read = self.storage.seg if which == "seg" else self.storage.crd
            words = np.asarray(read(tensor, level), np.int64)
            self._arrays[key] = self.heap.place(words), len(words)
        return self._arrays[key]

    def values(self, tensor: str) -> tuple[int, int]:
        """Return where a tensor's value array is, and its length."""
        key = tensor, -1, "val"
        if key not in self._arrays:
            words = raw(self.value, np.asarray(self.storage.vals(tensor), np.int64))
            self._arrays[key] = self.heap.place(words), len(words)
        return self._arrays[key]

    def number(self, number: ParamValue) -> int:
        """Return the raw word of a number of the graph's value type."""
        assert isinstance(number, int | float)
        return raw(self.value, self.value.encode(number))

    def masks(self, bundle: StreamType) -> list[int]:
        """Return, for every field, what its words are masked with to give raw words."""
        types = (field_type(self.value, field.kind) for field in bundle.fields)
        return [-1 if value is None else (1 << value.bits) - 1 for value in types]

    def accumulator(self, node: str, size: int, *, timed: bool) -> int:
        """Return where an accumulator's values, touched set and row store are."""
        if node not in self._accumulators:
            block = self.heap.reserve(ACCUMULATOR_WORDS)
            self._accumulators[node] = block
            parts = {
                A_VALS: self.heap.reserve(size),
                A_WORDS: self.heap.reserve((size >> 5) + 1),
                A_TOPS: self.heap.reserve((size >> 10) + 1),
                A_TIMES: self.heap.reserve(size) if timed else 0,
                A_STORE: self.heap.reserve(ROW_STORE),
                A_MASK: ROW_STORE - 1,
                A_SIZE: size,
            }
            for word, value in parts.items():
                self.heap.words[block + word] = value
        return self._accumulators[node]

    # --- settings of a run -----------------------------------------------------------

    def set_gates(self, gates: Gates | None) -> None:
        """Set the gates of a run."""
        words = self.heap.words
        words[GATED] = gates is not None
        for k, offset in enumerate(self.edges):
            words[offset + E_ROOM_GATE] = OPEN_ROOM if gates is None else gates.room[k]
            words[offset + E_HEAD_GATE] = OPEN_HEAD if gates is None else gates.head[k]

    def set_options(self, *, digests: bool, limit: int | None) -> None:
        """Set what is computed, and the cycle past which nothing may fire."""
        self.heap.words[DIGESTS] = digests
        self.heap.words[LIMIT] = UNBOUNDED if limit is None else limit

    # --- layout ----------------------------------------------------------------------

    def _lay_edge(self, edge: UnitEdge, offset: int) -> None:
        ideal = self.ideal is not None
        depth = UNBOUNDED if ideal else edge.depth
        # Twice the depth, so that the slots a high-water mark needs still stand.
        slots = UNBOUNDED_RING if ideal else _power_of_two(2 * edge.depth)
        fields = len(edge.type.fields)
        words = {
            E_WRITER: self.units[edge.writer],
            E_READER: self.units[edge.reader],
            E_BASE: self.heap.reserve(slots * (S_FIELDS + fields)),
            E_MASK: slots - 1,
            E_STRIDE: S_FIELDS + fields,
            E_DEPTH: depth,
            E_LIMIT: slots if ideal else edge.depth,
            E_LATENCY: 1 if ideal else edge.latency,
            E_FIELDS: fields,
            E_COLUMNS: self.heap.place(edge.columns),
            E_ISSUE_DIGEST: SIGNED_START,
            E_POP_DIGEST: SIGNED_START,
        }
        for word, value in words.items():
            self.heap.words[offset + word] = value

    def _lay_unit(self, unit: UnitInstance, offset: int) -> None:
        kind, setup = KINDS[unit.kind]
        heap = self.heap
        params = setup(unit, self)
        assert len(params) <= U_STATE - U_PARAMS
        heap.words[offset + U_KIND] = kind
        heap.words[offset + U_LAST] = -1
        heap.words[offset + U_QUEUED] = 1
        heap.words[offset + U_READ_COUNT] = len(unit.reads)
        heap.words[offset + U_RANK] = self.graph.edges[unit.reads[0]].type.rank if unit.reads else 0
        heap.fill(offset + U_READS, (self.edges[k] for k in unit.reads))
        heap.fill(offset + U_PARAMS, params)
        for port, (readers, bundle) in enumerate(zip(unit.writes, unit.bundles, strict=True)):
            edges = heap.place([self.edges[k] for k in readers])
            # A step may write every field of the catalog, also those of an unbound scan.
            fields = heap.reserve(max(2, len(bundle.fields)))
            heap.fill(offset + U_PORTS + 2 * port, (edges, len(readers)))
            heap.words[offset + U_BUNDLES + port] = fields

    def _lay_queue(self) -> None:
        queue = self.heap.place(self.units)
        self.heap.words[QUEUE] = queue
        self.heap.words[QUEUE_COUNT] = self.heap.words[QUEUE_SIZE] = len(self.units)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
