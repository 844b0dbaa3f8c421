"""FIFO depths at reconvergent forks, counted by hand."""

import pytest

from fuseflow.compiler import compile_statement, parse
from fuseflow.compiler.pipeline import compile_region
from fuseflow.compiler.slack import BURST, bounds, slack
from fuseflow.samml.errors import CapacityError
from fuseflow.samml.graph import Connection, Graph, Node
from fuseflow.samml.units import flatten
from tests.samml.graphs import edge, node, source

CENTRED = (parse("m(i) = max[j](B(i,j))"), parse("X(i,j) = B(i,j) - m(i)"))


def depths(graph: Graph) -> dict[str, int]:
    return {bound.edge: bound.depth for bound in bounds(flatten(graph))}


def chain(*middle: Node, last: Connection, indices: dict[str, int], rank: int = 1) -> Graph:
    """A fork ``s`` whose short branch meets its long one at ``end.a``."""
    start = source("s", "crd/crd", "val/val", levels=tuple("ij"[:rank]))
    end = node("end", "alu", edge("a", "s", "a=val"), last, op="add")
    return Graph(
        "g",
        indices=indices,
        nodes=(start, *middle, end, node("out", "sink", edge("in", "end", "val"))),
    )


def test_latency_alone() -> None:
    square = node("m", "alu", edge("a", "s", "a=val"), edge("b", "s", "b=val"), op="mul")
    graph = chain(square, last=edge("b", "m", "b=val"), indices={"i": 9})
    # mul takes 2 cycles that the short edge must bridge, beside its own latency 1 and one slot.
    assert depths(graph) == {"m.a": 2, "m.b": 2, "end.a": 4, "end.b": 3, "out.in": 2}
    assert {e.port: e.depth for e in slack(graph).node("end").inputs} == {"a": 4, "b": 3}


def test_a_scalar_fork_needs_none() -> None:
    square = node("m", "alu", edge("a", "s", "a=val"), edge("b", "s", "b=val"), op="mul")
    graph = chain(square, last=edge("b", "m", "b=val"), indices={}, rank=0)
    assert depths(graph)["end.a"] == 2
    graph = compile_statement("x(i) = a * b(i)", {"b": "d"}).graph
    # The scan starts at once and waits for the array (2): one more slot than its latency.
    assert depths(graph)["repeat_val_i.signal"] == 2 - 1 + 1 + 1
    assert depths(graph)["repeat_val_i.x"] == 3


def test_a_holder_costs_a_cycle() -> None:
    graph = compile_statement("x(i) = b(i) * c(i)", order="i").graph
    # intersect -> array (2) -> mul (2) beside the direct edge of latency 1.
    assert depths(graph)["drop_i.crd"] == 2 + 2 + 1 + 1
    graph = compile_statement("X(i,j) = B(i,j)", {"X": "ss", "B": "ss"}).graph
    # scan 2 + 2, array 2, drop_value 1 + 1 for its holder; the edge: emit's latency 2, one slot.
    assert depths(graph)["drop_i.outer"] == 4 + 2 + 2 + 2 + 1


def test_a_fiber_that_closes_on_the_long_branch() -> None:
    """The sum of a fiber is repeated along that fiber: the whole fiber waits."""
    total = node("t", "reduce", edge("val", "s", "val"))
    spread = node("r", "repeat", edge("x", "t", "x=val"), edge("signal", "s"))
    graph = chain(total, spread, last=edge("b", "r", "b=x"), indices={"i": 50})
    assert depths(graph)["r.signal"] == 1 + 49 + 1 + 1
    assert depths(graph)["end.a"] == 2 + 49 + 1 + 1


def test_banks_of_an_accumulator() -> None:
    graph = compile_statement(
        "X(i,j) = B(i,k) * C(k,j)", {"X": "ss", "B": "ss", "C": "ss"}, order="i,k,j"
    ).graph
    # repeat 1, scan C_k 4, intersect 1+1, scan C_j 4, array 2, mul 2, fill 3, emit 3,
    # drop_j 1+1, banks 4; the edge: latency 2, one slot.
    assert depths(graph)["drop_i.outer"] == 5 + 2 + 4 + 2 + 2 + 3 + 3 + 2 + 4 + 2 + 1


def test_a_shared_accumulator_holds_both_branches_up() -> None:
    graph = compile_statement(
        "X(i,j) = B(i,k) * C(k,j)", {"X": "ss", "B": "ss:1,0", "C": "ss"}, order="k,i,j"
    ).graph
    assert depths(graph)["drop_j.crd"] == depths(graph)["drop_j.val"] == 4


def test_budget() -> None:
    """Where no more room is allowed than latencies need, nothing helps."""
    with pytest.raises(CapacityError) as caught:
        compile_region(CENTRED, ["X"], {"X": "ss", "B": "ss"}, budget=4)
    message = str(caught.value)
    assert "edge 'union_i.left' needs 5 entries, budget is 4" in message
    assert "split the region at 'root'" in message


def test_what_would_wait_too_long_is_computed_again() -> None:
    """A row waits for its maximum, or is scanned once more behind it."""
    formats = {"X": "ss", "B": "ss"}
    waiting = compile_region(CENTRED, ["X"], formats).graph
    again = compile_region(CENTRED, ["X"], formats, budget=100).graph
    scans = [sum(node.primitive == "scan_compressed" for node in graph.nodes)
             for graph in (waiting, again)]  # fmt: skip
    assert scans == [2, 3]
    assert max(edge.depth or 0 for node in waiting.nodes for edge in node.inputs) > 1024
    assert max(edge.depth or 0 for node in again.nodes for edge in node.inputs) <= 100


def test_what_the_short_branch_expands_waits_above() -> None:
    """A row's scores wait as such, not with the row of values that each of them opens."""
    statements = [parse("m(i) = max[j](S(i,j))"), parse("X(i,d) = (S(i,j) - m(i)) * V(j,d)")]
    graph = compile_region(statements, ["X"], {"S": "ss", "V": "dd"}, order="i,j,d").graph
    (waiting,) = graph.node("scan_V_d").inputs
    assert waiting.depth == 1033
    assert all((edge.depth or 0) < 64 for edge in graph.node("repeat_val_d").inputs)


@pytest.mark.parametrize(("budget", "depth"), [(4096, BURST), (8, 8)])
def test_an_intersection_runs_on_while_its_reader_is_busy(budget: int, depth: int) -> None:
    graph = slack(compile_statement("x(i) = b(i) * c(i)", order="i").graph, budget)
    behind = [edge for node in graph.nodes for edge in node.inputs if edge.node == "intersect_i"]
    assert [edge.depth for edge in behind] == [depth] * 3
