"""Fused operators: the text of every pattern before and after, and equal words and flags."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from fuseflow.compiler import compile_statement
from fuseflow.compiler.operators import PATTERNS, UNWIDENED, Pattern, operators
from fuseflow.compiler.passes import Passes
from fuseflow.samml.check import infer
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.graph import Connection, Graph, Node, Role
from fuseflow.samml.image import TensorImage
from fuseflow.samml.text import print_graph
from fuseflow.samml.units import flatten
from fuseflow.samml.values import VALUE_TYPES, ValueType
from fuseflow.tensor import Tensor
from sim_models.cycle.simulate import simulate
from sim_models.golden import evaluate as run_golden
from sim_models.storage import Flags
from tests.compiler.kernels import expected
from tests.compiler.running import formats, operands, statements, value_types, values
from verif.compare import image_differences

SOURCES = {
    "relu behind an operation": "x(i) = relu(b(i) + c(i))",
    "affine function": "x(i) = b(i) * 3 - 2",
    "products into a wide sum": "x(i) = sum[j](B(i,j) * C(i,j))",
    "products into a sum as wide as they are": "x(i) = sum[j](B(i,j) * C(i,j))",
    "products into a maximum or minimum": "x(i) = max[j](B(i,j) * C(i,j))",
}
FORMATS = {"b": "s", "c": "d", "B": "ss", "C": "dd", "x": "d"}
SHAPES = {"b": (9,), "c": (9,), "B": (9, 21), "C": (9, 21)}
PAIRS = [
    (pattern.name, VALUE_TYPES[kind])
    for pattern in PATTERNS
    for kind in pattern.types
    if pattern.name != "products into a wide sum" or kind not in UNWIDENED
]
"""Every pattern with the value types in which lowering makes its pair."""

Draw: TypeAlias = Callable[[np.random.Generator, ValueType, tuple[int, ...]], np.ndarray]


def graphs(source: str, forms: Mapping[str, str], **options: Any) -> list[Graph]:
    """Return the graph of a statement without fused operators, and with them."""
    return [
        compile_statement(source, forms, passes=Passes(operators=fused), **options).graph
        for fused in (False, True)
    ]


def used(source: str) -> dict[str, str]:
    """Return the formats of the tensors that a statement names."""
    return {name: form for name, form in FORMATS.items() if re.search(rf"\b{name}\(", source)}


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_expected_text(pattern: Pattern) -> None:
    source = SOURCES[pattern.name]
    value = next(kind for name, kind in PAIRS if name == pattern.name)
    dims = {index: 16 for index in "ij" if index in source}
    pair = graphs(source, used(source), dims=dims, value=value)
    text = "\n".join(map(print_graph, pair))
    assert text == expected("operators_" + pattern.name.replace(" ", "_"), text)
    assert len(pair[1].nodes) == len(pair[0].nodes) - 1
    infer(pair[1])


def run(
    graph: Graph, tensors: Mapping[str, Tensor], shape: tuple[int, ...]
) -> tuple[TensorImage, Flags, int]:
    """Return what both models store and flag, and the cycles."""
    images = {name: tensor.image() for name, tensor in tensors.items()}
    (name,) = (each.name for each in graph.tensors if each.role == Role.RESULT)
    golden = run_golden(graph, images, {name: shape})
    cycles = simulate(flatten(graph), images, {name: shape}, digests=False)
    check_same(golden.outputs[name], cycles.outputs[name])
    assert cycles.flags == golden.flags
    return golden.outputs[name], golden.flags, cycles.cycles


def check_same(left: TensorImage, right: TensorImage) -> None:
    assert not list(image_differences(left, right))


def large(rng: np.random.Generator, value: ValueType, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers that leave the range under most operations."""
    return rng.uniform(-1, 1, shape) * float(value.largest)


@pytest.mark.parametrize("draw", [values, large])
@pytest.mark.parametrize(
    ("name", "value"), PAIRS, ids=[f"{n.replace(' ', '_')}-{v.name}" for n, v in PAIRS]
)
def test_a_pattern_keeps_words_and_flags(name: str, value: ValueType, draw: Draw) -> None:
    """A graph that lacks a node is no slower."""
    source = SOURCES[name]
    rng = np.random.default_rng(3)
    tensors = {
        tensor: Tensor.from_numpy(
            tensor, np.where(rng.random(SHAPES[tensor]) < 0.6, draw(rng, value, SHAPES[tensor]), 0),
            FORMATS[tensor], value=value, round_values=True,
        )
        for tensor in used(source).keys() - {"x"}
    }  # fmt: skip
    before, after = graphs(source, {"x": "d"}, tensors=tensors, value=value)
    assert len(after.nodes) == len(before.nodes) - 1
    plain, flags, slower = run(before, tensors, (9,))
    fused, same, faster = run(after, tensors, (9,))
    check_same(fused, plain)
    assert same == flags
    assert flags.overflow == (draw is large)
    assert faster <= slower


@dataclass(frozen=True)
class Drawn:
    """A random statement compiled without fused operators and with them."""

    plain: Graph
    fused: Graph
    tensors: dict[str, Tensor]
    shape: tuple[int, ...]


def draw_statement(data: st.DataObject) -> Drawn:
    statement = data.draw(statements(), label="statement")
    kind = data.draw(value_types(), label="value type")
    forms = {
        access.tensor: data.draw(formats(len(access.indices)), label=str(access))
        for access in {a.tensor: a for a in (statement.target, *statement.operands)}.values()
    }
    tensors = data.draw(operands(statement, forms, kind))
    try:
        plain = compile_statement(
            statement, forms, tensors=tensors, value=kind, passes=Passes(operators=False)
        )
    except LoweringError:
        reject()
    fused = compile_statement(statement, forms, tensors=tensors, value=kind, order=plain.order)
    sizes = {
        index: size
        for access in statement.operands
        for index, size in zip(access.indices, tensors[access.tensor].shape, strict=True)
    }
    shape = tuple(sizes[index] for index in statement.target.indices)
    return Drawn(plain.graph, fused.graph, tensors, shape)


@settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_random_statements_keep_words_and_flags(data: st.DataObject) -> None:
    it = draw_statement(data)
    images = {name: tensor.image() for name, tensor in it.tensors.items()}
    plain, fused = (run_golden(graph, images, {"Z": it.shape}) for graph in (it.plain, it.fused))
    check_same(fused.outputs["Z"], plain.outputs["Z"])
    assert fused.flags == plain.flags


@settings(
    deadline=None, max_examples=25, print_blob=True,
    suppress_health_check=[HealthCheck.filter_too_much],
)  # fmt: skip
@given(st.data())
def test_random_statements_on_the_cycle_model(data: st.DataObject) -> None:
    it = draw_statement(data)
    plain, flags, _ = run(it.plain, it.tensors, it.shape)
    fused, same, _ = run(it.fused, it.tensors, it.shape)
    check_same(fused, plain)
    assert same == flags


def test_what_others_read_stays() -> None:
    """A sum that is read beside its relu keeps its node."""
    before, _ = graphs("x(i) = relu(b(i) + c(i))", {"b": "s", "c": "d"})
    link = Connection("a", "add", "out", ("val",), ("a",))
    both = replace(before, nodes=(*before.nodes, Node("neg", "unary", {"op": "neg"}, (link,))))
    assert operators(both) == both
    assert operators(before).node("relu").inputs == before.node("add").inputs


@pytest.mark.parametrize("value", VALUE_TYPES.values(), ids=lambda value: value.name)
def test_a_rounded_product_stays_before_a_wider_sum(value: ValueType) -> None:
    before, _ = graphs("x(i) = sum[j](B(i,j) * C(i,j))", {"B": "dd", "C": "dd"})
    left = operators(replace(before, value=value))
    assert any(node.primitive == "alu" for node in left.nodes) == (value.wide is not value)
