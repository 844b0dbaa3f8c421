"""Value Change Dump: every edge as a scope of signals, cycle by cycle."""

import heapq
from collections.abc import Iterator
from itertools import chain, pairwise, repeat
from operator import itemgetter
from typing import IO, Any, TypeAlias

from vcd import VCDWriter
from vcd.common import VarType
from vcd.writer import Variable, VarValue

from fuseflow.samml.streams import Kind
from fuseflow.samml.units import UnitEdge, UnitGraph
from fuseflow.samml.values import ValueType
from fuseflow.traces.history import History, streaks
from fuseflow.traces.timeline import CYCLE, edge_traces, occupancy, tokens_seen
from sim_models.cycle.result import CycleResult, EdgeTrace

# The annotations of pyvcd leave the parameter of Variable open.
Writer: TypeAlias = Any
Signal: TypeAlias = Variable[Any]
Change = tuple[int, Signal, VarValue]


def write_vcd(file: IO[str], graph: UnitGraph, result: CycleResult) -> None:
    """Write the trace of a run as a VCD.

    Parameters
    ----------
    file : text file
    graph : UnitGraph
        What ran.
    result : CycleResult
        Of a run with ``trace=True``.
    """
    history = History(graph, result)
    # Without a date, equal runs give equal files.
    writer: Writer = VCDWriter(file, timescale=CYCLE, date="", version="FuseFlow")
    with writer:
        changes: list[Iterator[Change]] = []
        for unit, cycles in zip(graph.units, history.firings, strict=True):
            fires: Signal = writer.register_var(f"units.{unit.name}", "fires", "wire", 1, 0)
            changes.append(_runs(fires, streaks(cycles)))
        for edge, trace in edge_traces(graph, result):
            signals = _EdgeSignals(writer, edge, trace, graph.graph.value)
            changes += [signals.heads(), signals.occupancy()]
        for cycle, signal, value in heapq.merge(*changes, key=itemgetter(0)):
            writer.change(signal, cycle, value)
        writer.close(result.cycles)


def _runs(signal: Signal, runs: list[tuple[int, int]]) -> Iterator[Change]:
    """Yield the changes of a signal that is 1 from the first to the last cycle of every run."""
    for first, last in runs:
        yield first, signal, 1
        yield last + 1, signal, 0


class _EdgeSignals:
    """The signals of one edge."""

    def __init__(self, writer: Writer, edge: UnitEdge, trace: EdgeTrace, value: ValueType) -> None:
        self.edge, self.trace, self.value = edge, trace, value
        scope = f"edges.{edge.name}"
        height = max(1, edge.type.rank.bit_length())
        self.valid: Signal = writer.register_var(scope, "valid", "wire", 1, 0)
        self.pop: Signal = writer.register_var(scope, "pop", "wire", 1, 0)
        self.empty: Signal = writer.register_var(scope, "empty", "wire", height)
        self.close: Signal = writer.register_var(scope, "close", "wire", height)
        self.slots: Signal = writer.register_var(scope, "slots", "wire", edge.depth.bit_length(), 0)
        self.payload = [
            self._register(writer, f"{scope}.payload", number)
            for number in range(len(edge.type.fields))
        ]

    def _register(self, writer: Writer, scope: str, number: int) -> Signal:
        """Make the signal of a field: signed, real, or as wide as the numbers it held."""
        field = self.edge.type.fields[number]
        number_type = {Kind.VAL: self.value, Kind.SUM: self.value.wide}.get(field.kind)
        if number_type is None:
            words = self.trace.fields[self.trace.empty == 0, number]
            width = max(1, int(words.max(initial=0)).bit_length())
            return writer.register_var(scope, field.name, "wire", width)
        if number_type.is_float:
            return writer.register_var(scope, field.name, "real")
        return writer.register_var(scope, field.name, "integer", number_type.bits)

    def heads(self) -> Iterator[Change]:
        """Yield what the reader sees: the token at the head, and its pop."""
        tokens = tokens_seen(self.trace, self.edge.latency, self.value)
        for token, following in pairwise(chain(tokens, (None,))):
            assert token is not None
            yield token.head, self.valid, 1
            yield token.head, self.empty, token.empty
            yield token.head, self.close, token.close
            for signal, number in zip(self.payload, token.payload or repeat("x"), strict=False):
                yield from self._field(token.head, signal, number)
            yield token.popped, self.pop, 1
            if following is None or following.popped != token.popped + 1:
                yield token.popped + 1, self.pop, 0
            if following is None or following.head != token.popped + 1:
                yield from self._nothing(token.popped + 1)

    def _nothing(self, cycle: int) -> Iterator[Change]:
        """Yield the changes to an edge without a head."""
        yield cycle, self.valid, 0
        for signal in (self.empty, self.close, *self.payload):
            yield from self._field(cycle, signal, "x")

    def _field(self, cycle: int, signal: Signal, value: VarValue) -> Iterator[Change]:
        """Yield one change; a real signal has no x and keeps its number."""
        if not (signal.type is VarType.real and value == "x"):
            yield cycle, signal, value

    def occupancy(self) -> Iterator[Change]:
        """Yield the number of slots that are taken at the start of a cycle."""
        for cycle, slots in occupancy(self.trace):
            yield cycle, self.slots, slots
