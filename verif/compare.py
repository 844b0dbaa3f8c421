"""Compares a run of the RTL with the cycle model: every edge, every cycle, every bit."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fuseflow.samml.image import TensorImage
from fuseflow.samml.tokens import Token
from fuseflow.samml.units import UnitGraph
from sim_models.cycle.result import CycleResult, EdgeTrace
from verif.job import EdgeEvents, Record


def differences(units: UnitGraph, model: CycleResult, record: Record) -> list[str]:
    """Return every difference between model and RTL, one line each; empty means equal.

    Issue and pop digests cover the cycle of every issue and the cycle and content of every
    pop, so equal digests mean equal behaviour on the edge.
    """
    found: list[str] = []
    if not record.finished:
        found.append(f"the RTL did not finish; the model takes {model.cycles} cycles")
    elif record.cycles != model.cycles:
        found.append(f"cycles: model {model.cycles}, RTL {record.cycles}")
    if model.flags.overflow != record.overflow:
        found.append(f"overflow flag: model {model.flags.overflow}, RTL {record.overflow}")
    outside, overrun = model.flags.range, model.flags.capacity
    # The register keeps the first error only.
    possible = {0: not (outside or overrun), RANGE_ERROR: outside, OVERRUN: overrun}
    if not possible.get(record.error, False):
        found.append(
            f"error register: {record.error}; model: range error {outside}, overrun {overrun}"
        )
    for number, edge in enumerate(units.edges):
        stats = model.edges[number]
        for what, ours, theirs in (
            ("tokens", stats.tokens, record.issued[number]),
            ("cycles of issue", stats.issue_digest, record.issue_digest[number]),
            ("pops", stats.pop_digest, record.pop_digest[number]),
        ):
            if int(ours) != int(theirs):
                found.append(f"edge {edge.name}: {what} differ")
    for name, image in model.outputs.items():
        found += [
            f"result {name}: {what}" for what in image_differences(image, record.outputs[name])
        ]
    return found


RANGE_ERROR, OVERRUN = 1, 2
"""Codes in the tile's error register."""


def image_differences(ours: TensorImage, theirs: TensorImage) -> Iterator[str]:
    """Yield which arrays of two images differ."""
    pairs: list[tuple[str, Any, Any]] = [("values", ours.vals, theirs.vals)]
    for level in range(len(ours.segs)):
        pairs.append((f"segments of level {level}", ours.segs[level], theirs.segs[level]))
        pairs.append((f"coordinates of level {level}", ours.crds[level], theirs.crds[level]))
    for what, left, right in pairs:
        if (left is None) != (right is None):
            yield f"{what} are stored on one side only"
        elif left is not None and not np.array_equal(np.asarray(left), np.asarray(right)):
            yield f"{what} differ"


def first_difference(
    units: UnitGraph, model: CycleResult, events: Sequence[EdgeEvents]
) -> str | None:
    """Return the earliest event in which two traced runs differ, or None.

    Parameters
    ----------
    units : UnitGraph
    model : CycleResult
        Of a traced run.
    events : sequence of EdgeEvents
        Per edge, from the RTL's trace.
    """
    earliest: tuple[int, str] | None = None
    for number, edge in enumerate(units.edges):
        trace = model.traces[edge.name]
        for what, ours, theirs in (
            ("issue", _issues(trace), [(c, None) for c in events[number].issues]),
            ("pop", _pops(trace), events[number].pops),
        ):
            for k, (left, right) in enumerate(_paired(ours, theirs)):
                if left == right:
                    continue
                cycle = min(event[0] for event in (left, right) if event is not None)
                if earliest is None or cycle < earliest[0]:
                    text = f"edge {edge.name}, {what} {k}: model {_show(left)}, RTL {_show(right)}"
                    earliest = (cycle, text)
                break
    return earliest[1] if earliest else None


def _paired(ours: list[Any], theirs: list[Any]) -> Iterator[tuple[Any, Any]]:
    for k in range(max(len(ours), len(theirs))):
        yield ours[k] if k < len(ours) else None, theirs[k] if k < len(theirs) else None


def _show(event: tuple[int, Token | None] | None) -> str:
    if event is None:
        return "nothing"
    cycle, token = event
    return f"cycle {cycle}" if token is None else f"cycle {cycle} {tuple(token)}"


def _issues(trace: EdgeTrace) -> list[tuple[int, None]]:
    return [(int(cycle), None) for cycle in trace.issue]


def _pops(trace: EdgeTrace) -> list[tuple[int, Token]]:
    return [(int(cycle), token) for cycle, token in zip(trace.pop, trace.tokens(), strict=True)]
