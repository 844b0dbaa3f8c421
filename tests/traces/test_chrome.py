"""Trace events: they follow the format, and say what the cycle model did.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""

import io
import json
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from fuseflow.traces.chrome import EDGES, SLOTS, UNITS, write_chrome
from tests.traces.runs import Traced, matrix, traced, with_depth
from tests.traces.samples import HEADS, ISSUES, POPS, sample

Event = dict[str, Any]
KEYS = {
    "M": {"ph", "ts", "pid", "tid", "name", "args"},
    "X": {"ph", "ts", "dur", "pid", "tid", "name", "cat"},
    "C": {"ph", "ts", "pid", "tid", "name", "args"},
}


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def written(run: Traced) -> list[Event]:
    file = io.BytesIO()
    write_chrome(file, run.graph, run.result)
    document = json.loads(file.getvalue(), parse_constant=no_constant)
    assert document["displayTimeUnit"] in ("ms", "ns")
    assert document["otherData"]["cycles"] == run.result.cycles
    return document["traceEvents"]


@pytest.fixture(scope="module")
def run() -> Traced:
    tensors = matrix("B", 12, 9), matrix("C", 12, 9)
    return traced("X(i,j) = B(i,j) + C(i,j)", *tensors, edit=with_depth("drop_j.crd", 2))


@pytest.fixture(scope="module")
def events(run: Traced) -> list[Event]:
    return written(run)


def named(events: list[Event], pid: int) -> dict[int, str]:
    return {
        e["tid"]: e["args"]["name"]
        for e in events
        if e["ph"] == "M" and e["name"] == "thread_name" and e["pid"] == pid
    }


def slices(events: list[Event], pid: int) -> dict[str, list[Event]]:
    names = named(events, pid)
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event["pid"] == pid:
            found[names[event["tid"]]].append(event)
    return found


def test_events_follow_the_format(events: list[Event]) -> None:
    tracks: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in events:
        assert set(event) - {"args"} == KEYS[event["ph"]] - {"args"}
        assert all(type(event[key]) is int and event[key] >= 0 for key in ("ts", "pid", "tid"))
        assert isinstance(event["name"], str)
        assert event["name"]
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
        if event["ph"] == "C":
            assert all(type(value) is int for value in event["args"].values())
    times = [event["ts"] for event in events]
    assert times == sorted(times)
    for track in tracks.values():
        assert all(event["dur"] > 0 for event in track)
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in pairwise(track)), "slices overlap"


def test_tracks_stand_in_the_order_of_the_graph(run: Traced, events: list[Event]) -> None:
    processes = {
        e["pid"]: e["args"]["name"]
        for e in events
        if e["ph"] == "M" and e["name"] == "process_name"
    }
    assert set(processes) == {UNITS, EDGES, SLOTS}
    assert list(named(events, UNITS).values()) == [unit.name for unit in run.graph.units]
    assert list(named(events, EDGES).values()) == [edge.name for edge in run.graph.edges]


def test_every_token_is_on_its_edge(run: Traced, events: list[Event]) -> None:
    found = slices(events, EDGES)
    for edge in run.graph.edges:
        trace = run.result.traces[edge.name]
        shown = found[edge.name]
        assert [e["ts"] + e["dur"] - 1 for e in shown] == trace.pop.tolist()
        assert [e["args"]["issued"] for e in shown] == trace.issue.tolist()
        assert [e["args"]["close"] for e in shown] == trace.close.tolist()
        assert [e["args"]["empty"] for e in shown] == trace.empty.tolist()
        for event, token in zip(shown, trace.tokens(), strict=True):
            if token.payload is None:
                assert "payload" not in event["args"]
            else:
                wanted = ["null" if word is None else word for word in token.payload]
                assert list(event["args"]["payload"].values()) == wanted


def test_units_fire_and_wait_all_the_time(run: Traced, events: list[Event]) -> None:
    found = slices(events, UNITS)
    for unit in run.result.units:
        shown = found[unit.name]
        fired = [e for e in shown if e["cat"] == "fire"]
        assert sum(e["dur"] for e in fired) == unit.firings
        assert sum(e["dur"] for e in shown) == unit.last + 1
        assert shown[-1]["cat"] == "fire"
    waits = {e["name"] for e in found["union_j"] if e["cat"] == "wait"}
    assert "wait: room drop_j.crd" in waits


def test_counters_give_the_slots_taken_at_the_start_of_a_cycle(
    run: Traced, events: list[Event]
) -> None:
    changes: dict[str, dict[int, int]] = defaultdict(dict)
    for event in events:
        if event["ph"] == "C":
            changes[event["name"]][event["ts"]] = event["args"]["slots"]
    cycles = np.arange(run.result.cycles + 1)
    for edge in run.graph.edges:
        trace = run.result.traces[edge.name]
        wanted = (trace.issue < cycles[:, None]).sum(1) - (trace.pop < cycles[:, None]).sum(1)
        taken, shown = 0, []
        for cycle in cycles.tolist():
            taken = changes[edge.name].get(cycle, taken)
            shown.append(taken)
        assert shown == wanted.tolist()
        assert max(shown) == run.result.edge(edge.name).high_water


def test_numbers_of_a_floating_point_graph() -> None:
    shown = slices(written(sample()), EDGES)["to.in"]
    assert [e["ts"] for e in shown] == list(HEADS)
    assert [e["ts"] + e["dur"] - 1 for e in shown] == list(POPS)
    assert [e["args"]["issued"] for e in shown] == list(ISSUES)
    assert [e["args"].get("payload") for e in shown] == [
        {"crd": 3, "ref": "null", "val": 1.5, "sum": 3.25},
        None,
        {"crd": 7, "ref": 12, "val": "-inf", "sum": -2.0},
        {"crd": 8, "ref": 0, "val": "nan", "sum": 0.5},
    ]
    assert [e["name"] for e in shown][:2] == ["3, null, 1.5, 3.25", "-"]
