"""FIFO depths on the cycle model: with them a graph is as fast as with unbounded edges."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fuseflow.comparison.table import Kernel
from fuseflow.compiler import Lowered, compile_statement, parse
from fuseflow.compiler.order import orders
from fuseflow.compiler.problem import Problem
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.graph import Graph
from fuseflow.samml.units import flatten
from fuseflow.tensor import Tensor
from sim_models.cycle.result import CycleResult
from sim_models.cycle.simulate import simulate
from tests.compiler.kernels import SINGLE
from tests.compiler.running import formats, operands, run, statements

DEEP = 1 << 12


def deepen(graph: Graph) -> Graph:
    nodes = tuple(
        replace(node, inputs=tuple(replace(edge, depth=DEEP) for edge in node.inputs))
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


def cycles(
    lowered: Lowered, tensors: dict[str, Tensor], shape: tuple[int, ...], *, deep: bool = False
) -> CycleResult:
    graph = deepen(lowered.graph) if deep else lowered.graph
    images = {name: tensor.image() for name, tensor in tensors.items()}
    shapes = {lowered.statement.target.tensor: shape}
    return simulate(flatten(graph), images, shapes, digests=False)


def pattern(match: str, shape: tuple[int, ...], operand: int) -> np.ndarray:
    """Entries that all operands have, that no two have, that meet at the end only, or few."""
    if not shape or match == "all":
        return np.ones(shape, bool)
    if match == "random":
        return np.random.default_rng(operand).random(shape) < 0.2
    mask = np.zeros(shape, bool)
    mask[..., operand % 2 :: 2] = True
    mask[..., -1] |= match == "last"
    return mask


@pytest.mark.parametrize("match", ["all", "none", "last", "random"])
@pytest.mark.parametrize("kernel", SINGLE, ids=lambda kernel: kernel.name)
def test_no_branch_of_a_fork_ever_stalls(kernel: Kernel, match: str) -> None:
    statement = parse(kernel.program)
    size = 10 if len(statement.indices) < 4 else 5
    tensors: dict[str, Tensor] = {}
    for number, access in enumerate(statement.operands):
        mask = pattern(match, (size,) * len(access.indices), number)
        form = kernel.formats[access.tensor]
        tensors[access.tensor] = Tensor.from_numpy(access.tensor, mask.astype(int), form)
    lowered = compile_statement(statement, kernel.formats, tensors=tensors, order=kernel.order)
    shape = (size,) * len(statement.target.indices)
    bounded = cycles(lowered, tensors, shape)
    assert bounded.cycles == cycles(lowered, tensors, shape, deep=True).cycles


def test_cascaded_accumulators_do_not_deadlock() -> None:
    """The outer coordinate leaves with the last inner token: the inner edge holds the fiber."""
    tensors = {name: Tensor.from_numpy(name, np.ones((12, 12), int), "ss") for name in ("A", "B")}
    lowered = compile_statement(
        "Z(j,l) = sum[i,k](A(i,j) * B(k,l))", {"Z": "ss"}, tensors=tensors, order="i,k,j,l"
    )
    depths = {edge.port: edge.depth for edge in lowered.graph.node("accumulate_i").inputs}
    assert (depths["crd"], depths["val"], depths["outer"]) == (3 + 11 + 1, 3 + 11 + 1, 4)
    bounded = cycles(lowered, tensors, (12, 12))
    assert bounded.cycles == cycles(lowered, tensors, (12, 12), deep=True).cycles


@settings(deadline=None, max_examples=60, print_blob=True)
@given(st.data())
def test_random_statements_run_to_their_end(data: st.DataObject) -> None:
    statement = data.draw(statements(), label="statement")
    forms = {
        access.tensor: data.draw(formats(len(access.indices)), label=str(access))
        for access in {a.tensor: a for a in (statement.target, *statement.operands)}.values()
    }
    tensors = data.draw(operands(statement, forms))
    outcome = None
    try:
        allowed = list(islice(orders(Problem.of(statement, forms)), 24))
        order = data.draw(st.sampled_from(allowed), label="order")
        outcome = run(statement, forms, tensors, order=order)
    except LoweringError:
        pass
    assume(outcome is not None)
    bounded = cycles(outcome.lowered, tensors, outcome.truth.value.shape)
    name = statement.target.tensor
    fill = outcome.result.fill
    result = Tensor.from_image(name, bounded.outputs[name], forms[name], fill=fill, computed=True)
    np.testing.assert_array_equal(result.to_numpy(), outcome.result.to_numpy())
