"""FIFO depths of fused statements: enough on adversarial tensors, and what one entry less does."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from fuseflow.compiler import parse
from fuseflow.compiler.pipeline import Lowered, compile_region
from fuseflow.compiler.slack import BURST, bounds
from fuseflow.samml.graph import Graph
from fuseflow.samml.units import flatten
from fuseflow.samml.values import FP32
from fuseflow.tensor import Tensor
from sim_models.cycle.result import DeadlockError
from sim_models.cycle.simulate import simulate

SIZE = 12
PATTERNS = ("all", "none", "last", "some")
CASES: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "centred rows": (
        ("m(i) = max[j](B(i,j))", "X(i,j) = B(i,j) - m(i)"), {"B": "ss", "X": "ss"}, "i,j",
    ),
    "normalised rows": (
        ("s(i) = sum[j](B(i,j))", "X(i,j) = B(i,j) * s(i)"), {"B": "ss", "X": "ss"}, "i,j",
    ),
    "a row of values for a score": (
        ("m(i) = max[j](S(i,j))", "X(i,d) = (S(i,j) - m(i)) * V(j,d)"),
        {"S": "ss", "V": "dd", "X": "ss"},
        "i,j,d",
    ),
    "two products and a sum": (
        ("T(i,j) = A(i,k) * B(k,j)", "X(i,j) = T(i,j) + C(i,j)"),
        dict.fromkeys("ABCX", "ss"),
        "i,k,j",
    ),
    "a chain": (
        ("T(i,j) = A(i,k) * B(k,j)", "X(i,l) = T(i,j) * C(j,l)"),
        dict.fromkeys("ABCX", "ss"),
        "i,k,j,l",
    ),
}  # fmt: skip


def stored(shape: tuple[int, ...], pattern: str, operand: int) -> np.ndarray:
    """Return entries that all operands have, that no two have, that meet at the end, or some."""
    rng = np.random.default_rng(operand)
    values = rng.integers(1, 9, shape).astype(float)
    if pattern == "some":
        return values * (rng.random(shape) < 0.3)
    if pattern == "all":
        return values
    mask = np.zeros(shape, bool)
    mask[..., operand % 2 :: 2] = True
    mask[..., -1] |= pattern == "last"
    return values * mask


def compiled(name: str) -> Lowered:
    texts, forms, order = CASES[name]
    dims = dict.fromkeys(order.split(","), SIZE)
    statements = [parse(text) for text in texts]
    return compile_region(statements, ["X"], forms, order=order, dims=dims, value=FP32)


def cycles(lowered: Lowered, graph: Graph, pattern: str) -> int | None:
    """Return the cycles of a graph on one pattern; None where it deadlocks."""
    images = {
        access.tensor: Tensor.from_numpy(
            access.tensor,
            stored((SIZE,) * len(access.indices), pattern, number),
            lowered.formats[access.tensor],
            value=FP32,
        ).image()
        for number, access in enumerate(lowered.inputs)
    }
    try:
        shapes = {"X": (SIZE, SIZE)}
        return simulate(flatten(graph), images, shapes, digests=False).cycles
    except DeadlockError:
        return None


def with_depths(graph: Graph, depths: Mapping[str, int]) -> Graph:
    """Return a graph with other depths of some edges, by ``node.port``."""
    nodes = tuple(
        replace(
            node,
            inputs=tuple(
                replace(edge, depth=depths.get(f"{node.name}.{edge.port}", edge.depth))
                for edge in node.inputs
            ),
        )
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


@pytest.mark.parametrize("name", CASES)
def test_depths_are_enough(name: str) -> None:
    """More room would not be used on any pattern."""
    lowered = compiled(name)
    edges = [f"{node.name}.{edge.port}" for node in lowered.graph.nodes for edge in node.inputs]
    deep = with_depths(lowered.graph, dict.fromkeys(edges, 1000))
    for pattern in PATTERNS:
        assert cycles(lowered, lowered.graph, pattern) == cycles(lowered, deep, pattern)


@pytest.mark.parametrize("name", CASES)
def test_one_entry_less(name: str) -> None:
    """It stops the tile, costs cycles, or the bound is slack on these patterns."""
    lowered = compiled(name)
    usual = {pattern: cycles(lowered, lowered.graph, pattern) for pattern in PATTERNS}
    found: dict[str, str] = {}
    for bound in bounds(flatten(lowered.graph)):
        if not bound.fork or bound.depth <= BURST:
            continue
        less = with_depths(lowered.graph, {bound.edge: bound.depth - 1})
        now = {pattern: cycles(lowered, less, pattern) for pattern in PATTERNS}
        if None in now.values():
            found[bound.edge] = "deadlock"
        else:
            found[bound.edge] = "slower" if now != usual else "slack"
    assert found == ONE_LESS[name]


ONE_LESS = {
    "centred rows": {"drop_j.crd": "slower", "drop_i.outer": "slack"},
    "normalised rows": {
        "repeat_val_j.signal": "slower", "mul.a": "slower", "drop_j.crd": "slower",
        "drop_i.outer": "slack",
    },
    "a row of values for a score": {"scan_V_d.ref": "slack", "drop_i.outer": "slack"},
    "two products and a sum": {"union_j.right": "slack", "drop_i.outer": "slack"},
    "a chain": {"intersect_j.right": "slack", "drop_i.outer": "slack"},
}  # fmt: skip
"""What one entry less does to the edges that get more than a burst because of a fork."""


@pytest.mark.parametrize("name", ["centred rows", "normalised rows"])
def test_a_row_that_does_not_fit_stops_the_tile(name: str) -> None:
    """The row that waits for its own fold needs room for all of it but what units hold."""
    lowered = compiled(name)
    less = with_depths(lowered.graph, {"repeat_val_j.signal": SIZE // 2})
    assert cycles(lowered, less, "all") is None
