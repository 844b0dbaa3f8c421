"""The stall summary: what every unit waited for, and which waits made the run as long as it is.

Waiting alone says little: most units of a graph wait for its slowest part all the time.
What counts is the *critical path*: beginning with the last firing of the run, every event
is traced to the event that delayed it to the cycle, back to cycle 0 (`fuseflow.traces.path`).
"""

from dataclasses import dataclass

from fuseflow.samml.units import UnitGraph
from fuseflow.traces.history import History, Why
from fuseflow.traces.path import Key, Step, cycles_by_cause, first_arrivals, walk
from sim_models.cycle.result import CycleResult

SHOWN = 8
"""The text shows at most so many parts of the critical path."""


@dataclass(frozen=True)
class Wait:
    """Cycles that one unit waited for one thing.

    Attributes
    ----------
    why : Why
    edge : str or None
        Whose head or room it was.
    cycles : int
    """

    why: Why
    edge: str | None
    cycles: int


@dataclass(frozen=True)
class UnitStalls:
    """How one unit spent the run: ``firings``, waits and idle cycles add up to its cycles.

    Attributes
    ----------
    unit, counts : str
        Its name, and what one firing is.
    firings : int
    waits : tuple of Wait
        The longest first; a cycle is charged as DESIGN section 3 says.
    idle : int
        Cycles after its last firing.
    """

    unit: str
    counts: str
    firings: int
    waits: tuple[Wait, ...]
    idle: int

    @property
    def busy(self) -> float:
        """Share of the run's cycles in which it fired."""
        return self.firings / (self.firings + sum(wait.cycles for wait in self.waits) + self.idle)


@dataclass(frozen=True)
class Part:
    """What a part of the critical path was spent on.

    Attributes
    ----------
    why : Why
        ``busy``: `unit` fired.  ``head``: tokens of `edge` were under way.  ``room``: `unit` waited
        for a slot of `edge`, with the time that a token needs to come around to free it.
        ``bank``, ``coordinate``: the hazards of an accumulator.
    unit : str
        The unit that fired or waited.
    edge : str or None
    depth : int or None
        Slots of that edge.
    cycles : int
    """

    why: Why
    unit: str
    edge: str | None
    depth: int | None
    cycles: int


@dataclass(frozen=True)
class Link:
    """One unit of the chain, and what it waited for on the critical path.

    Attributes
    ----------
    unit : str
    why : Why
    edge : str or None
    by : str
        The unit that it waited for.
    cycles : int
        How long it waited for that in the whole run.
    """

    unit: str
    why: Why
    edge: str | None
    by: str
    cycles: int


@dataclass(frozen=True)
class Stalls:
    """What held a run back.

    Attributes
    ----------
    cycles : int
    units : tuple of UnitStalls
        In dataflow order.
    path : tuple of Part
        The largest first; together they take all `cycles`.
    chain : tuple of Link
        From the last unit to finish to the one of the largest part.
    """

    cycles: int
    units: tuple[UnitStalls, ...]
    path: tuple[Part, ...]
    chain: tuple[Link, ...]

    def __str__(self) -> str:
        """Return the summary as a table, and the chain as one sentence."""
        lines = [f"critical path of {self.cycles:,} cycles"]
        lines += [
            f"{part.cycles:>12,}  {part.cycles / self.cycles:>6.1%}  {self._reason(part)}"
            for part in self.path[:SHOWN]
        ]
        rest = sum(part.cycles for part in self.path[SHOWN:])
        if rest:
            lines.append(f"{rest:>12,}  {rest / self.cycles:>6.1%}  elsewhere")
        because = [*map(_waited, self.chain), self._reason(self.path[0])]
        return "\n".join([*lines, "\n  because ".join(because)])

    def _reason(self, part: Part) -> str:
        match part.why:
            case Why.BUSY:
                unit = next(unit for unit in self.units if unit.unit == part.unit)
                return f"{part.unit} fired ({unit.counts}; busy in {unit.busy:.1%} of all cycles)"
            case Why.HEAD:
                return f"tokens for {part.unit} were under way on {part.edge}"
            case Why.ROOM:
                return f"{part.unit} had to wait for room on {part.edge} (depth {part.depth})"
            case Why.BANK:
                return f"{part.unit} had to wait for a free bank"
            case Why.COORDINATE:
                return f"{part.unit} had to wait for its adder at repeated coordinates"


def find_stalls(graph: UnitGraph, result: CycleResult) -> Stalls:
    """Summarize what held a run back.

    Parameters
    ----------
    graph : UnitGraph
        What ran.
    result : CycleResult
        Of a run with ``trace=True``, without gates.
    """
    history = History(graph, result)
    steps = list(walk(history))
    # The sort is stable: of equal parts, the one nearest to the end of the run goes first.
    parts = sorted(cycles_by_cause(history, steps).items(), key=lambda part: -part[1])
    (_, culprit, _), _ = parts[0]
    units = tuple(_unit_stalls(graph, number, result) for number in range(len(graph.units)))
    return Stalls(
        cycles=result.cycles,
        units=units,
        path=tuple(_part(graph, key, cycles) for key, cycles in parts),
        chain=_chain(graph, units, first_arrivals(steps), culprit),
    )


def _unit_stalls(graph: UnitGraph, number: int, result: CycleResult) -> UnitStalls:
    instance, report = graph.units[number], result.units[number]
    reads = [result.edges[k] for k in instance.reads]
    writes = [result.edges[k] for readers in instance.writes for k in readers]
    waits = [
        *(Wait(Why.HEAD, edge.name, edge.missing) for edge in reads),
        *(Wait(Why.ROOM, edge.name, edge.full) for edge in writes),
        Wait(Why.BANK, None, report.bank),
        Wait(Why.COORDINATE, None, report.coordinate),
    ]
    return UnitStalls(
        unit=report.name,
        counts=instance.unit.counts,
        firings=report.firings,
        waits=tuple(sorted((w for w in waits if w.cycles), key=lambda wait: -wait.cycles)),
        idle=result.cycles - 1 - report.last,
    )


def _part(graph: UnitGraph, key: Key, cycles: int) -> Part:
    why, unit, number = key
    edge = None if number is None else graph.edges[number]
    return Part(
        why=why,
        unit=graph.units[unit].name,
        edge=edge and edge.name,
        depth=edge and edge.depth,
        cycles=cycles,
    )


def _chain(
    graph: UnitGraph, units: tuple[UnitStalls, ...], arrivals: dict[int, Step], culprit: int
) -> tuple[Link, ...]:
    """Return how the path first came from the last unit to the culprit."""
    links: list[Link] = []
    while culprit in arrivals:
        step = arrivals[culprit]
        why, number = step.cause.why, step.cause.edge
        edge = None if number is None else graph.edges[number].name
        waited = sum(w.cycles for w in units[step.unit].waits if (w.why, w.edge) == (why, edge))
        links.append(Link(units[step.unit].unit, why, edge, units[culprit].unit, waited))
        culprit = step.unit
    return tuple(reversed(links))


def _waited(link: Link) -> str:
    what = {
        Why.HEAD: f"{link.edge} from {link.by}",
        Why.ROOM: f"{link.by} to make room on {link.edge}",
        Why.BANK: f"{link.by} to free a bank",
    }
    return f"{link.unit} waited {link.cycles:,} cycles for {what[link.why]}"
