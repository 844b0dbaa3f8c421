"""Lowering: expected graphs as text, and the structure that the design demands."""

import pytest

from fuseflow.comparison.table import Kernel
from fuseflow.compiler import compile_statement
from fuseflow.samml.check import infer
from fuseflow.samml.graph import Graph
from fuseflow.samml.text import parse_graph, print_graph
from tests.compiler.kernels import SINGLE, expected

CASES = {
    "matmul_ikj": ("X(i,j) = B(i,k) * C(k,j)", {"X": "ss", "B": "ss", "C": "ss"}, "i,k,j"),
    "matmul_kij": ("X(i,j) = B(i,k) * C(k,j)", {"X": "ss", "B": "ss:1,0", "C": "ss"}, "k,i,j"),
    "elemadd": ("X(i,j) = B(i,j) + C(i,j)", {"X": "ss", "B": "ss", "C": "ss"}, "i,j"),
    "residual": (
        "x(i) = b(i) - C(i,j) * d(j)", {"x": "s", "b": "s", "C": "ss", "d": "s"}, "i,j",
    ),
    "spmv_dense": ("x(i) = B(i,j) * c(j)", {"x": "d", "B": "ds", "c": "d"}, "i,j"),
    "column_sum_plus": ("x(j) = B(i,j) + c(j)", {"x": "s", "B": "ss", "c": "s"}, "i,j"),
    "bias_add": ("X(i,j) = T(i,j) + b(j)", {"X": "ss", "T": "ss", "b": "d"}, "i,j"),
    "square": ("X(i,j) = A(i,k) * A(k,j) - A(i,j)", {"X": "ss", "A": "ss"}, "i,k,j"),
}  # fmt: skip


def count(graph: Graph, primitive: str) -> int:
    return sum(node.primitive == primitive for node in graph.nodes)


@pytest.mark.parametrize("name", CASES)
def test_expected_text(name: str) -> None:
    text, formats, order = CASES[name]
    dims = dict.fromkeys(order.split(","), 16)
    graph = compile_statement(text, formats, order=order, dims=dims).graph
    printed = print_graph(graph, types=True)
    assert printed == expected(name, printed)
    assert parse_graph(printed) == graph


@pytest.mark.parametrize("kernel", SINGLE, ids=lambda kernel: kernel.name)
def test_every_kernel_lowers(kernel: Kernel) -> None:
    listed = compile_statement(kernel.program, kernel.formats, order=kernel.order)
    infer(listed.graph)
    assert listed.order == kernel.order
    again = compile_statement(kernel.program, kernel.formats, order=kernel.order)
    assert print_graph(again.graph) == print_graph(listed.graph)
    infer(compile_statement(kernel.program, kernel.formats).graph)


def test_dense_levels_are_located_not_scanned() -> None:
    graph = compile_statement(
        "X(i,j) = B(i,j) * C(i,k) * D(k,j)",
        {"X": "ss", "B": "ss", "C": "dd", "D": "dd:1,0"},
        order="i,j,k",
    ).graph
    assert count(graph, "locate") == 3
    assert count(graph, "scan_dense") == 1
    assert [graph.node(f"locate_{x}").params["parent"] for x in ("C_i", "D_j", "D_k")] == [
        False,
        False,
        True,
    ]


def test_private_reduction_stays_out_of_its_sibling() -> None:
    """``b`` is neither repeated along j nor joined there."""
    graph = compile_statement(
        "x(i) = b(i) - C(i,j) * d(j)", {"x": "s", "b": "s", "C": "ss", "d": "s"}
    ).graph
    types = infer(graph)
    assert types.inputs["array_b"]["ref"].rank == 1
    assert count(graph, "repeat") == 1


def test_a_term_is_not_recomputed_along_an_index_that_it_lacks() -> None:
    graph = compile_statement(
        "X(i,j) = B(i,j) + C(i,k) * d(k)", {"X": "ss", "B": "ss", "C": "ss", "d": "s"}
    ).graph
    assert [level.index for level in infer(graph).inputs["reduce_k"]["a"].levels] == ["i", "k"]


def test_equal_repeats_are_shared() -> None:
    graph = compile_statement("x = sum[i,j](a(i) * b(j) * c(j))", order="i,j")
    assert [node.name for node in graph.graph.nodes if node.primitive == "repeat"] == [
        "repeat_b_i",
        "repeat_val_j",
    ]


def test_drops_skip_levels_above_dense_ones() -> None:
    for form, drops in (("sds", 0), ("ssd", 1), ("dss", 1), ("sss", 2), ("ddd", 0)):
        graph = compile_statement("X(i,j,k) = B(i,j,k)", {"X": form, "B": "sss"}).graph
        assert count(graph, "drop_empty") == drops, form
        assert count(graph, "drop_value") == (form[-1] == "s")


def test_no_field_is_carried_for_nobody() -> None:
    for text, formats, order in CASES.values():
        graph = compile_statement(text, formats, order=order).graph
        read = {(edge.node, edge.output, field) for node in graph.nodes for edge in node.inputs
                for field in edge.fields}  # fmt: skip
        for node in graph.nodes:
            if node.primitive in ("intersect", "union", "drop_empty"):
                for port, stream in infer(graph).outputs[node.name].items():
                    unread = {f for f in stream.names if (node.name, port, f) not in read}
                    assert unread <= {"crd"}, node.name
