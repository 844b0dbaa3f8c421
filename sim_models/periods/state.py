"""What decides how a run goes on: the kernel's state without values, at a pause.

Times are kept relative to the unit that compares them, and only as far as they can still hold it
up (docs/rfcs/0010-closed-form-runs.md).
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from sim_models.cycle import layout as at
from sim_models.cycle.build import Builder
from sim_models.cycle.heap import Words
from sim_models.cycle.touched import (
    A_COUNT,
    A_HEAD,
    A_SIZE,
    A_STORE,
    A_TAIL,
    A_TIMES,
    A_WORDS,
)
from sim_models.cycle.touched import A_MASK as A_STORE_MASK
from sim_models.periods.loops import Loop
from sim_models.primitives.accumulate import P_ADDER, P_BANKS, P_BLOCK, S_ROWS

HOLDERS = ("intersect", "drop_value", "drop_empty.drop_outer", "drop_empty.drop_inner")
JOINERS = ("intersect", "union")
STATES = {
    "root": 1, "scan_dense": 1, "scan_compressed.emit": 1, "accumulate.fill": 1,
    "accumulate.emit": 1,
}  # fmt: skip
"""State words that decide, from `U_STATE` on."""
UNIT_COUNTS = (at.U_FIRINGS, at.U_BANK, at.U_COORDINATE)
EDGE_COUNTS = (at.E_ISSUED, at.E_POPPED, at.E_HIGH_POPS, at.E_MISSING, at.E_FULL)
STATE_COUNTS = {
    "write_val": (at.U_STATE,), "write_crd": (at.U_STATE, at.U_STATE + 1),
    "accumulate.fill": (S_ROWS,), "drop_value": (at.H_USER,),
}  # fmt: skip
"""State words that only count."""


@dataclass(frozen=True, eq=False)
class State:
    """The state at a pause of a loop.

    Attributes
    ----------
    control : ndarray of int64
        What must be equal: who waits for what, shapes and positions under way, relative times.
    sent : ndarray of int64
        The coordinates that the scans of the loop have sent.
    last : ndarray of int64
        Of every unit of the part, the cycle of its last firing.
    waits : list of ndarray
        Of every edge of the part, how long its tokens and its room can still hold its reader or
        writer up.
    unit_counts, edge_counts, state_counts : ndarray of int64
        What grows by the same from period to period.
    """

    control: Words
    sent: Words
    last: Words
    waits: list[Words]
    unit_counts: Words
    edge_counts: Words
    state_counts: Words


class Reader:
    """Reads the state of a part of a run at the pauses of its loops.

    Parameters
    ----------
    build : Builder
    part : collection of str
        Its nodes; no other ones act on them, but the root at the very beginning.
    """

    def __init__(self, build: Builder, part: Collection[str]) -> None:
        self.build = build
        graph = build.graph
        self.units = [u for u, unit in enumerate(graph.units) if unit.node.name in part]
        inside = {*self.units}
        self.edges = [e for e, edge in enumerate(graph.edges) if edge.reader in inside]
        units = np.array(build.units, np.int64)[self.units]
        edges = np.array(build.edges, np.int64)[self.edges]
        self.last_at = units + at.U_LAST
        self.unit_counts_at = np.concatenate([units + word for word in UNIT_COUNTS])
        self.edge_counts_at = np.concatenate([edges + word for word in EDGE_COUNTS])
        self.states = [
            (u, offset + word)
            for u, offset in zip(self.units, units.tolist(), strict=True)
            for word in STATE_COUNTS.get(graph.units[u].kind, ())
        ]
        self.state_counts_at = np.array([offset for _, offset in self.states], np.int64)
        waits = [units + word for word in (at.U_QUEUED, at.U_WAIT, at.U_WAIT_EMIT, at.U_ENDS)]
        self.waits_at = np.concatenate(waits)

    def read(self, loop: Loop) -> State:
        """Return the present state."""
        words = self.build.heap.words
        parts: list[Words] = [words[self.waits_at], self._queue(words)]
        for u in self.units:
            unit, offset = self.build.graph.units[u], self.build.units[u]
            if u not in loop.together:
                count = STATES.get(unit.kind, 0)
                parts.append(words[offset + at.U_STATE : offset + at.U_STATE + count])
            if unit.kind in HOLDERS or unit.kind in JOINERS:
                parts.append(self._holder(words, offset, unit.kind, loop.bundles[u]))
            elif unit.kind == "accumulate.fill":
                parts.append(self._filling(words, offset))
        waits: list[Words] = []
        for e in self.edges:
            control, wait = self._edge(words, e, self.build.edges[e], loop.fixed[e])
            parts.append(control)
            waits.append(wait)
        return State(
            control=np.concatenate(parts),
            sent=words[[self.build.units[u] + at.U_STATE for u in sorted(loop.together)]],
            last=words[self.last_at],
            waits=waits,
            unit_counts=words[self.unit_counts_at],
            edge_counts=words[self.edge_counts_at],
            state_counts=words[self.state_counts_at],
        )

    def _queue(self, words: Words) -> Words:
        first, count, size = (
            int(words[word]) for word in (at.QUEUE_HEAD, at.QUEUE_COUNT, at.QUEUE_SIZE)
        )
        queued = words[int(words[at.QUEUE]) + (first + np.arange(count)) % size]
        return queued[np.isin(queued, self.last_at - at.U_LAST)]

    def _holder(self, words: Words, offset: int, kind: str, bundle: tuple[int, ...]) -> Words:
        """Return the holder with the positions that it holds, and which sides have ended."""
        found: list[int] = []
        if kind in JOINERS:
            found += words[offset + at.H_USER : offset + at.H_USER + 3].tolist()
        if kind in HOLDERS:
            state, time, empty, close = words[
                offset + at.H_STATE : offset + at.H_STATE + 4
            ].tolist()
            ahead = time - int(words[offset + at.U_LAST])
            match state:
                case at.FREE:
                    found += [state, max(ahead, 0)]
                case at.COMPLETE:
                    found += [state, ahead, empty, close]
                case _:
                    found += [state, empty, close]
            if state != at.FREE and empty == 0:
                fields = int(words[offset + at.U_BUNDLES])
                found += [int(words[fields + k]) for k in bundle]
        return np.array(found, np.int64)

    def _filling(self, words: Words, offset: int) -> Words:
        """Return which coordinates the open row has touched, when, and the rows that wait."""
        block = int(words[offset + P_BLOCK])
        size, touched = int(words[block + A_SIZE]), int(words[block + A_WORDS])
        bits = words[touched : touched + (size >> 5) + 1]
        parts = [words[block + A_COUNT : block + A_COUNT + 1], bits, self._rows(words, block)]
        adder = int(words[offset + P_ADDER])
        if adder > 1 and words[block + A_COUNT]:
            marks = (bits[:, np.newaxis] >> np.arange(32) & 1).ravel()[:size] != 0
            times = int(words[block + A_TIMES]) + np.flatnonzero(marks)
            ready = words[times] + adder - (words[offset + at.U_LAST] + 1)
            parts.append(np.maximum(ready, 0))
        return np.concatenate(parts)

    def _rows(self, words: Words, block: int) -> Words:
        """Return the coordinates of the rows in the store, each behind its count."""
        first, end = int(words[block + A_HEAD]), int(words[block + A_TAIL])
        store, mask = int(words[block + A_STORE]), int(words[block + A_STORE_MASK])
        parts = [np.array([end - first], np.int64)]
        while first < end:
            count = int(words[store + (first & mask)])
            keys = first + 1 + 2 * np.arange(count)
            parts += [np.array([count], np.int64), words[store + (keys & mask)]]
            first += 1 + 2 * count
        return np.concatenate(parts)

    def _edge(
        self, words: Words, number: int, offset: int, fixed: tuple[int, ...]
    ) -> tuple[Words, Words]:
        """Return what tokens are under way on an edge, and how its times can still hold."""
        edge = self.build.graph.edges[number]
        record = words[offset : offset + at.EDGE_WORDS].tolist()
        issued, popped, depth = record[at.E_ISSUED], record[at.E_POPPED], record[at.E_DEPTH]
        base, mask, stride = record[at.E_BASE], record[at.E_MASK], record[at.E_STRIDE]
        reader = int(words[record[at.E_READER] + at.U_LAST])
        writer = int(words[record[at.E_WRITER] + at.U_LAST])
        here = base + (_count(popped, issued) & mask) * stride
        control = [
            np.array([issued - popped], np.int64),
            words[here + at.S_SHAPE],
            *(
                np.where(words[here + at.S_SHAPE] < 256, words[here + at.S_FIELDS + k], 0)
                for k in fixed
            ),
        ]
        waits = [np.maximum(words[here + at.S_READY] - (reader + 1), 0)]
        kind = self.build.graph.units[edge.writer].kind
        ends, banks = writer, 0
        if kind in HOLDERS and words[record[at.E_WRITER] + at.H_STATE] == at.COMPLETE:
            # It may leave before the cycle of the last step.
            ends = min(writer, int(words[record[at.E_WRITER] + at.H_TIME]))
        if kind == "accumulate.fill":
            filler = record[at.E_WRITER]
            banks = int(words[filler + P_BANKS])
            # Rows take banks before they issue: the difference is 1 in the midst of one.
            control.append(words[filler + S_ROWS : filler + S_ROWS + 1] - issued)
        back = banks if depth == at.UNBOUNDED else max(depth, banks) + 1
        left = _count(max(0, issued - back), popped)
        if len(left) or back:
            pops = np.zeros(back, np.int64)
            if len(left):
                ages = issued - left
                found = words[base + (left & mask) * stride + at.S_POP] - ends
                pops[ages - 1] = np.maximum(found, 0)
            waits.append(pops)
        if depth != at.UNBOUNDED:
            recent = _count(record[at.E_HIGH_POPS], popped)
            control.append(np.array([len(recent)], np.int64))
            waits.append(words[base + (recent & mask) * stride + at.S_POP] - writer)
            waits.append(words[here + at.S_READY] - record[at.E_LATENCY] - writer)
        return np.concatenate(control), np.concatenate(waits)


def _count(first: int, end: int) -> Words:
    return np.arange(first, end, dtype=np.int64)
