"""Closed-form runs: where a loop's state repeats, the periods that follow are skipped.

The kernel pauses in loops whose iterations have the same control. Where the state at a pause is
that of an earlier pause but for a shift in time, what happened between the two happens again, so
that times and counts of any number of periods follow (docs/rfcs/0010-closed-form-runs.md). The
rest of the loop is run as ever.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from fuseflow.samml.parts import parts
from sim_models.cycle import layout as at
from sim_models.cycle.build import Builder
from sim_models.cycle.heap import Words
from sim_models.cycle.result import Skipped
from sim_models.cycle.touched import A_SIZE, A_TIMES
from sim_models.periods.loops import Loop, classes, find_loops
from sim_models.periods.state import EDGE_COUNTS, HOLDERS, Reader, State
from sim_models.primitives.accumulate import P_ADDER, P_BANKS, P_BLOCK
from sim_models.primitives.drop_value import P_KNOWN
from sim_models.primitives.scan_dense import P_SIZE

KEPT = 12
"""States of a loop that are kept for comparison; then its pauses become rarer."""

EARLY = 8
"""Pauses one after the other that come too early for a look; then pauses become rarer."""


@dataclass(frozen=True)
class ClosedForm:
    """When and how a run skips periods.

    Attributes
    ----------
    after : int
        Firings before anything is skipped: what is computed until then is compared.
    cheap : int
        Firings that must pass from look to look at the state of a loop.
    dropped : mapping of str to ndarray of int64
        For drop_value nodes, a word for each payload: 1 where it is dropped.
    """

    after: int = 0
    cheap: int = 0
    dropped: Mapping[str, Words] = field(default_factory=dict[str, Words])


@dataclass
class _Pauses:
    """What is known of one loop while the run goes on."""

    loop: Loop
    reader: Reader
    activation: int = -1
    firings: int = 0
    early: int = 0
    seen: list[tuple[int, State]] = field(default_factory=list[tuple[int, State]])
    iterations: int = 0
    times: int = 0


class Periods:
    """Skips the periods of a run."""

    def __init__(self, build: Builder, form: ClosedForm) -> None:
        self.build = build
        self.form = form
        self.firings_at = np.array(build.units, np.int64) + at.U_FIRINGS
        readers = [(part, Reader(build, part)) for part in parts(build.graph.graph)]
        self.pauses = {
            build.units[loop.unit]: _Pauses(loop, reader)
            for loop in find_loops(build.graph, build.storage, form.dropped.keys())
            for part, reader in readers
            if build.graph.units[loop.unit].node.name in part
        }
        self.classes: dict[tuple[str, int], Words] = {}
        self.written: dict[str, tuple[int, ...]] | None = None
        for offset in self.pauses:
            build.heap.words[offset + at.U_PAUSE] = 1

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was skipped, the outermost loops first."""
        units = self.build.graph.units
        return tuple(
            Skipped(units[each.loop.unit].name, each.iterations, each.times)
            for each in self.pauses.values()
            if each.times
        )

    def paused(self, offset: int) -> None:
        """Take note of a pause, and skip what repeats."""
        here = self.pauses[offset]
        words = self.build.heap.words
        unit = self.build.graph.units[here.loop.unit]
        activation = int(words[self.build.edges[unit.reads[0]] + at.E_POPPED])
        firings = int(words[self.firings_at].sum())
        if firings - here.firings < self.form.cheap:
            here.early += 1
            if here.early > EARLY:
                self._rarer(here, offset)
            return
        if activation != here.activation:
            here.seen.clear()
        here.activation, here.firings, here.early = activation, firings, 0
        if firings >= self.form.after:
            self._look(here, offset)

    def _rarer(self, here: _Pauses, offset: int) -> None:
        """Pause half as often."""
        self.build.heap.words[offset + at.U_PAUSE] *= 2
        here.seen.clear()
        here.early = 0

    def _look(self, here: _Pauses, offset: int) -> None:
        """Compare the present state with the earlier ones."""
        position, size = self._extent(here.loop.unit)
        if size < 4 * self.build.heap.words[offset + at.U_PAUSE] or position >= size - 1:
            return
        state = here.reader.read(here.loop)
        for before, earlier in reversed(here.seen):
            if self._repeats(here.reader, position - before, earlier, state):
                count = self._count(here, position - before, earlier, state)
                if count > 0:
                    self._skip(here, position - before, count, earlier, state)
                    return
        here.seen.append((position, state))
        if len(here.seen) > KEPT:
            self._rarer(here, offset)

    def _extent(self, unit: int) -> tuple[int, int]:
        """Return how many coordinates of its fiber a scan has sent, and of how many."""
        words, offset = self.build.heap.words, self.build.units[unit]
        scan = self.build.graph.units[unit]
        sent = int(words[offset + at.U_STATE])
        if scan.kind == "scan_dense":
            return sent, int(words[offset + P_SIZE])
        edge = self.build.edges[scan.reads[0]]
        base, mask, stride, popped = (
            int(words[edge + word]) for word in (at.E_BASE, at.E_MASK, at.E_STRIDE, at.E_POPPED)
        )
        head = base + (popped & mask) * stride + at.S_FIELDS
        return sent, int(words[head + 1] - words[head])

    # --- whether a state repeats -------------------------------------------------------

    def _repeats(self, reader: Reader, period: int, old: State, new: State) -> bool:
        """Tell whether two states differ by shifts in time alone."""
        if not np.array_equal(old.control, new.control):
            return False
        if not np.array_equal(new.sent - old.sent, np.full_like(new.sent, period)):
            return False
        shift = self._shift(reader, old, new)
        grown = (new.edge_counts - old.edge_counts).reshape(len(EDGE_COUNTS), -1)
        issued, popped, _, missing, _ = grown
        for k, e in enumerate(reader.edges):
            edge = self.build.graph.edges[e]
            before, after = old.waits[k], new.waits[k]
            writes, reads = int(shift[edge.writer]), int(shift[edge.reader])
            if issued[k] == 0 == popped[k]:
                # Nothing moves; who reads the head again and again must not wait for it.
                if reads and len(after) and self._held(e) and before[0]:
                    return False
            elif not np.array_equal(before, after) or (
                writes != reads
                and (
                    self._bounded(e)
                    or writes > reads
                    or after.any()
                    or missing[k]
                    or self._banked(edge.writer)
                )
            ):
                return False
        return True

    def _shift(self, reader: Reader, old: State, new: State) -> Words:
        """Return by how many cycles every unit is later; 0 outside of the part."""
        found = np.zeros(len(self.build.units), np.int64)
        found[reader.units] = new.last - old.last
        return found

    def _held(self, e: int) -> bool:
        words, offset = self.build.heap.words, self.build.edges[e]
        return bool(words[offset + at.E_ISSUED] > words[offset + at.E_POPPED])

    def _bounded(self, e: int) -> bool:
        return self.build.heap.words[self.build.edges[e] + at.E_DEPTH] != at.UNBOUNDED

    def _banked(self, unit: int) -> bool:
        kind = self.build.graph.units[unit].kind
        return kind == "accumulate.fill" and bool(
            self.build.heap.words[self.build.units[unit] + P_BANKS]
        )

    # --- how often ---------------------------------------------------------------------

    def _count(self, here: _Pauses, period: int, old: State, new: State) -> int:
        """Return how many periods can be skipped: those that a full one follows in the loop."""
        loop, words = here.loop, self.build.heap.words
        count = min(
            (size - 1 - sent) // period for sent, size in map(self._extent, loop.together)
        )  # fmt: skip
        grown = new.state_counts - old.state_counts
        for (u, word), step in zip(here.reader.states, grown.tolist(), strict=True):
            unit, offset = self.build.graph.units[u], self.build.units[u]
            if unit.kind in ("write_val", "write_crd") and step:
                room = offset + at.U_PARAMS + 1 + 2 * (word - offset - at.U_STATE)
                count = min(count, int(words[room] - words[word]) // step)
        for lookup in loop.fibers:
            count = min(count, self._same_fibers(here, lookup, period, old))
        for k, _, name in self._drops(here.reader):
            step, seen = int(grown[k]), int(new.state_counts[k])
            if step:
                count = min(count, _alike(self.form.dropped[name], seen, step, count))
        return count

    def _drops(self, reader: Reader) -> Iterator[tuple[int, int, str]]:
        """Yield a part's drops of which it is told what they drop: count, unit and node."""
        for k, (u, _) in enumerate(reader.states):
            unit = self.build.graph.units[u]
            if unit.kind == "drop_value" and unit.node.name in self.form.dropped:
                yield k, self.build.units[u], unit.node.name

    def _same_fibers(self, here: _Pauses, lookup: int, period: int, old: State) -> int:
        """Return in how many of the next periods the same fibers are looked up.

        Those that were not yet scanned to their end at the earlier pause count: they are under
        way in every period.
        """
        graph, words = self.build.graph, self.build.heap.words
        unit = graph.units[lookup]
        tensor, level = str(unit.node.params["tensor"]), unit.node.params["level"]
        assert isinstance(level, int)
        key = tensor, level
        if key not in self.classes:
            self.classes[key] = classes(self.build.storage, tensor, level)
        position, size = self._extent(here.loop.unit)
        popped = old.edge_counts.reshape(len(EDGE_COUNTS), -1)[1]
        scanned = popped[here.reader.edges.index(unit.writes[0][0])]
        entry = self.build.edges[graph.units[here.loop.unit].reads[0]]
        base, mask, stride, activation = (
            int(words[entry + word]) for word in (at.E_BASE, at.E_MASK, at.E_STRIDE, at.E_POPPED)
        )
        parent = int(words[base + (activation & mask) * stride + at.S_FIELDS])
        first = int(scanned) - activation * size
        if first < 0:
            return 0
        fibers = self.classes[key][parent * size : (parent + 1) * size]
        different = np.flatnonzero(fibers[first + period :] != fibers[first:-period])
        end = first + period + int(different[0]) if len(different) else size
        return max(0, (end - position) // period)

    # --- skipping ----------------------------------------------------------------------

    def _skip(self, here: _Pauses, period: int, count: int, old: State, new: State) -> None:
        if self.written is None:
            self._begin()
        self._move(here, period, count, old, new)
        here.iterations += period * count
        here.times += 1
        # Positions of loops inside belong to an iteration that is past.
        for each in self.pauses.values():
            if each.reader is here.reader and each.loop.rank >= here.loop.rank:
                each.seen.clear()
                each.activation = -1

    def _begin(self) -> None:
        """Keep how much was written with every value right; from now on drops are told."""
        heap = self.build.heap
        self.written = {
            unit.name: tuple(int(heap.words[offset + k]) for k in (at.U_STATE, at.U_STATE + 1))
            for unit, offset in zip(self.build.graph.units, self.build.units, strict=True)
            if unit.kind in ("write_val", "write_crd")
        }
        for reader in {each.reader for each in self.pauses.values()}:
            for _, unit, name in self._drops(reader):
                block = heap.place(self.form.dropped[name])
                heap.words[unit + P_KNOWN] = block

    def _move(self, here: _Pauses, period: int, count: int, old: State, new: State) -> None:
        """Bring the state of the part that many periods further."""
        words, reader = self.build.heap.words, here.reader
        words[reader.last_at] += count * (new.last - old.last)
        shift = count * self._shift(reader, old, new)
        for places, before, after in (
            (reader.unit_counts_at, old.unit_counts, new.unit_counts),
            (reader.state_counts_at, old.state_counts, new.state_counts),
        ):
            words[places] += count * (after - before)
        grown = count * (new.edge_counts - old.edge_counts)
        issued = grown.reshape(len(EDGE_COUNTS), -1)[0].tolist()
        for e, tokens in zip(reader.edges, issued, strict=True):
            edge = self.build.graph.edges[e]
            self._turn(e, tokens, int(shift[edge.writer]), int(shift[edge.reader]))
        words[reader.edge_counts_at] += grown
        for u in reader.units:
            unit, offset = self.build.graph.units[u], self.build.units[u]
            if u in here.loop.together:
                words[offset + at.U_STATE] += count * period
            if unit.kind in HOLDERS:
                words[offset + at.H_TIME] += shift[u]
            if unit.kind == "accumulate.fill" and words[offset + P_ADDER] > 1:
                block = int(words[offset + P_BLOCK])
                first = int(words[block + A_TIMES])
                words[first : first + int(words[block + A_SIZE])] += shift[u]

    def _turn(self, e: int, tokens: int, writes: int, reads: int) -> None:
        """Move what stands in a ring by some tokens, and its times."""
        if tokens == 0:
            return
        words, offset = self.build.heap.words, self.build.edges[e]
        base, mask, stride = (
            int(words[offset + word]) for word in (at.E_BASE, at.E_MASK, at.E_STRIDE)
        )
        ring = words[base : base + (mask + 1) * stride].reshape(mask + 1, stride)
        ring[:, at.S_READY] += writes
        ring[:, at.S_POP] += reads
        ring[:] = np.roll(ring, tokens & mask, axis=0)


def _alike(dropped: Words, seen: int, step: int, count: int) -> int:
    """Return in how many of the next periods the same is dropped as in the last one."""
    last = dropped[seen - step : seen]
    ahead = dropped[seen : seen + count * step].reshape(-1, step)
    different = np.flatnonzero((ahead != last).any(axis=1))
    return int(different[0]) if len(different) else len(ahead)
