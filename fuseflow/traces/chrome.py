"""Trace events, which Perfetto and Chrome show: one track a unit, one an edge, one its slots.

The format is the Trace Event Format of Chromium's catapult project.  Its time is in
microseconds; a cycle is drawn as one.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterator
from operator import itemgetter
from typing import IO, Any

from fuseflow.samml.units import UnitEdge, UnitGraph
from fuseflow.samml.values import Number, ValueType
from fuseflow.traces.history import History, streaks
from fuseflow.traces.timeline import CYCLE, edge_traces, occupancy, tokens_seen
from sim_models.cycle.result import CycleResult, EdgeTrace

Event = dict[str, Any]
Timed = Iterator[tuple[int, Event]]

UNITS, EDGES, SLOTS = 1, 2, 3
"""Process numbers: a viewer groups tracks by process."""


def write_chrome(file: IO[bytes], graph: UnitGraph, result: CycleResult) -> None:
    """Write the trace of a run as JSON, one event a line, in order of time.

    Parameters
    ----------
    file : binary file
    graph : UnitGraph
        What ran.
    result : CycleResult
        Of a run with ``trace=True``.
    """
    file.write(b'{"displayTimeUnit":"ns","otherData":')
    file.write(_line({"cycle": CYCLE, "cycles": result.cycles}))
    file.write(b',"traceEvents":[')
    separator = b"\n"
    for event in _events(graph, result):
        file.write(separator + _line(event))
        separator = b",\n"
    file.write(b"\n]}\n")


def _line(event: Event) -> bytes:
    return json.dumps(event, separators=(",", ":"), allow_nan=False).encode()


def _events(graph: UnitGraph, result: CycleResult) -> Iterator[Event]:
    yield from _names(graph)
    history = History(graph, result)
    tracks = [_unit_events(history, number) for number in range(len(graph.units))]
    for tid, (edge, trace) in enumerate(edge_traces(graph, result)):
        tracks.append(_edge_events(tid, edge, trace, graph.graph.value))
        tracks.append(_slot_events(tid, edge, trace))
    for _, event in heapq.merge(*tracks, key=itemgetter(0)):
        yield event


# --- tracks ------------------------------------------------------------------------------


def _names(graph: UnitGraph) -> Iterator[Event]:
    """Name processes and threads; both are shown in the order of the data flow."""
    for pid, name in ((UNITS, "units"), (EDGES, "edges"), (SLOTS, "slots taken")):
        yield _metadata("process_name", pid, 0, name=name)
        yield _metadata("process_sort_index", pid, 0, sort_index=pid)
    for pid, threads in ((UNITS, graph.units), (EDGES, graph.edges)):
        for tid, thread in enumerate(threads):
            yield _metadata("thread_name", pid, tid, name=thread.name)
            yield _metadata("thread_sort_index", pid, tid, sort_index=tid)


def _metadata(what: str, pid: int, tid: int, **args: str | int) -> Event:
    return {"ph": "M", "ts": 0, "pid": pid, "tid": tid, "name": what, "args": args}


def _slice(pid: int, tid: int, name: str, start: int, end: int, **more: Any) -> tuple[int, Event]:
    head = {"ph": "X", "ts": start, "dur": end - start, "pid": pid, "tid": tid, "name": name}
    return start, head | more


def _unit_events(history: History, unit: int) -> Timed:
    """Yield every uninterrupted run of firings as one slice, and every wait before one."""
    waiting = 0
    for first, last in streaks(history.firings[unit]):
        if first > waiting:
            cause = history.cause(unit, first)
            on = "" if cause.edge is None else f" {history.graph.edges[cause.edge].name}"
            yield _slice(UNITS, unit, f"wait: {cause.why}{on}", waiting, first, cat="wait")
        waiting = last + 1
        yield _slice(UNITS, unit, "fire", first, waiting, cat="fire")


def _edge_events(tid: int, edge: UnitEdge, trace: EdgeTrace, value: ValueType) -> Timed:
    """Yield every token for as long as it is the head that the reader sees.

    Tokens of a queue overlap from issue to pop, which the slices of one thread must not.
    """
    for token in tokens_seen(trace, edge.latency, value):
        args: Event = {"empty": token.empty, "close": token.close, "issued": token.issued}
        if token.payload is None:
            name = "-"
        else:
            shown = [_shown(number) for number in token.payload]
            name = ", ".join(map(str, shown)) or "."
            args["payload"] = dict(zip(edge.type.names, shown, strict=True))
        yield _slice(EDGES, tid, name, token.head, token.popped + 1, cat="token", args=args)


def _slot_events(tid: int, edge: UnitEdge, trace: EdgeTrace) -> Timed:
    for cycle, slots in occupancy(trace):
        event = {"ph": "C", "ts": cycle, "pid": SLOTS, "tid": tid, "name": edge.name}
        yield cycle, event | {"args": {"slots": slots}}


def _shown(number: Number | None) -> Number | str:
    """Return what JSON can hold: it has no infinity and no NaN."""
    if number is None:
        return "null"
    return number if math.isfinite(number) else str(number)
