"""A hand-made trace of a few tokens in a floating-point type, with a null and an infinity."""

from dataclasses import replace

import numpy as np

from fuseflow.samml.graph import Graph
from fuseflow.samml.units import flatten
from fuseflow.samml.values import BF16
from sim_models.cycle.result import CycleResult, EdgeReport, EdgeTrace, UnitReport
from sim_models.storage import Flags
from tests.samml.graphs import edge, node, source
from tests.traces.runs import Traced

NULL = -1
PAYLOADS = ((3, None, 1.5, 3.25), None, (7, 12, float("-inf"), -2.0), (8, 0, float("nan"), 0.5))
ISSUES, HEADS, POPS = (0, 1, 2, 6), (1, 4, 5, 7), (3, 4, 5, 7)
"""Pops 3, 4 and 5 follow each other without a gap; the last token comes after one."""


def sample() -> Traced:
    """One edge of depth 4 and latency 1 from a source to a sink."""
    nodes = (
        source("from", "crd/crd", "ref/ref", "val/val", "sum/sum"),
        node("to", "sink", edge("in", "from", "crd", "ref", "val", "sum", depth=4)),
    )
    graph = flatten(replace(Graph("sample", indices={"i": 9}, nodes=nodes), value=BF16))
    (only,) = graph.edges
    fields = [
        (0, 0, 0, 0)
        if payload is None
        else (
            payload[0],
            NULL if payload[1] is None else payload[1],
            BF16.encode(payload[2]),
            BF16.wide.encode(payload[3]),
        )
        for payload in PAYLOADS
    ]
    trace = EdgeTrace(
        type=only.type,
        issue=np.array(ISSUES, np.int64),
        pop=np.array(POPS, np.int64),
        empty=np.array([0, 1, 0, 0], np.int64),
        close=np.array([1, 1, 0, 1], np.int64),
        fields=np.array(fields, np.int64),
    )
    result = CycleResult(
        cycles=8,
        units=(UnitReport("from", "source", 4, 6, 0, 0), UnitReport("to", "sink", 4, 7, 0, 0)),
        edges=(EdgeReport(only.name, 4, 3, 4, 0, 0, 0, 0, 0),),
        outputs={},
        flags=Flags(),
        traces={only.name: trace},
    )
    return Traced(graph, result)
