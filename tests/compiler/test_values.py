"""Values: the golden meaning of what we compile is the dense truth."""

import os
import re
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseflow.comparison.data import Given
from fuseflow.comparison.table import Kernel
from fuseflow.compiler import compile_statement
from fuseflow.compiler.counts import product_counts
from fuseflow.compiler.order import orders
from fuseflow.compiler.passes import Passes
from fuseflow.compiler.problem import Problem
from fuseflow.samml.catalog import ELEMENTARY
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.tokens import Nested
from fuseflow.samml.values import BF16, FP16, FP32, INT8, INT32, ValueType
from fuseflow.tensor import Tensor
from sim_models.golden import evaluate as run_golden
from tests.compiler.kernels import SINGLE, needs_inputs, on_inputs
from tests.compiler.running import formats, operands, run, statements, value_types

EXAMPLES = int(os.environ.get("FUSEFLOW_EXAMPLES", "150"))


@needs_inputs
@pytest.mark.parametrize(("kernel", "data"), on_inputs(SINGLE))
def test_kernels_on_the_peers_inputs(kernel: Kernel, data: Given) -> None:
    tensors = {tensor.name: tensor for tensor in data.operands(kernel, INT32)}
    run(kernel.program, kernel.formats, tensors, order=kernel.order)


@settings(deadline=None, max_examples=EXAMPLES, print_blob=True)
@given(st.data())
def test_random_statements(data: st.DataObject) -> None:
    """Any statement, type, formats, fills and allowed order: the truth, or a way out."""
    statement = data.draw(statements(), label="statement")
    kind = data.draw(value_types(), label="value type")
    forms = {
        access.tensor: data.draw(formats(len(access.indices)), label=str(access))
        for access in {a.tensor: a for a in (statement.target, *statement.operands)}.values()
    }
    tensors = data.draw(operands(statement, forms, kind))
    refusal = ""
    try:
        allowed = list(islice(orders(Problem.of(statement, forms)), 24))
        order = data.draw(st.sampled_from(allowed), label="order")
        run(statement, forms, tensors, kind, order=order)
    except LoweringError as error:
        refusal = str(error)
    assert not refusal or re.search("; store|use an order|give one operand", refusal), refusal


def test_the_cheapest_order_has_the_same_values() -> None:
    rng = np.random.default_rng(7)
    b = Tensor.from_numpy("B", rng.integers(-2, 3, (6, 5)), "dd")
    c = Tensor.from_numpy("C", rng.integers(-1, 2, (5, 7)), "dd")
    outcome = run("X(i,j) = B(i,k) * C(k,j)", {"X": "dd"}, {"B": b, "C": c})
    assert sorted(outcome.lowered.order) == ["i", "j", "k"]


@pytest.mark.parametrize(
    ("text", "form", "fill"),
    [
        ("X(i,j) = (B(i,j) + c(i)) * c(i)", "sd", 0),
        ("X(i,j) = (B(i,j) + E(i,j)) * c(i) * F(i,j)", "sd", 0),
        ("X(i,j) = c(i) * B(i,j)", "sd", 3),
        ("X(i,j) = B(i,j) * E(i,j)", "sd", 3),
        ("X(i,j) = (B(i,j) + F(i,j)) * 2 - B(i,j)", "sd", 0),
        ("X(i,j) = c(i) * sum[k](B(i,j,k))", "sds", 3),
    ],
)
def test_a_dense_level_below_an_absent_row_is_not_every_coordinate(
    text: str, form: str, fill: int
) -> None:
    """B stores row 1 alone, E all rows but that and the last."""
    b = np.full((4, 3, 2)[: len(form)], fill)
    b[1] = 7
    rows = np.array([[1, 2, 3], [0, 0, 0], [4, 5, 6], [0, 0, 0]])
    tensors = {
        "B": Tensor.from_numpy("B", b, form, fill=fill),
        "c": Tensor.from_numpy("c", [1, 2, 3, 4], "s"),
        "E": Tensor.from_numpy("E", rows, "sd"),
        "F": Tensor.from_numpy("F", np.ones((4, 3), int), "sd"),
    }
    tensors = {name: tensor for name, tensor in tensors.items() if name in text}
    run(text, {"X": "ss"}, tensors, order="i,j,k" if len(form) == 3 else "i,j")


@pytest.mark.parametrize("kind", [BF16, FP16, FP32], ids=lambda kind: kind.name)
@pytest.mark.parametrize("op", ELEMENTARY)
def test_functions_stay_within_their_bound(op: str, kind: ValueType) -> None:
    """Of operands that are off by some roundings themselves; and the bound is a tight one."""
    rng = np.random.default_rng(5)
    positive = op in ("sqrt", "rsqrt", "log")
    arrays = {n: rng.uniform(0.5, 3, 4000) if positive else rng.normal(0, 0.9, 4000) for n in "abc"}
    tensors = {n: Tensor.from_numpy(n, array, "d", value=kind) for n, array in arrays.items()}
    outcome = run(f"x(i) = {op}(a(i) * b(i) + c(i))", {"x": "d"}, tensors, kind)
    truth = outcome.truth
    found = outcome.result.to_numpy().astype(np.float64)
    finite = np.isfinite(truth.value) & np.isfinite(truth.bound)
    assert finite.mean() > 0.9
    assert (np.abs(found - truth.value) <= truth.bound)[finite].all()
    relative = (truth.bound / np.maximum(np.abs(truth.value), kind.smallest))[finite]
    assert np.median(relative) < 100 * kind.unit


def payloads(nested: Nested, rank: int) -> int:
    return 1 if rank == 0 else sum(payloads(child, rank - 1) for child in nested)


@pytest.mark.parametrize(
    ("text", "forms", "order"),
    [
        ("X(i,j) = B(i,k) * C(k,j)", {"X": "ss", "B": "ss", "C": "ss"}, "i,k,j"),
        ("X(i,j) = B(i,k) * C(k,j)", {"X": "ss", "B": "ss:1,0", "C": "ss"}, "k,i,j"),
        ("X(i,j) = B(i,k) * C(k,j)", {"X": "ss", "B": "ss", "C": "ss:1,0"}, "i,j,k"),
        ("x(i) = B(i,j) * c(j)", {"x": "d", "B": "ds", "c": "d"}, "i,j"),
        ("X(i,j) = B(i,j) * C(i,k) * D(k,j)",
         {"X": "ss", "B": "ss", "C": "dd", "D": "dd:1,0"}, "i,j,k"),
    ],
)  # fmt: skip
def test_no_more_multiplications_than_the_closed_form(
    text: str, forms: dict[str, str], order: str
) -> None:
    rng = np.random.default_rng(11)
    statement_tensors = {
        name: Tensor.from_numpy(
            name, rng.integers(1, 9, (12,) * (1 if name.islower() else 2))
            * (rng.random((12,) * (1 if name.islower() else 2)) < 0.3), form,
        )
        for name, form in forms.items() if name not in "Xx"
    }  # fmt: skip
    outcome = run(text, forms, statement_tensors, order=order, passes=Passes(operators=False))
    stored = {
        name: np.ones(each.shape, bool) if "d" * each.rank in forms[name] else each.to_numpy() != 0
        for name, each in statement_tensors.items()
    }
    first = next(node.name for node in outcome.lowered.graph.nodes if node.primitive == "alu")
    rank = outcome.golden.types[first, "out"].rank
    assert payloads(outcome.golden.streams[first, "out"][0], rank) == sum(
        product_counts(outcome.lowered.statement, stored)
    )


def test_an_overflow_wraps_and_is_flagged() -> None:
    big = Tensor.from_numpy("b", [2**31 - 1, 1], "s")
    graph = compile_statement("x(i) = b(i) + b(i)", {"x": "s"}, tensors=[big]).graph
    golden = run_golden(graph, {"b": big.image()}, {"x": (2,)})
    assert list(golden.outputs["x"].vals) == [-2, 2]
    assert golden.flags.overflow


def test_subtracting_the_lowest_integer_overflows_only_where_it_must() -> None:
    b = Tensor.from_numpy("b", [-1, -2, -128], "s", value=INT8, fill=-1)
    outcome = run("x(i) = b(i) - -128", {"x": "s"}, {"b": b}, INT8)
    assert outcome.result.to_numpy().tolist() == [127, 126, 0]
    assert not outcome.golden.flags.overflow
    c = Tensor.from_numpy("b", [5], "d", value=INT8)
    assert run("x(i) = b(i) - -128", {"x": "d"}, {"b": c}, INT8).golden.flags.overflow


def test_capacity_of_a_result_is_its_volume() -> None:
    b = Tensor.from_numpy("B", np.ones((3, 4), int), "ss")
    outcome = run("X(i,j) = B(i,j)", {"X": "ss"}, {"B": b})
    assert outcome.lowered.graph.tensor("X").positions == (3, 12)
