"""Random statements through compiler, models and RTL; and the larger peers' inputs."""

from itertools import islice

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from fuseflow.compiler import compile_statement, parse
from fuseflow.compiler.order import orders
from fuseflow.compiler.problem import Problem
from fuseflow.samml.errors import LoweringError
from gen.tile import Tile
from tests.compiler.kernels import INPUTS, Kernel, families, own_kernels, read
from tests.compiler.running import formats, operands, statements
from tests.rtl.test_kernels import compare, make_run
from verif.tile import build_tile

pytestmark = [pytest.mark.rtl, pytest.mark.regress]

LARGEST = 4
"""Sizes that the strategy of operands draws."""


# Builds are too slow to shrink a failure; the seed is fixed, so that it comes again.
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.data())
def test_random_statements(data: st.DataObject) -> None:
    statement = data.draw(statements(), label="statement")
    accesses = {a.tensor: a for a in (statement.target, *statement.operands)}
    forms = {
        name: data.draw(formats(len(access.indices)), label=str(access))
        for name, access in accesses.items()
    }
    try:
        allowed = list(islice(orders(Problem(statement, forms)), 24))
        order = data.draw(st.sampled_from(allowed), label="order")
        dims = dict.fromkeys(statement.indices, LARGEST)
        graph = compile_statement(statement, forms, dims=dims, order=order).graph
    except LoweringError:
        reject()
    tile = build_tile(lambda: Tile(graph, gated=True), optimize=False)
    runs = [
        make_run(tile, statement, data.draw(operands(statement, forms)), seed)
        for seed in (None, 1, 2, 3)
    ]
    compare(tile, runs)


@pytest.mark.skipif(not INPUTS.exists(), reason="the peers' inputs are not beside the repository")
@pytest.mark.parametrize("kernel", own_kernels(), ids=lambda kernel: kernel.name)
def test_largest_peers_inputs(kernel: Kernel) -> None:
    name, files = list(families(kernel).items())[-1]
    tensors = read(kernel, name, files)
    statement = parse(kernel.program)
    graph = compile_statement(statement, kernel.formats, tensors=tensors, order=kernel.order).graph
    tile = build_tile(lambda: Tile(graph, gated=True))
    compare(tile, [make_run(tile, statement, tensors, seed) for seed in (None, 1)])
