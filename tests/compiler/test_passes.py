"""Passes: what each changes in a graph, as text, and that none changes what a graph computes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from fuseflow.compiler import parse
from fuseflow.compiler.passes import Passes
from fuseflow.compiler.pipeline import compile_region
from fuseflow.samml.errors import FuseFlowError, LoweringError
from fuseflow.samml.text import print_graph
from tests.compiler.kernels import expected
from tests.compiler.running import formats, operands, run, statements, value_types

ROWS = "m(i) = max[j](B(i,j))", "X(i,j) = B(i,j) - m(i)"
CASES = {
    "locate": (
        ("X(i,j) = B(i,k) * C(k,j)",), {"X": "ss", "B": "ss", "C": "dd"}, "i,k,j",
    ),
    "masks": (
        ("T(i,j) = C(i,k) * D(k,j)", "X(i,j) = B(i,j) * T(i,j)"),
        {"X": "ss", "B": "ss", "C": "ss", "D": "ss"},
        "i,k,j",
    ),
    "share": (ROWS, {"X": "ss", "B": "ss"}, "i,j"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "on"), list(product(CASES, (False, True))))
def test_before_and_after(name: str, on: bool) -> None:
    texts, forms, order = CASES[name]
    graph = compile_region(
        [parse(text) for text in texts],
        ["X"],
        forms,
        order=order,
        dims=dict.fromkeys(order.split(","), 16),
        passes=Passes(**{name: on, "operators": False}),
    ).graph
    printed = print_graph(graph, types=True)
    assert printed == expected(f"pass_{name}_{'after' if on else 'before'}", printed)


@settings(deadline=None, max_examples=60, print_blob=True)
@given(st.data())
def test_random_statements_mean_the_same(data: st.DataObject) -> None:
    statement = data.draw(statements(), label="statement")
    kind = data.draw(value_types(), label="value type")
    forms = {
        access.tensor: data.draw(formats(len(access.indices)), label=str(access))
        for access in {a.tensor: a for a in (statement.target, *statement.operands)}.values()
    }
    tensors = data.draw(operands(statement, forms, kind))
    names = ("locate", "masks", "share", "drops", "operators")
    off = data.draw(st.sets(st.sampled_from(names), min_size=1), label="left out")
    try:
        usual = run(statement, forms, tensors, kind)
        other = run(statement, forms, tensors, kind, passes=Passes.without(off))
    except LoweringError:
        reject()
    if not kind.is_float:
        np.testing.assert_array_equal(usual.result.to_numpy(), other.result.to_numpy())


def test_an_unknown_pass() -> None:
    with pytest.raises(FuseFlowError, match="no pass 'magic' to leave out: choose locate, masks"):
        Passes.without(["magic"])
