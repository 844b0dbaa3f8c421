"""What a run of the cycle model reports."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fuseflow.samml.errors import SimulationError
from fuseflow.samml.image import TensorImage
from fuseflow.samml.streams import Kind, StreamType
from fuseflow.samml.tokens import Nested, Token, decode_all
from sim_models.storage import Flags

Cycles = npt.NDArray[np.int64]


@dataclass(frozen=True)
class UnitReport:
    """What one unit did.

    Attributes
    ----------
    name, kind : str
    firings : int
    last : int
        Cycle of its last firing; -1 where it never fired.
    bank, coordinate : int
        Cycles it waited for its two hazards (accumulate's fill).
    """

    name: str
    kind: str
    firings: int
    last: int
    bank: int
    coordinate: int


@dataclass(frozen=True)
class EdgeReport:
    """What happened on one edge.

    Attributes
    ----------
    name : str
    tokens : int
        Tokens issued.
    high_water : int or None
        Most slots taken at the start of any cycle; None on an unbounded edge that was not
        traced.
    missing, head_gated : int
        Cycles that the reader waited for this head, and for a gate on it.
    full, room_gated : int
        Cycles that the writer waited for room here, and for a gate on it.
    issue_digest, pop_digest : int
        See `fuseflow.samml.digest`; 0 where they were not asked for.
    """

    name: str
    tokens: int
    high_water: int | None
    missing: int
    head_gated: int
    full: int
    room_gated: int
    issue_digest: int
    pop_digest: int


@dataclass(frozen=True, eq=False)
class EdgeTrace:
    """Every token of one edge, in order.

    Attributes
    ----------
    type : StreamType
    issue, pop : ndarray of int64
        Cycles.
    empty, close : ndarray of int64
    fields : ndarray of int64, one row a token
        Words of values; a null ref is -1; unspecified where ``empty`` > 0.
    """

    type: StreamType
    issue: Cycles
    pop: Cycles
    empty: Cycles
    close: Cycles
    fields: Cycles

    def tokens(self) -> list[Token]:
        """Return the tokens with payloads as tuples, null refs as None."""
        refs = [field.kind is Kind.REF for field in self.type.fields]
        return [
            Token(
                tuple(
                    None if ref and word == -1 else word
                    for ref, word in zip(refs, row, strict=True)
                )
                if empty == 0
                else None,
                empty,
                close,
            )
            for row, empty, close in zip(
                self.fields.tolist(), self.empty.tolist(), self.close.tolist(), strict=True
            )
        ]

    def nested(self) -> list[Nested]:
        """Return the nested lists of the streams that passed."""
        return decode_all(self.tokens(), self.type.rank)

    def high_water(self) -> int:
        """Return the most slots taken at the start of any cycle."""
        popped = np.searchsorted(self.pop, self.issue, side="right")
        taken = np.arange(1, len(self.issue) + 1) - popped
        return int(taken.max(initial=0))


@dataclass(frozen=True)
class Skipped:
    """What a run skipped of one loop.

    Attributes
    ----------
    loop : str
        The scan that makes it.
    iterations : int
        Skipped, in all.
    times : int
        How often anything was.
    """

    loop: str
    iterations: int
    times: int


@dataclass(frozen=True)
class CycleResult:
    """What a run of the cycle model reports.

    Attributes
    ----------
    cycles : int
        T + 1, with T the cycle in which the last stream ended at a writer or sink.
    units : tuple of UnitReport
        In the order of the flattened graph, as are the edges.
    edges : tuple of EdgeReport
    outputs : dict of str to TensorImage
        The result tensors.
    flags : Flags
        Overflow and the sticky errors.
    traces : dict of str to EdgeTrace
        By edge name; empty unless asked for.
    skipped : tuple of Skipped
        What a closed form skipped.
    right : dict of str to tuple of int
        By writer, how many words of its arrays stood before anything was skipped; empty where
        nothing was, so that all of them are right.
    """

    cycles: int
    units: tuple[UnitReport, ...]
    edges: tuple[EdgeReport, ...]
    outputs: dict[str, TensorImage]
    flags: Flags
    traces: dict[str, EdgeTrace] = field(default_factory=dict[str, EdgeTrace])
    skipped: tuple[Skipped, ...] = ()
    right: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    @property
    def firings(self) -> int:
        """Firings of all units."""
        return sum(unit.firings for unit in self.units)

    @property
    def bottleneck(self) -> UnitReport:
        """The unit that fired most."""
        return max(self.units, key=lambda unit: unit.firings)

    def unit(self, name: str) -> UnitReport:
        """Return the report of the unit of that name, which must exist."""
        return next(unit for unit in self.units if unit.name == name)

    def edge(self, name: str) -> EdgeReport:
        """Return the report of the edge of that name, which must exist."""
        return next(edge for edge in self.edges if edge.name == name)


class DeadlockError(SimulationError):
    """The run stopped with units that wait for each other, or for what never comes.

    Parameters
    ----------
    message : str
    waiting : dict of str to str
        By unit, the edge that it waits for.
    cycle : tuple of str
        The units that wait in a circle; empty where a stream is broken instead.
    edge : str or None
        The edge of the circle whose depth would break it.
    """

    def __init__(
        self, message: str, waiting: dict[str, str], cycle: tuple[str, ...], edge: str | None
    ) -> None:
        super().__init__(message)
        self.waiting = waiting
        self.cycle = cycle
        self.edge = edge
