"""The critical path of a traced run: from its last firing back to cycle 0, cause by cause.

All cycles of the run lie on the path, so its parts add up to the cycles of the run.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fuseflow.traces.history import Cause, History, Why

Key = tuple[Why, int, int | None]
"""Why, the unit that fired or waited, and the edge whose head or room it waited for."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step back: the unit whose event it was, when, and what the event waited for.

    Attributes
    ----------
    unit, cycle : int
    cause : Cause
        Of uninterrupted firings, the first.
    """

    unit: int
    cycle: int
    cause: Cause


def walk(history: History) -> Iterator[Step]:
    """Yield the steps of the critical path, the end of the run first."""
    cycle = history.result.cycles - 1
    unit = next(u for u, report in enumerate(history.result.units) if report.last == cycle)
    issued = False
    while cycle > 0:
        cause = history.cause(unit, cycle, issued=issued)
        if cause.why is Why.BUSY:
            cause = Cause(Why.BUSY, unit, history.streak(unit, cause.cycle))
        yield Step(unit, cycle, cause)
        issued = cause.why is Why.HEAD
        unit, cycle = cause.unit, cause.cycle
    # Cycle 0 is on the path too: the firing that began the run.
    yield Step(unit, 0, Cause(Why.BUSY, unit, -1))


def cycles_by_cause(history: History, steps: list[Step]) -> dict[Key, int]:
    """Return the cycles of the critical path by cause, those at the end of the run first.

    What waits for a slot or a bank waits for the token or row that had it before to come around:
    it was issued, and what followed from it led a reader to free the place.  Cycles in which tokens
    were under way in the meantime are the price of too few places, so they count as that wait.
    Those in which a unit fired still count as that unit's.
    """
    found: dict[Key, int] = {}
    rounds: list[tuple[Key, int]] = []
    for step in steps:
        cause = step.cause
        while rounds and cause.cycle < rounds[-1][1]:
            rounds.pop()
        key = cause.why, step.unit, cause.edge
        if cause.since is not None:
            rounds.append((key, cause.since))
        elif cause.why is Why.HEAD and rounds:
            key = rounds[-1][0]
        found[key] = found.get(key, 0) + step.cycle - cause.cycle
    return found


def first_arrivals(steps: list[Step]) -> dict[int, Step]:
    """Return, for every unit on the path but the last, the step that first came to it."""
    found: dict[int, Step] = {}
    for step in steps:
        if step.cause.unit not in (step.unit, steps[0].unit):
            found.setdefault(step.cause.unit, step)
    return found
