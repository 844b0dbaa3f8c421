"""One edge over time: its head, its occupancy and its payloads as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fuseflow.samml.streams import Kind
from fuseflow.samml.units import UnitEdge, UnitGraph
from fuseflow.samml.values import Number, ValueType
from sim_models.cycle.layout import NULL
from sim_models.cycle.result import CycleResult, EdgeTrace

Cycles = npt.NDArray[np.int64]

CYCLE = "1 us"
"""What a cycle is drawn as: trace events count microseconds."""

CHUNK = 4096
"""Tokens that are turned into Python objects at a time."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A token as its reader sees it.

    Attributes
    ----------
    issued, head, popped : int
        Cycles: of its issue; the first in which it is readable and the edge's head; of its pop.
    payload : tuple of numbers or None
        None for an empty token; in it, None for a null ref.
    empty, close : int
    """

    issued: int
    head: int
    popped: int
    payload: tuple[Number | None, ...] | None
    empty: int
    close: int


def edge_traces(graph: UnitGraph, result: CycleResult) -> list[tuple[UnitEdge, EdgeTrace]]:
    """Return the edges of a graph with their traces."""
    return [(edge, result.traces[edge.name]) for edge in graph.edges]


def tokens_seen(trace: EdgeTrace, latency: int, value: ValueType) -> Iterator[Seen]:
    """Yield the tokens of an edge in order."""
    kinds = [field.kind for field in trace.type.fields]
    heads = trace.issue + latency
    heads[1:] = np.maximum(heads[1:], trace.pop[:-1] + 1)
    columns = (trace.issue, heads, trace.pop, trace.empty, trace.close, trace.fields)
    for start in range(0, len(heads), CHUNK):
        chunk = (column[start : start + CHUNK].tolist() for column in columns)
        for issued, head, popped, empty, close, words in zip(*chunk, strict=True):
            numbers = (_number(*each, value) for each in zip(words, kinds, strict=True))
            payload = None if empty else tuple(numbers)
            yield Seen(issued, head, popped, payload, empty, close)


def occupancy(trace: EdgeTrace) -> Iterator[tuple[int, int]]:
    """Yield cycle and number of taken slots for every cycle at whose start it is another one."""
    cycles = np.union1d(trace.issue, trace.pop) + 1
    slots = np.searchsorted(trace.issue, cycles) - np.searchsorted(trace.pop, cycles)
    changes = np.flatnonzero(np.diff(slots, prepend=0))
    yield from zip(cycles[changes].tolist(), slots[changes].tolist(), strict=True)


def _number(word: int, kind: Kind, value: ValueType) -> Number | None:
    match kind:
        case Kind.VAL:
            return value.decode(word)
        case Kind.SUM:
            return value.wide.decode(word)
        case Kind.REF if word == NULL:
            return None
        case _:
            return word
