"""What a tile stores and where: capacities, copies, addresses, and the graphs it refuses."""

import re
from dataclasses import replace
from typing import Any

import pytest

import fuseflow
from fuseflow.samml.errors import CapacityError, GraphError
from fuseflow.samml.graph import Graph, Node, Role
from gen.plan import Plan, identifier
from tests.gen import graphs

GRAPHS = [
    graphs.row_sums(),
    graphs.product(1),
    graphs.product(4),
    graphs.replay(),
    graphs.column_sums(),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_windows_are_aligned_disjoint_and_hold_their_arrays(graph: Graph) -> None:
    plan = Plan.of(graph)
    free = plan.register_bytes
    for window in plan.windows:
        assert window.size & (window.size - 1) == 0
        assert window.base % window.size == 0
        assert window.base >= free
        assert window.array.words * 4 <= window.size
        free = window.base + window.size
    assert free <= 1 << plan.address_bits
    addresses = [register.address for register in plan.registers]
    assert len(set(addresses)) == len(addresses)
    assert max(addresses) < plan.register_bytes


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_banks_hold_every_word_in_two_rows_or_more(graph: Graph) -> None:
    for array in Plan.of(graph).arrays:
        least = 2 * len(array.banks)
        assert sum(copies[0].depth for copies in array.banks) == max(array.words, least)
        for copies in array.banks:
            assert len({memory.depth for memory in copies}) == 1


def test_capacities_are_not_rounded_up() -> None:
    plan = Plan.of(graphs.row_sums(rows=5, entries=11))
    depths = {memory.name: memory.depth for array in plan.arrays for memory in array.memories}
    assert depths == {
        "mem_B_seg1_even": 3,
        "mem_B_seg1_odd": 3,
        "mem_B_crd1": 11,
        "mem_B_val": 11,
        "mem_x_val": 5,
    }


@pytest.mark.parametrize(("readers", "copies"), [(2, 1), (3, 2), (4, 2), (5, 3)])
def test_an_array_with_more_than_two_readers_is_replicated(readers: int, copies: int) -> None:
    plan = Plan.of(graphs.product(readers - 1))
    arrays = {array.name: array for array in plan.arrays if array.role == Role.INPUT}
    for array in arrays.values():
        for bank in array.banks:
            assert len(bank) == copies
            assert sum(len(memory.readers) for memory in bank) == readers
    names = [memory.name for memory in arrays["val"].banks[0]]
    assert names == ["mem_b_val", *(f"mem_b_val_copy{k}" for k in range(1, copies))]


def test_an_array_that_no_unit_reads_is_not_built() -> None:
    graph = graphs.product(1)
    pattern = replace(graph.tensors[0], name="p")
    graph = replace(graph, tensors=(*graph.tensors, pattern))
    assert "p" not in {array.tensor for array in Plan.of(graph).arrays}


def test_a_graph_that_never_ends_is_refused() -> None:
    graph = Graph("idle", nodes=(Node("root", "root"),))
    with pytest.raises(GraphError, match="no writer and no sink, so a run would never end"):
        Plan.of(graph)


def test_names_that_clash_in_verilog_are_refused() -> None:
    graph = graphs.replay()
    play, sum_i, taken = graph.nodes
    other = replace(sum_i, name="sum-i")
    end = replace(taken, name="end", inputs=(graphs.read("in", "sum-i", "val"),))
    graph = replace(graph, nodes=(play, replace(sum_i, name="sum_i"), other, taken, end))
    with pytest.raises(GraphError, match="'sum_i' and 'sum-i' have one name in Verilog"):
        Plan.of(graph)


def test_reading_a_result_of_the_same_tile_is_refused() -> None:
    graph = graphs.row_sums()
    extra = Node("again", "array", {"tensor": "x"}, (graphs.read("ref", "b_i", "ref"),))
    with pytest.raises(GraphError, match="'again' reads 'x', a result of the same tile"):
        Plan.of(replace(graph, nodes=(*graph.nodes, extra)))


def test_names_become_ascii() -> None:
    assert identifier("\u00fcber-b") == "_ber_b"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"dims": {"j": 2**18 + 1}},
            "node 'accumulate_k' keeps sums of 262145 coordinates, a tile at most 262144: lower "
            "the sizes (--dim), or use an order with the sum further inside",
        ),
        (
            {"dims": {"i": 2**27}},
            "134217729 of them for array X.seg1, and holds at most 67108864: lower capacities "
            "(--capacity) or sizes (--dim)",
        ),
        (
            {"formats": {"X": "dense"}, "dims": {"i": 2**16, "j": 2**11}},
            "134217728 of them for array X.val",
        ),
    ],
)
def test_what_no_device_holds_is_refused(options: dict[str, Any], message: str) -> None:
    options = {"formats": {"B": "DCSR"}} | options
    graph = fuseflow.compile("X(i,j) = B(i,k) * C(k,j)", order="i,k,j", **options).graph
    with pytest.raises(CapacityError, match=re.escape(message)):
        Plan.of(graph)


def test_a_fifo_that_no_device_holds_is_refused() -> None:
    graph = graphs.row_sums()
    node = graph.nodes[-1]
    deep = replace(node, inputs=(replace(node.inputs[0], depth=10**9),))
    with pytest.raises(CapacityError, match=r"1000000000 of them for edge "):
        Plan.of(replace(graph, nodes=(*graph.nodes[:-1], deep)))
