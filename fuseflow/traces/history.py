"""When every unit of a traced run fired, and which earlier event each firing waited for."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

import numpy as np
import numpy.typing as npt

from fuseflow.samml.catalog import fold_latency
from fuseflow.samml.units import UnitGraph, UnitInstance
from sim_models.cycle.result import CycleResult

Cycles = npt.NDArray[np.int64]


class Why(StrEnum):
    """What an event waited for."""

    BUSY = "busy"
    """The unit's own firing one cycle before: one firing a cycle."""
    HEAD = "head"
    """A token that its writer issued L cycles before."""
    ROOM = "room"
    """A slot that its reader freed one cycle before."""
    BANK = "bank"
    """A row's bank that the accumulator's emit released one cycle before."""
    COORDINATE = "coordinate"
    """The row's previous payload at the same coordinate, which the adder took in A cycles."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The event that another one waited for, and was delayed by to the cycle.

    Attributes
    ----------
    why : Why
    unit : int
        Number of the unit that the earlier event belongs to.
    cycle : int
        When it was.
    edge : int or None
        Number of the edge, where a head or room was waited for.
    since : int or None
        Where a slot or a bank was waited for: the cycle in which it had been taken.
    """

    why: Why
    unit: int
    cycle: int
    edge: int | None = None
    since: int | None = None


class History:
    """The events of a traced run without gates.

    A firing can be seen where it pops or issues.  A firing whose only effect is an output that
    nobody reads cannot, and is found again as `Why.BUSY` by `cause`.

    Parameters
    ----------
    graph : UnitGraph
        What ran.
    result : CycleResult
        Of a run with ``trace=True``.

    Attributes
    ----------
    firings : tuple of ndarray of int64
        For every unit, the cycles in which it fired, ascending.
    """

    def __init__(self, graph: UnitGraph, result: CycleResult) -> None:
        self.graph = graph
        self.result = result
        traces = [result.traces[edge.name] for edge in graph.edges]
        self.firings = tuple(
            _firings(unit, [t.issue for t in traces], [t.pop for t in traces])
            for unit in graph.units
        )
        # Searching a memoryview gives plain integers, several times faster than an array.
        self._fired = [cycles.data for cycles in self.firings]
        self._issue = [trace.issue.data for trace in traces]
        self._pop = [trace.pop.data for trace in traces]
        self._streaks = [[first for first, _ in streaks(cycles)] for cycles in self.firings]

    def fired(self, unit: int, cycle: int) -> bool:
        """Whether a unit was seen to fire in a cycle."""
        return _find(self._fired[unit], cycle) is not None

    def streak(self, unit: int, cycle: int) -> int:
        """Return when the uninterrupted firings began that a cycle belongs to."""
        if not self.fired(unit, cycle):
            return cycle
        starts = self._streaks[unit]
        return starts[bisect_right(starts, cycle) - 1]

    def cause(self, unit: int, cycle: int, *, issued: bool = False) -> Cause:
        """Return what a unit's event in a cycle after cycle 0 waited for last.

        An event can wait for several things that come in the same cycle; the unit's own
        firing goes first, then heads, room and hazards, each in port order.

        Parameters
        ----------
        unit, cycle : int
        issued : bool
            The event is an issue rather than a firing.  A holder issues by itself: from the
            cycle after its token is complete, as soon as there is room.
        """
        if issued and self.graph.units[unit].unit.holds:
            held = self._room(unit, cycle)
            if held is not None:
                return held
        if self.fired(unit, cycle - 1):
            return Cause(Why.BUSY, unit, cycle - 1)
        return (
            self._head(unit, cycle, popped=True)
            or self._room(unit, cycle)
            or self._bank(unit, cycle)
            or self._head(unit, cycle, popped=False)
            or self._coordinate(unit, cycle)
            or Cause(Why.BUSY, unit, cycle - 1)
        )

    def _head(self, unit: int, cycle: int, *, popped: bool) -> Cause | None:
        """Find a head that was first readable in this cycle.

        A head that is not popped may be one that the firing does not need.  Such a firing pops
        another head, so everything that is certain is to be looked for first.
        """
        for k in self.graph.units[unit].reads:
            edge, n = self.graph.edges[k], bisect_left(self._pop[k], cycle)
            if n == len(self._pop[k]) or (self._pop[k][n] == cycle) != popped:
                continue
            if self._issue[k][n] + edge.latency == cycle:
                return Cause(Why.HEAD, edge.writer, self._issue[k][n], k)
        return None

    def _room(self, unit: int, cycle: int) -> Cause | None:
        """Find an edge that got a token in this cycle, in a slot freed in the one before."""
        for readers in self.graph.units[unit].writes:
            for k in readers:
                edge, n = self.graph.edges[k], _find(self._issue[k], cycle)
                if n is None or n < edge.depth:
                    continue
                before = n - edge.depth
                if self._pop[k][before] == cycle - 1:
                    return Cause(Why.ROOM, edge.reader, cycle - 1, k, self._issue[k][before])
        return None

    def _bank(self, unit: int, cycle: int) -> Cause | None:
        """Find whether a row began in a bank that was released in the cycle before."""
        instance = self.graph.units[unit]
        if not instance.unit.banks:
            return None
        ((row,),) = instance.writes
        rows = bisect_left(self._issue[row], cycle)
        before = rows - instance.unit.banks
        if before < 0 or self._begin(unit, row, rows) != cycle:
            return None
        if self._pop[row][before] != cycle - 1:
            return None
        since = self._begin(unit, row, before)
        return Cause(Why.BANK, self.graph.edges[row].reader, cycle - 1, since=since)

    def _begin(self, unit: int, row: int, number: int) -> int:
        """Return the cycle of the first token of an accumulator's row."""
        ended = self._issue[row][number - 1] if number else -1
        return self._fired[unit][bisect_right(self._fired[unit], ended)]

    def _coordinate(self, unit: int, cycle: int) -> Cause | None:
        """Take an accumulator's wait that nothing else explains for one of its adder."""
        instance = self.graph.units[unit]
        if not instance.unit.banks:
            return None
        adder = fold_latency(instance.node.params, self.graph.graph.value)
        earlier = cycle - adder
        return Cause(Why.COORDINATE, unit, earlier) if self.fired(unit, earlier) else None


def streaks(cycles: Cycles) -> list[tuple[int, int]]:
    """Return the first and last cycle of every run of consecutive cycles."""
    if not len(cycles):
        return []
    breaks = np.flatnonzero(np.diff(cycles) != 1)
    first, last = np.append(0, breaks + 1), np.append(breaks, len(cycles) - 1)
    return list(zip(cycles[first].tolist(), cycles[last].tolist(), strict=True))


def _firings(
    unit: UnitInstance, issues: Sequence[Cycles], pops: Sequence[Cycles]
) -> npt.NDArray[np.int64]:
    """Return the cycles in which a unit pops or issues; a holder's issues are no firings."""
    seen = [pops[k] for k in unit.reads]
    if not unit.unit.holds:
        seen += [issues[k] for readers in unit.writes for k in readers]
    return reduce(np.union1d, seen, np.empty(0, np.int64))


def _find(cycles: Sequence[int], cycle: int) -> int | None:
    n = bisect_left(cycles, cycle)
    return n if n < len(cycles) and cycles[n] == cycle else None
