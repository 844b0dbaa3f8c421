"""Random statements through compiler, models and RTL; and the larger peers' inputs."""

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from fuseflow.comparison.fitting import fitting
from fuseflow.comparison.run import compile_kernel
from fuseflow.comparison.table import Kernel
from fuseflow.compiler import compile_statement
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.values import FP32
from gen.tile import Tile
from tests.compiler.kernels import INPUTS, SINGLE, needs_inputs, renumbered
from tests.compiler.running import fills as draw_fills
from tests.compiler.running import formats, operands, statements, value_types
from tests.nightly import nightly
from tests.rtl.test_kernels import compare, make_run
from verif.job import Run
from verif.tile import build_tile

pytestmark = [pytest.mark.rtl, pytest.mark.regress]

LARGEST = 4
"""Sizes that the strategy of operands draws."""


# Builds are too slow to shrink a failure.
@nightly(20)
@given(st.data())
def test_random_statements(data: st.DataObject) -> None:
    statement = data.draw(statements(), label="statement")
    kind = data.draw(value_types(), label="value type")
    accesses = {a.tensor: a for a in (statement.target, *statement.operands)}
    forms = {
        name: data.draw(formats(len(access.indices)), label=str(access))
        for name, access in accesses.items()
    }
    fills = {access.tensor: data.draw(draw_fills(kind)) for access in statement.operands}
    try:
        lowered = compile_statement(
            statement,
            forms,
            dims=dict.fromkeys(statement.indices, LARGEST),
            fills=fills,
            value=kind,
            auto_convert=True,
        )
    except LoweringError:
        reject()
    tile = build_tile(lambda: Tile(lowered.graph, gated=True), optimize=False)
    runs: list[Run] = []
    for seed in (None, 1, 2, 3):
        tensors = data.draw(operands(statement, forms, kind, fills))
        for copy in lowered.copies:
            tensors[copy.name] = tensors[copy.tensor].convert(copy.format)
        runs.append(make_run(tile, statement, tensors, seed))
    compare(tile, runs)


@needs_inputs
@pytest.mark.parametrize("kernel", SINGLE, ids=lambda kernel: kernel.name)
def test_largest_peers_inputs(kernel: Kernel) -> None:
    found = [data.operands(kernel, FP32) for data in fitting(kernel, INPUTS)]
    tensors = max(found, key=lambda each: sum(tensor.nnz for tensor in each))
    tensors = renumbered(tensors, FP32, seed=1)
    lowered = compile_kernel(kernel, tensors, FP32).lowered
    tile = build_tile(lambda: Tile(lowered.graph, gated=True))
    named = {tensor.name: tensor for tensor in tensors}
    compare(tile, [make_run(tile, lowered.statement, named, seed) for seed in (None, 1)])
