"""Whole kernels under Verilator: several data sets on one build, with gates on every edge."""

import random

import numpy as np
import pytest

from fuseflow.compiler import Statement, compile_statement, parse
from fuseflow.samml.gates import random_gates
from fuseflow.samml.units import flatten
from fuseflow.tensor import Tensor
from gen.tile import Tile
from sim_models import golden
from sim_models.cycle.simulate import simulate
from tests.compiler.kernels import INPUTS, Kernel, families, own_kernels, read
from verif.compare import differences, image_differences
from verif.job import Run
from verif.tile import RtlTile, build_tile

pytestmark = pytest.mark.rtl

CAPACITY = 100
"""Largest size of every index: that of the largest peers' inputs used here."""

SHAPES = (0, 1, 1, 2, 5, 17)


@pytest.mark.parametrize("kernel", own_kernels(), ids=lambda kernel: kernel.name)
def test_kernel(kernel: Kernel) -> None:
    """Golden meaning, cycle model and RTL agree on every data set, gated and not."""
    statement = parse(kernel.program)
    tile = build(kernel, statement)
    data_sets = peers_operands(kernel)
    data_sets += [random_operands(kernel, statement, seed) for seed in range(10)]
    seeds = random.Random(kernel.name)
    runs = [
        make_run(tile, statement, operands, seed)
        for operands in data_sets
        for seed in (None, seeds.randrange(2**32))
    ]
    compare(tile, runs)


def compare(tile: RtlTile, runs: list[Run]) -> None:
    """Play runs and assert that model and RTL agree on every edge."""
    for run, record in zip(runs, tile.play(runs), strict=True):
        model = simulate(tile.plan.units, run.images, run.shapes, gates=run.gates)
        assert differences(tile.plan.units, model, record) == []


def build(kernel: Kernel, statement: Statement) -> RtlTile:
    """Build the kernel's tile for everything up to the capacity."""
    indices = {index for access in statement.operands for index in access.indices}
    dims = dict.fromkeys(sorted(indices), CAPACITY if len(indices) < 4 else 20)
    lowered = compile_statement(
        statement, kernel.formats, dims=dims, order=kernel.order, name=kernel.name
    )
    return build_tile(lambda: Tile(lowered.graph, gated=True), optimize=False)


def peers_operands(kernel: Kernel) -> list[dict[str, Tensor]]:
    """Return the peers' inputs that fit the capacity; none where they are not at hand."""
    if not INPUTS.exists():
        return []
    found = [read(kernel, family, files) for family, files in families(kernel).items()]
    return [
        operands
        for operands in found
        if all(max(tensor.shape) <= CAPACITY for tensor in operands.values())
    ]


def random_operands(kernel: Kernel, statement: Statement, seed: int) -> dict[str, Tensor]:
    """Return operands of random shape and density: empty, one by one, dense, one column, ..."""
    rng = np.random.default_rng(seed)
    indices = sorted({index for access in statement.operands for index in access.indices})
    sizes = {index: int(rng.choice(SHAPES)) for index in indices}
    density = float(rng.choice((0.0, 0.1, 0.5, 1.0)))
    operands: dict[str, Tensor] = {}
    for access in statement.operands:
        shape = tuple(sizes[index] for index in access.indices)
        values = rng.integers(-(2**31), 2**31, shape) >> rng.integers(0, 31, shape)
        array = np.where(rng.random(shape) < density, values, 0)
        form = kernel.formats[access.tensor]
        operands[access.tensor] = Tensor.from_numpy(access.tensor, array, form)
    return operands


def make_run(
    tile: RtlTile, statement: Statement, operands: dict[str, Tensor], seed: int | None
) -> Run:
    """Return a run, after checking that golden meaning and cycle model agree on it."""
    images = {name: tensor.image() for name, tensor in operands.items()}
    sizes = {
        index: size
        for access in statement.operands
        for index, size in zip(access.indices, operands[access.tensor].shape, strict=True)
    }
    shapes = {statement.target.tensor: tuple(sizes[index] for index in statement.target.indices)}
    units = flatten(tile.plan.graph)
    gates = None if seed is None else random_gates(units, seed)
    model = simulate(units, images, shapes, gates=gates)
    meant = golden.evaluate(tile.plan.graph, images, shapes)
    assert model.flags == meant.flags
    for name, image in meant.outputs.items():
        assert not list(image_differences(image, model.outputs[name]))
    return Run(images, shapes, limit=2 * model.cycles + 1000, gates=gates)
