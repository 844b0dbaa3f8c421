"""Loop orders: what formats allow, what is refused and how, and what the cost model picks."""

import re

import numpy as np
import pytest

from fuseflow.compiler import compile_statement, parse
from fuseflow.compiler.order import check_order, orders
from fuseflow.compiler.problem import Problem
from fuseflow.samml.errors import CapacityError, LoweringError
from fuseflow.samml.formats import Format
from fuseflow.tensor import Tensor

MATMUL = "X(i,j) = B(i,k) * C(k,j)"


def problem(text: str, **formats: str) -> Problem:
    return Problem.of(parse(text), {name: Format.parse(form) for name, form in formats.items()})


@pytest.mark.parametrize(
    ("formats", "found"),
    [
        ({"X": "ss", "B": "ss", "C": "ss"}, ["i,k,j"]),
        ({"X": "ss", "B": "ss", "C": "ss:1,0"}, ["i,j,k"]),
        ({"X": "ss", "B": "ss:1,0", "C": "ss"}, ["k,i,j"]),
        ({"X": "ss:1,0", "B": "ss:1,0", "C": "ss"}, ["k,j,i"]),
        ({"X": "ss:1,0", "B": "ss", "C": "ss:1,0"}, ["j,i,k"]),
        ({"X": "ss:1,0", "B": "ss:1,0", "C": "ss:1,0"}, ["j,k,i"]),
    ],
)
def test_storage_decides_the_order(formats: dict[str, str], found: list[str]) -> None:
    assert [",".join(order) for order in orders(problem(MATMUL, **formats))] == found


def test_all_orders_of_free_indices() -> None:
    free = problem("x = a(i) * b(j) * c(k)", x="scalar", a="s", b="s", c="s")
    assert len(set(orders(free))) == 6
    assert list(orders(free)) == list(orders(free))


def test_violation_names_everything() -> None:
    with pytest.raises(LoweringError) as caught:
        check_order(problem(MATMUL, X="ss", B="ss", C="ss"), ("k", "i", "j"))
    assert str(caught.value) == (
        "Fusion constraint violation at axis k: order 'k,i,j' needs k before i, but B(i,k) in "
        "ss:0,1 stores i above k; use an order with i before k, or store the tensor in another "
        "mode order (--auto-convert)"
    )


def test_contradiction_names_everything() -> None:
    with pytest.raises(LoweringError) as caught:
        list(orders(problem("X(i,j) = B(i,j)", X="ss:1,0", B="ss")))
    assert str(caught.value) == (
        "Fusion constraint violation at axis i: no loop order satisfies i before j by B(i,j) in "
        "ss:0,1; j before i by X(i,j) in ss:1,0; store one of these tensors in another mode "
        "order (--auto-convert), or split the region"
    )


@pytest.mark.parametrize(
    ("text", "formats", "order", "message"),
    [
        (MATMUL, {}, "i,j", "order 'i,j' must name each of i, j, k once"),
        (MATMUL, {"B": "s"}, None, "has rank 2, its format s:0 has rank 1"),
        (MATMUL, {"Q": "s"}, None, "has no tensor 'Q'"),
        (
            "X(a,b,c) = A(k,a) * B(k,b) * C(k,c)", {}, "k,a,b,c",
            "over k outside a, b, c: an accumulator keeps at most 2 levels; use an order with a, b "
            "before k",
        ),
        (
            "X(i,j) = A(i,k) * B(k,j) + C(i,j)", {"A": "ss:1,0"}, "k,i,j",
            "'sum[k](A(i,k) * B(k,j))' is accumulated at i, j, which nothing else can join and no "
            "dense result can take: use an order with i before k",
        ),
        (MATMUL, {"X": "dd", "B": "CSC"}, "k,i,j", "no dense result can take"),
    ],
)  # fmt: skip
def test_refuses(text: str, formats: dict[str, str], order: str | None, message: str) -> None:
    with pytest.raises(LoweringError, match=re.escape(message)):
        compile_statement(text, formats, order=order)


def test_cost_model_follows_real_tensors() -> None:
    """An inner product loops over the emptier vector outside where orders are free."""
    few = Tensor.from_numpy("a", np.eye(1, 50, dtype=int)[0], "s")
    many = Tensor.from_numpy("b", np.ones(50, int), "s")
    text = "x = sum[i,j](a(i) * b(j))"
    assert compile_statement(text, tensors=[few, many]).order == ("i", "j")
    assert compile_statement(text, tensors=[few.rename("b"), many.rename("a")]).order == ("j", "i")


def test_impossible_orders_are_skipped() -> None:
    """The outer product of three kept levels exists, but cannot be lowered."""
    lowered = compile_statement(
        "X(a,b,c) = A(k,a) * B(k,b) * c1(c)", {"A": "ss:1,0", "B": "ss:1,0", "X": "sss"}
    )
    assert lowered.order.index("k") > lowered.order.index("b")


def test_sizes() -> None:
    b, c = Tensor.from_numpy("B", np.eye(3, 4)), Tensor.from_numpy("C", np.eye(4, 5))
    graph = compile_statement(MATMUL, tensors=[b, c], dims={"j": 9}).graph
    assert graph.indices == {"i": 3, "j": 9, "k": 4}
    assert [tensor.dims for tensor in graph.tensors] == [(3, 4), (4, 9), (3, 9)]
    assert [tensor.positions for tensor in graph.tensors] == [(3, 3), (4, 4), (3, 27)]
    with pytest.raises(LoweringError, match=r"index k has size 4 in B\(i,k\) but 3 in C\(k,j\)"):
        compile_statement(MATMUL, tensors=[b, b.rename("C")])
    with pytest.raises(CapacityError, match="index j: capacity 4 is below its size 5"):
        compile_statement(MATMUL, tensors=[b, c], dims={"j": 4})
    with pytest.raises(CapacityError, match="level 1 needs 3 positions, capacity is 2"):
        compile_statement(MATMUL, tensors=[b, c], capacities={"B": 2})
    with pytest.raises(CapacityError, match="1 capacities for 2 levels"):
        compile_statement(MATMUL, capacities={"B": (2,)})
    with pytest.raises(LoweringError, match="is stored as ds:0,1, format ss:0,1 was asked for"):
        compile_statement(MATMUL, {"B": "ss"}, tensors=[b, c])


def test_unknown_names() -> None:
    with pytest.raises(LoweringError, match="has no index 'q'"):
        compile_statement(MATMUL, dims={"q": 4})
    with pytest.raises(LoweringError, match="has no tensor 'Q'"):
        compile_statement(MATMUL, capacities={"Q": 4})
    with pytest.raises(LoweringError, match="has no tensor 'Q'"):
        compile_statement(MATMUL, tensors=[Tensor.from_numpy("Q", [1])])


def test_contradictions_are_repaired_by_copies() -> None:
    text = "X(i,j) = A(i,j) + A(j,i)"
    with pytest.raises(LoweringError, match="Fusion constraint violation at axis"):
        compile_statement(text, {"A": "ss", "X": "ss"})
    lowered = compile_statement(text, {"A": "ss", "X": "ss"}, auto_convert=True)
    assert [(copy.tensor, copy.name, str(copy.format)) for copy in lowered.copies] == [
        ("A", "A_10", "ss:1,0")
    ]
    assert lowered.order == ("i", "j")
    assert str(lowered.statement) == text
    back = compile_statement(MATMUL, {"X": "ss:1,0"}, order="i,k,j", auto_convert=True)
    assert str(back.wanted["X"]) == "ss:1,0"
    assert str(back.formats["X"]) == "ss:0,1"
    assert not back.copies


def test_fills_decide_what_is_visited() -> None:
    def joins(text: str, **fills: float) -> list[str]:
        tensors = [Tensor.from_numpy(name, [1, 2], fill=int(fill)) for name, fill in fills.items()]
        graph = compile_statement(text, tensors=tensors).graph
        return [n.primitive for n in graph.nodes if n.primitive in ("union", "intersect")]

    assert joins("x(i) = b(i) * c(i)", b=0, c=0) == ["intersect"]
    assert joins("x(i) = b(i) * c(i)", b=3, c=3) == ["union"]
    assert joins("x(i) = b(i) * c(i)", b=0, c=3) == ["union"]
    assert joins("x(i) = max(b(i), c(i))", b=2**31 - 1, c=2**31 - 1) == ["intersect"]
    assert joins("x = b(i)", b=0) == []
    assert joins("x = b(i)", b=3) == ["union"], "every point counts"
    assert joins("x(i) = 2 * max(b(i), 1) + 5", b=0) == []
    assert joins("x = max[i](b(i))", b=0) == ["union"]
    graph = compile_statement(
        "x(i) = 2 * b(i) + 1", tensors=[Tensor.from_numpy("b", [1], fill=3)]
    ).graph
    assert graph.tensor("x").fill == 7
    assert graph.node("drop_i").params == {"fill": 7}
