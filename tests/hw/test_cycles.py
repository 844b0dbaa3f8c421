"""Hand-made cases: the exact cycle of every issue and pop, read off DESIGN sections 2, 3 and 6."""

from typing import Any

import pytest

from fuseflow.samml.gates import HEAD_PERIOD, OPEN_HEAD, OPEN_ROOM, ROOM_PERIOD, Gates
from fuseflow.samml.graph import Extent, Graph, Role
from fuseflow.samml.tokens import Token, encode
from fuseflow.samml.units import flatten
from tests.hw.bench import Run, graph_of, run, tensor
from tests.hw.test_random import accumulate, sink
from tests.samml.graphs import edge, node, source


def closed(graph: Graph, **cycles: Any) -> Gates:
    """Open gates but for the named cycles: ``room_<edge>`` or ``head_<edge>``, `_` for `.`."""
    names = [one.name.replace(".", "_") for one in flatten(graph).edges]
    room, head = [OPEN_ROOM] * len(names), [OPEN_HEAD] * len(names)
    for key, ts in cycles.items():
        kind, _, name = key.partition("_")
        patterns, period = (room, ROOM_PERIOD) if kind == "room" else (head, HEAD_PERIOD)
        for t in ts:
            patterns[names.index(name)] &= ~(1 << (t % period))
    return Gates(tuple(room), tuple(head))


def issued(result: Run, name: str) -> list[tuple[int, Any]]:
    """Cycle of issue and token, in order."""
    trace = result.edges[name]
    return [
        (t, (token.payload, token.empty, token.close))
        for t, token in zip(trace.issues, trace.tokens, strict=True)
    ]


def test_root_and_dense_scan() -> None:
    graph = graph_of(
        node("root", "root"),
        node("scan", "scan_dense", edge("ref", "root", "ref"), index="i", size=Extent("T", 0)),
        sink("scan", "crd", "ref"),
        tensors=[tensor("T", (9,))],
    )
    result = run(graph, {}, sizes={"size": 3}, runs=2)
    assert issued(result, "scan.ref") == [(0, ((0,), 0, 0))]
    assert issued(result, "sink.in") == [
        (1, ((0, 0), 0, 0)),
        (2, ((1, 1), 0, 0)),
        (3, ((2, 2), 0, 1)),
    ]
    assert result.edges["scan.ref"].pops == [3]
    assert result.edges["sink.in"].pops == [2, 3, 4]
    empty = run(graph, {}, sizes={"size": 0})
    assert issued(empty, "sink.in") == [(1, (None, 1, 1))]


def test_root_waits_for_room() -> None:
    graph = graph_of(node("root", "root"), sink("root", "ref"))
    result = run(graph, {}, gates=closed(graph, room_sink_in=(0, 1, 2)))
    assert result.edges["sink.in"].issues == [3]


def test_compressed_scan() -> None:
    graph = graph_of(
        source("s", "ref/ref"),
        node("scan", "scan_compressed", edge("ref", "s", "ref"), index="k", tensor="T", level=1),
        sink("scan", "crd", "ref"),
        tensors=[tensor("T", (3, 64), "ds", positions=(3, 8))],
    )
    result = run(
        graph,
        {"s": encode([1, 0, None, 2], 1)},
        memories={
            "scan.lookup.even": [0, 2],  # seg = 0 2 2 5
            "scan.lookup.odd": [2, 5],
            "scan.emit.crd": [10, 11, 12, 13, 14],
        },
    )
    assert result.edges["scan.ref"].pops == [1, 2, 3, 4]
    assert issued(result, "scan.span") == [
        (1, ((2, 2), 0, 0)),
        (2, ((0, 2), 0, 0)),
        (3, ((0, 0), 0, 0)),
        (4, ((2, 5), 0, 1)),
    ]
    assert result.edges["scan.span"].pops == [3, 5, 6, 9]
    assert issued(result, "sink.in") == [
        (3, (None, 1, 1)),
        (4, ((10, 0), 0, 0)),
        (5, ((11, 1), 0, 1)),
        (6, (None, 1, 1)),
        (7, ((12, 2), 0, 0)),
        (8, ((13, 3), 0, 0)),
        (9, ((14, 4), 0, 2)),
    ]


def join(primitive: str, left: list[Any], right: list[Any], **cycles: Any) -> Run:
    graph = graph_of(
        source("l", "crd/crd", "a/ref"),
        source("r", "crd/crd", "b/val"),
        node("dut", primitive, edge("left", "l", "crd", "a"), edge("right", "r", "crd", "b")),
        sink("dut", "crd", "a", "b"),
    )
    sources = {
        name: encode([(crd, crd + sign) for crd in crds], 1)
        for name, crds, sign in (("l", left, 20), ("r", right, -20))
    }
    return run(graph, sources, gates=closed(graph, **cycles))


def test_intersect_holds_a_match_back() -> None:
    result = join("intersect", [1, 2, 3, 5], [2, 3, 4])
    # steps: 1<2 in cycle 1, 2=2 in 2, 3=3 in 3 (pushes 2 out), 5>4 in 4: right ends, 5 in 5: end
    assert result.edges["dut.left"].pops == [1, 2, 3, 5]
    assert result.edges["dut.right"].pops == [2, 3, 4]
    assert issued(result, "sink.in") == [(3, ((2, 22, -18), 0, 0)), (6, ((3, 23, -17), 0, 1))]


def test_intersect_ends_on_a_match_and_without_one() -> None:
    result = join("intersect", [4], [4])
    assert issued(result, "sink.in") == [(2, ((4, 24, -16), 0, 1))]
    result = join("intersect", [1], [2])
    assert issued(result, "sink.in") == [(3, (None, 1, 1))]
    result = join("intersect", [], [2])  # the empty side is popped with the smaller of the other
    assert result.edges["dut.left"].pops == result.edges["dut.right"].pops == [1]
    assert issued(result, "sink.in") == [(2, (None, 1, 1))]


def test_intersect_steps_on_without_room_unless_it_inserts() -> None:
    result = join("intersect", [1, 2, 3, 4], [1, 3, 5], room_sink_in=range(2, 9))
    # 1=1 inserted in 1; 2 popped in 2; 3=3 must push 1 out: waits from 3 until room in 9
    assert result.edges["dut.left"].pops == [1, 2, 9, 10]
    assert result.edges["sink.in"].issues == [9, 12]
    assert result.edges["dut.right"].pops == [1, 9, 11]


def test_union_writes_every_step() -> None:
    result = join("union", [1, 3], [1, 2])
    assert issued(result, "sink.in") == [
        (1, ((1, 21, -19), 0, 0)),
        (2, ((2, None, -18), 0, 0)),
        (3, ((3, 23, 0), 0, 1)),
    ]
    assert join("union", [], []).edges["sink.in"].issues == [1]


def test_drop_value_pops_dropped_tokens_without_room() -> None:
    graph = graph_of(
        source("s", "crd/crd", "val/val"),
        node("dut", "drop_value", edge("crd", "s", "crd"), edge("val", "s", "val")),
        sink("dut", "crd", "val"),
    )
    values = [(0, 7), (1, 0), (2, 0), (3, 8), (4, 0)]
    result = run(graph, {"s": encode(values, 1)}, gates=closed(graph, room_sink_in=(1, 2, 3, 4, 5)))
    assert result.edges["dut.crd"].pops == [1, 2, 3, 6, 7]
    assert issued(result, "sink.in") == [(6, ((0, 7), 0, 0)), (8, ((3, 8), 0, 1))]


def test_reduce_needs_room_only_at_the_end() -> None:
    graph = graph_of(
        source("s", "val/val", levels=("i", "j")),
        node("dut", "reduce", edge("val", "s", "val")),
        sink("dut", "val"),
    )
    result = run(
        graph,
        {"s": encode([[1, 2, 3], [], [2**31 - 1, 1]], 2)},
        gates=closed(graph, room_sink_in=(1, 2, 3, 4)),
    )
    assert result.edges["dut.val"].pops == [1, 2, 5, 6, 7, 8]
    assert issued(result, "sink.in") == [
        (5, ((6,), 0, 0)),
        (6, ((0,), 0, 0)),
        (8, ((-(2**31),), 0, 1)),
    ]
    assert result.flags == {"dut.overflow"}


def test_products_are_folded_as_late_as_a_multiplier_takes() -> None:
    graph = graph_of(
        source("a", "a/val", levels=("i", "j")),
        source("b", "b/val", levels=("i", "j")),
        node("dut", "reduce", edge("a", "a", "a"), edge("b", "b", "b"), multiply=True),
        sink("dut", "val"),
    )
    sources = {
        "a": encode([[1, 2, 3], [], [5]], 2),
        "b": encode([[7, -1, 10], [], [-4]], 2),
    }
    result = run(graph, sources, gates=closed(graph, head_dut_b=(1, 2), room_sink_in=(5, 6)))
    assert result.edges["dut.a"].pops == result.edges["dut.b"].pops == [3, 4, 7, 8, 9]
    assert issued(result, "sink.in") == [
        (7, ((35,), 0, 0)),
        (8, ((0,), 0, 0)),
        (9, ((-20,), 0, 1)),
    ]
    # A multiplier of 2 and a fold of 1.
    assert result.edges["sink.in"].pushes == [9, 10, 11]
    assert result.edges["sink.in"].pops == [10, 11, 12]


@pytest.mark.parametrize(
    ("op", "pair", "overflow"),
    [
        ("add", (2**31 - 1, 1), True),
        ("sub", (-(2**31), 1), True),
        ("sub", (-1, 2**31 - 1), False),
        ("mul", (65536, 32768), True),
        ("mul", (-65536, 32768), False),
        ("mul", (-(2**31), -1), True),
        ("max", (-(2**31), 2**31 - 1), False),
    ],
)
def test_alu_latency_and_overflow(op: str, pair: tuple[int, int], overflow: bool) -> None:
    graph = graph_of(
        source("s", "a/val", "b/val", levels=()),
        node("dut", "alu", edge("a", "s", "a"), edge("b", "s", "b"), op=op),
        sink("dut", "val"),
    )
    result = run(graph, {"s": [Token(pair, 0, 0)]})
    assert result.edges["sink.in"].issues == [1]
    assert result.edges["sink.in"].pops == [3 if op == "mul" else 2]
    assert bool(result.flags) == overflow


def test_locate_out_of_range() -> None:
    graph = graph_of(
        source("s", "crd/crd"),
        node("dut", "locate", edge("crd", "s", "crd"), size=Extent("T", 0), parent=False),
        sink("dut", "ref"),
        tensors=[tensor("T", (9,))],
    )
    assert not run(graph, {"s": encode([7], 1)}, sizes={"size": 8}).flags
    assert run(graph, {"s": encode([8], 1)}, sizes={"size": 8}).flags == {"dut.range_error"}


def writers(words: int = 8) -> Graph:
    return graph_of(
        source("s", "crd/crd", "val/val", levels=("i", "j")),
        node("crds", "write_crd", edge("crd", "s", "crd"), tensor="R", level=1),
        node("vals", "write_val", edge("val", "s", "val"), tensor="R"),
        tensors=[tensor("R", (4, 64), "ds", positions=(4, words), role=Role.RESULT)],
    )


def test_writers_append() -> None:
    nested = [[(3, 30), (9, 90)], [], [(1, 10)]]
    result = run(writers(), {"s": encode(nested, 2)}, runs=2)
    assert result.memories["crds.crd"][:3] == [3, 9, 1]
    assert result.memories["crds.seg"][:4] == [0, 2, 2, 3]
    assert result.memories["vals.val"][:3] == [30, 90, 10]
    assert result.counts == {"crds": 3, "vals": 3}
    assert result.cycles == 5
    assert not result.flags
    assert run(writers(), {"s": encode([], 2)}).memories["crds.seg"][:2] == [0, 0]


def test_writers_overrun_and_drain() -> None:
    nested = [[(k, k) for k in range(5)], [(7, 7)]]
    result = run(writers(2), {"s": encode(nested, 2)})
    assert result.flags == {"crds.overrun", "vals.overrun"}
    assert result.memories["crds.crd"] == [0, 1]
    assert result.memories["crds.seg"][1:3] == [2, 2]
    assert result.counts == {"crds": 2, "vals": 2}


def rows(*nested: Any, rank: int = 2) -> dict[str, list[Token]]:
    """One stream of rows for `accumulate(1, ...)`, two levels above the row."""
    return {"s": encode([list(nested)], rank + 2)}


def test_accumulate_first_output_and_no_bubbles() -> None:
    graph = accumulate(1, (40,), banks=4)
    result = run(
        graph,
        rows([[(3, 1), (39, 2), (3, 4)]], [[(8, 5)]], [], [[(0, 6), (1, 7)]]),
        sizes={"size_0": 40},
    )
    # fill fires in 1..7; rows end in 3, 4, 5, 7; C = 3
    assert result.edges["dut.row"].issues == [3, 4, 5, 7]
    assert issued(result, "sink.in") == [
        (6, ((3, 5), 0, 0)),
        (7, ((39, 2), 0, 1)),
        (8, ((8, 5), 0, 1)),
        (9, (None, 1, 1)),
        (10, ((0, 6), 0, 0)),
        (11, ((1, 7), 0, 3)),
    ]
    assert result.edges["dut.row"].pops == [7, 8, 9, 11]
    assert result.edges["sink.in"].pops == [t + 3 for t in range(6, 12)]


def test_accumulate_waits_for_a_bank() -> None:
    graph = accumulate(1, (8,), banks=1)
    result = run(graph, rows([[(2, 1)]], [[(2, 2)]]), sizes={"size_0": 8})
    assert result.edges["dut.crd"].pops == [1, 5]  # released in 1 + C = 4, free in 5
    assert issued(result, "sink.in") == [(4, ((2, 1), 0, 1)), (8, ((2, 2), 0, 3))]


def test_accumulate_hazard() -> None:
    graph = accumulate(1, (8,), banks=2, adder=3)
    result = run(graph, rows([[(5, 1), (5, 2), (6, 4), (5, 8)]], [[(5, 16)]]), sizes={"size_0": 8})
    # 5 in 1; 5 again waits until 4; 6 in 5; 5 waits until 7; another row's 5 need not wait
    assert result.edges["dut.crd"].pops == [1, 4, 5, 7, 8]
    assert issued(result, "sink.in") == [
        (11, ((5, 11), 0, 0)),
        (12, ((6, 4), 0, 1)),
        (13, ((5, 16), 0, 3)),
    ]


def test_accumulate_drops_what_is_out_of_range() -> None:
    graph = accumulate(1, (8,), banks=2)
    result = run(graph, rows([[(7, 1), (5, 2)]], [[(6, 4)]]), sizes={"size_0": 6})
    assert result.flags == {"dut.fill.range_error"}
    assert issued(result, "sink.in") == [(5, ((5, 2), 0, 1)), (6, (None, 1, 3))]


def test_reset_in_mid_stream_recovers() -> None:
    graph = accumulate(1, (40,), banks=2, adder=2)
    sources = rows(
        [[(k * 7 % 40, k) for k in range(20)]], [], [[(1, 1)]], [[(k, k) for k in range(9)]]
    )
    clean = run(graph, sources, sizes={"size_0": 40})
    for cycle in (5, 21, 28, 40):
        assert run(graph, sources, sizes={"size_0": 40}, reset_at=cycle) == clean
