"""Fused operators under Verilator: the RTL stores what the graph without them means."""

import numpy as np
import pytest

from fuseflow.compiler import compile_statement
from fuseflow.compiler.passes import Passes
from fuseflow.samml.values import VALUE_TYPES
from fuseflow.tensor import Tensor
from gen.tile import Tile
from sim_models import golden
from tests.compiler.running import values
from tests.rtl.test_kernels import compare, make_run
from verif.compare import image_differences
from verif.tile import build_tile

pytestmark = pytest.mark.rtl

CASES = [
    ("x(i) = relu(sum[j](B(i,j) * C(i,j)) - c(i)) * 3 - 2", "bf16", 3),
    ("x(i) = max[j](B(i,j) * C(i,j)) * 3 - 2", "int8", 2),
]
"""A statement, the value type, and how many pairs become one node."""

FORMATS = {"B": "ds", "C": "dd", "c": "d", "x": "d"}


@pytest.mark.parametrize(("source", "kind", "pairs"), CASES)
def test_the_rtl_gives_the_words_of_the_pairs(source: str, kind: str, pairs: int) -> None:
    value = VALUE_TYPES[kind]
    used = {name: form for name, form in FORMATS.items() if f"{name}(" in source}
    plain, fused = (
        compile_statement(
            source, used, dims={"i": 8, "j": 32}, value=value, passes=Passes(operators=each)
        )
        for each in (False, True)
    )
    assert len(fused.graph.nodes) == len(plain.graph.nodes) - pairs
    tile = build_tile(lambda: Tile(fused.graph, gated=True), optimize=False)
    runs = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        tensors: dict[str, Tensor] = {}
        for name in used.keys() - {"x"}:
            shape = (8, 1 + 5 * seed)[: len(used[name])]
            array = np.where(rng.random(shape) < 0.7, values(rng, value, shape), 0)
            tensors[name] = Tensor.from_numpy(name, array, used[name], value=value)
        run = make_run(tile, fused.statement, tensors, seed if seed % 2 else None)
        meant, same = (
            golden.evaluate(each.graph, run.images, run.shapes).outputs["x"]
            for each in (plain, fused)
        )
        assert not list(image_differences(meant, same))
        runs.append(run)
    compare(tile, runs)
