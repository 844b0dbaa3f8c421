"""Causes that a compiled program seldom meets: a holder that cannot leave, and unseen firings."""

from fuseflow.samml.gates import OPEN_HEAD, Gates, open_gates
from fuseflow.samml.graph import Extent, Graph
from fuseflow.samml.units import flatten
from fuseflow.traces import find_stalls
from fuseflow.traces.history import Cause, History, Why
from sim_models.cycle.simulate import simulate
from tests.samml.graphs import edge, node, source
from tests.sim_models.harness import size_tensor


def test_a_held_token_leaves_when_there_is_room_while_steps_go_on() -> None:
    """Two matches fill the edge, the third stays in the holder while a long row has none."""
    closed = 12
    nodes = (
        source("l", "crd/crd", levels=("i", "j")),
        source("r", "crd/crd", levels=("i", "j")),
        node("both", "intersect", edge("left", "l", "crd"), edge("right", "r", "crd")),
        node("to", "sink", edge("in", "both", "crd", depth=2)),
    )
    graph = flatten(Graph("held", indices={"i": 9, "j": 99}, nodes=nodes))
    names = [each.name for each in graph.edges]
    number = names.index("to.in")
    gates = open_gates(graph)
    late = OPEN_HEAD - ((1 << closed) - 1)
    gates = Gates(gates.room, (*gates.head[:number], late, *gates.head[number + 1 :]))
    rows = [[[(0,)]] * 3 + [[(2 * k + side,) for k in range(20)]] for side in (0, 1)]
    result = simulate(
        graph, {}, {}, gates=gates, streams={"l": [rows[0]], "r": [rows[1]]}, trace=True
    )
    trace = result.traces["to.in"]
    assert trace.pop[0] == closed
    assert trace.issue[2] == closed + 1
    history = History(graph, result)
    unit = [each.name for each in graph.units].index("both")
    assert history.fired(unit, closed)
    cause = history.cause(unit, closed + 1, issued=True)
    reader = graph.edges[number].reader
    assert cause == Cause(Why.ROOM, reader, closed, number, since=int(trace.issue[0]))
    assert history.cause(unit, closed + 1) == Cause(Why.BUSY, unit, closed)


def test_firings_into_an_output_that_nobody_reads_are_found_again() -> None:
    """A scan without readers takes five cycles a token, and the fork before it waits for that."""
    nodes = (
        source("s", "ref/ref"),
        node("scan", "scan_dense", edge("ref", "s", "ref"), index="j", size=Extent("T", 0)),
        node("to", "sink", edge("in", "s", "ref")),
    )
    decl, image = size_tensor("T", 5)
    graph = flatten(Graph("unseen", indices={"i": 99, "j": 5}, tensors=(decl,), nodes=nodes))
    streams = {"s": [[(0,) for _ in range(20)]]}
    result = simulate(graph, {"T": image}, {}, streams=streams, trace=True)
    number = [each.name for each in graph.units].index("scan")
    history = History(graph, result)
    assert len(history.firings[number]) < result.units[number].firings == 100
    last = result.units[number].last
    assert history.cause(number, last) == Cause(Why.BUSY, number, last - 1)
    stalls = find_stalls(graph, result)
    worst = stalls.path[0]
    assert (worst.why, worst.unit) == (Why.BUSY, "scan")
    assert worst.cycles > 0.7 * result.cycles
    assert sum(part.cycles for part in stalls.path) == result.cycles
