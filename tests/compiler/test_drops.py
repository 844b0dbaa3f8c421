"""Drops inside a region: the same values, and zeros that open no loops."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseflow.compiler import compile_statement, forecast, parse
from fuseflow.compiler.order import orders
from fuseflow.compiler.passes import Passes
from fuseflow.compiler.problem import Problem
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.graph import Graph
from fuseflow.samml.text import print_graph
from fuseflow.samml.units import flatten
from fuseflow.samml.values import INT32, VALUE_TYPES, ValueType
from fuseflow.tensor import Tensor
from sim_models.cycle.simulate import simulate
from tests.compiler.kernels import expected
from tests.compiler.running import Outcome, formats, operands, run, value_types

LAYERS = "X(i,l) = sum[j](relu(sum[k](A(i,k) * B(k,j)) + b(j)) * C(j,l))"
LAYER = "X(i,l) = sum[j](relu(A(i,j) + b(j)) * C(j,l))"

DROPPED = [
    (LAYER, {"A": "ss", "b": "d", "C": "dd", "X": "dd"}, "i,j,l"),
    (LAYER, {"A": "ss", "b": "s", "C": "ss", "X": "ss"}, "i,j,l"),
    (LAYERS, {"A": "ss", "B": "ss", "b": "d", "C": "ss", "X": "ss"}, "i,k,j,l"),
    (LAYERS, {"A": "ss", "B": "ss:1,0", "b": "d", "C": "ds", "X": "ds"}, "i,j,k,l"),
    ("X(i,j,l) = relu(A(i,j)) * C(j,l)", {"A": "ss", "C": "ds", "X": "sss"}, "i,j,l"),
    ("X(i,j,l) = C(j,l) * max(A(i,j), 0)", {"A": "dd", "C": "ss", "X": "dss"}, "i,j,l"),
    ("x(i) = relu(a(i)) * sum[j](C(i,j) * d(j))", {"a": "s", "C": "ds", "d": "d", "x": "s"}, "i,j"),
    ("x(l) = sum[j](-relu(a(j)) * C(j,l))", {"a": "d", "C": "ds", "x": "s"}, "j,l"),
    ("X(i,m) = sum[l](relu(sum[j](relu(A(i,j)) * B(j,l))) * C(l,m))",
     {"A": "ss", "B": "dd", "C": "dd", "X": "dd"}, "i,j,l,m"),
]  # fmt: skip
"""Statements in which zeros open loops, with formats and an order."""

KEPT = [
    ("X(i,l) = max[j](relu(A(i,j)) * C(j,l))", {"A": "ss", "C": "dd", "X": "dd"}, "i,j,l"),
    ("X(i,l) = sum[j](relu(A(i,j)) * C(j,l))", {"A": "ss", "C": "dd:1,0", "X": "dd"}, "i,l,j"),
    ("X(i,l) = sum[j](relu(A(i,j)) + C(j,l))", {"A": "ss", "C": "dd", "X": "dd"}, "i,j,l"),
    ("X(i,j,l) = relu(A(i,j)) * C(j,l)", {"A": "ss", "C": "ds", "X": "sds"}, "i,j,l"),
    ("X(i,l) = sum[j](abs(A(i,j)) * C(j,l))", {"A": "ss", "C": "dd", "X": "dd"}, "i,j,l"),
]  # fmt: skip
"""Statements in which zeros count, open no loops, or are few."""


def inner_drops(graph: Graph) -> int:
    """Return how many drops of values stand before something else than writers."""
    read = {(edge.node, node.primitive) for node in graph.nodes for edge in node.inputs}
    last = ("drop_empty", "write_crd", "write_val", "drop_value")
    return sum(
        node.primitive == "drop_value"
        and any(name == node.name and reader not in last for name, reader in read)
        for node in graph.nodes
    )


def draw(text: str, forms: dict[str, str], value: ValueType, fill: int = 0) -> dict[str, Tensor]:
    """Return operands whose entries are as often negative as positive."""
    rng = np.random.default_rng(4)
    tensors: dict[str, Tensor] = {}
    for access in parse(text).operands:
        shape = tuple(40 if index == "l" else 16 for index in access.indices)
        numbers = rng.integers(1, 4, shape) * rng.choice((-1, 1), shape)
        share = 0.5 if "s" in forms[access.tensor] else 1.0
        array = np.where(rng.random(shape) < share, numbers, fill)
        tensors[access.tensor] = Tensor.from_numpy(
            access.tensor, array, forms[access.tensor], fill=fill, value=value
        )
    return tensors


def cycles(outcome: Outcome, tensors: dict[str, Tensor]) -> int:
    images = {name: tensor.image() for name, tensor in tensors.items()}
    shapes = {outcome.result.name: outcome.result.shape}
    return simulate(flatten(outcome.lowered.graph), images, shapes, digests=False).cycles


@pytest.mark.parametrize(("text", "forms", "order"), DROPPED)
@pytest.mark.parametrize("value", VALUE_TYPES.values(), ids=lambda value: value.name)
def test_zeros_open_no_loops(
    text: str, forms: dict[str, str], order: str, value: ValueType
) -> None:
    tensors = draw(text, forms, value)
    form = {name: kind for name, kind in forms.items() if name not in tensors}
    plain, thin = (
        run(text, form, tensors, value, order=order, passes=Passes(drops=each))
        for each in (False, True)
    )
    assert inner_drops(thin.lowered.graph) > inner_drops(plain.lowered.graph) == 0
    assert np.array_equal(thin.result.to_numpy(), plain.result.to_numpy()) or value.is_float
    assert cycles(thin, tensors) < 0.9 * cycles(plain, tensors)


@pytest.mark.parametrize(("text", "forms", "order"), KEPT)
def test_zeros_that_count_stay(text: str, forms: dict[str, str], order: str) -> None:
    tensors = draw(text, forms, INT32)
    form = {name: kind for name, kind in forms.items() if name not in tensors}
    assert inner_drops(run(text, form, tensors, order=order).lowered.graph) == 0


def test_another_fill_is_not_dropped() -> None:
    text = "X(i,l) = sum[j](relu(A(i,j)) * C(j,l))"
    for fill, found in ((2, 0), (0, 1)):
        tensors = draw(text, {"A": "ss", "C": "ds"}, INT32, fill)
        graph = run(text, {"X": "dd"}, tensors, order="i,j,l").lowered.graph
        assert inner_drops(graph) == found


def test_what_is_rarely_zero_is_not_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drop costs a node: the forecast decides."""
    forms = {"A": "ss", "b": "d", "C": "ds", "X": "ss"}
    for share, found in ((1.0, 0), (0.5, 1)):
        monkeypatch.setattr(forecast, "POSITIVE", share)
        assert inner_drops(compile_statement(LAYER, forms, order="i,j,l").graph) == found


def test_expected_text() -> None:
    forms = {"A": "ss", "b": "d", "C": "ds", "X": "ss"}
    dims = dict.fromkeys("ijl", 16)
    text = "\n".join(
        print_graph(
            compile_statement(
                LAYER, forms, order="i,j,l", dims=dims, passes=Passes(drops=drops)
            ).graph
        )
        for drops in (False, True)
    )
    assert text == expected("drops", text)


FACTORS = (
    "relu(A(i,j) + b(j))", "-relu(A(i,j))", "relu(b(j))", "C(j,l)", "max(C(j,l), 0)", "d(i)",
    "relu(sum[k](A(i,k) * B(k,j)))", "relu(min[o](B(o,j) + A(i,o)))", "E", "abs(relu(D(l,m)))",
    "sum[n](relu(F(i,n)) * G(n,j))",
)  # fmt: skip


@settings(deadline=None, print_blob=True)
@given(st.data())
def test_random_products(data: st.DataObject) -> None:
    """Products and sums of them in any order, format, type and fill, with all drops there are."""
    chosen = data.draw(
        st.lists(st.sampled_from(FACTORS), min_size=2, max_size=4, unique=True), label="factors"
    )
    body = " * ".join(chosen) + data.draw(st.sampled_from(["", " + b(j)", " - relu(A(i,j))"]))
    used = [index for index in "ijlm" if f"{index})" in body or f"{index}," in body]
    if not used:
        return
    kept = data.draw(st.permutations(used))[: data.draw(st.integers(0, 3))]
    target = f"X({','.join(kept)})" if kept else "X"
    folded = [index for index in used if index not in kept]
    text = f"{target} = " + (f"sum[{','.join(folded)}]({body})" if folded else body)
    statement = parse(text)
    kind = data.draw(value_types(), label="value type")
    forms = {
        access.tensor: data.draw(formats(len(access.indices)), label=str(access))
        for access in {a.tensor: a for a in (statement.target, *statement.operands)}.values()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecast, "POSITIVE", 0.01)
        try:
            tensors = data.draw(operands(statement, forms, kind))
            allowed = list(islice(orders(Problem.of(statement, forms)), 24))
            run(statement, forms, tensors, kind, order=data.draw(st.sampled_from(allowed)))
        except LoweringError:
            return
