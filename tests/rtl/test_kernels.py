"""Whole kernels under Verilator: several data sets on one build, with gates on every edge."""

import random
from collections.abc import Mapping

import numpy as np
import pytest

from fuseflow.comparison.fitting import fitting
from fuseflow.comparison.table import Kernel, select
from fuseflow.compiler import Lowered, Statement, compile_statement
from fuseflow.compiler.passes import Passes
from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.functions import FLOATING
from fuseflow.samml.gates import random_gates
from fuseflow.samml.graph import Role
from fuseflow.samml.values import VALUE_TYPES, ValueType
from fuseflow.tensor import Tensor
from gen.tile import Tile
from sim_models import golden
from sim_models.cycle.simulate import simulate
from tests.compiler.kernels import INPUTS, KERNELS, renumbered
from tests.compiler.running import values
from verif.compare import differences, image_differences
from verif.job import Run
from verif.primitives import FUNCTIONS
from verif.tile import RtlTile, build_tile

pytestmark = pytest.mark.rtl

CAPACITY = {0: 100, 1: 100, 2: 100, 3: 20, 4: 6}
"""Largest size of every index, by the largest rank of a kernel's tensors."""

SHAPES = (0, 1, 1, 2, 5, 17)

LONG = 40_000
"""Cycles of a run that is not repeated with gates, which make it up to fourteen times longer."""

ALWAYS = {
    "fp32": (
        "matmul_ijk", "matmul_ikj", "matmul_kij", "mat_elemadd3", "mat_residual",
        "mat_sddmm", "mat_row_max_masked", "mat_column_max_plus", "mat_add_masked",
        "vec_clip", "tensor3_mttkrp",
    ),
    "bf16": ("matmul_ikj", "mat_nested_sums", "vec_abs_difference", "vec_min"),
    "fp16": ("mat_relu_product", "tensor3_innerprod", "mat_column_min"),
    "int8": ("matmul_ikj", "mat_row_min_dense", "vec_negate_max"),
    "int16": ("matmul_kij", "mat_column_max", "vec_scale_shift"),
    "int32": ("spmv_csr_dense", "mat_symmetrize", "tensor4_contract"),
}  # fmt: skip
"""Kernels that are always built, by value type: among them is every primitive and operation."""

APART = ("vec_scale_shift", "int32")
"""A kernel and value type that are built without fused operators too, for the parts of affine."""

DEFAULT_OP = {"reduce": "sum", "accumulate": "sum"}

CASES = [
    pytest.param(
        kernel,
        kind,
        id=f"{kernel.name}-{kind.name}",
        marks=[] if kernel.name in ALWAYS[kind.name] else [pytest.mark.regress],
    )
    for kind in VALUE_TYPES.values()
    for kernel in (KERNELS if kind.name == "fp32" else select(ALWAYS[kind.name]))
]


@pytest.mark.parametrize(("kernel", "kind"), CASES)
def test_kernel(kernel: Kernel, kind: ValueType) -> None:
    """Golden meaning, cycle model and RTL agree on every data set, gated and not."""
    check(kernel, kind, lower(kernel, kind))


def test_a_kernel_without_fused_operators() -> None:
    kernel, kind = *select(APART[:1]), VALUE_TYPES[APART[1]]
    check(kernel, kind, lower(kernel, kind, operators=False))


def check(kernel: Kernel, kind: ValueType, lowered: Lowered) -> None:
    """Build a graph and run it on every data set."""
    tile = build_tile(lambda: Tile(lowered.graph, gated=True), optimize=False)
    data_sets = peers_operands(kernel, kind)
    data_sets += [random_operands(kernel, kind, seed) for seed in range(10)]
    seeds = random.Random(kernel.name)
    runs: list[Run] = []
    for tensors in data_sets:
        operands = with_copies(lowered, tensors)
        runs.append(make_run(tile, lowered.statement, operands, None))
        if runs[-1].limit < LONG:
            runs.append(make_run(tile, lowered.statement, operands, seeds.randrange(2**32)))
    compare(tile, runs)


def with_copies(lowered: Lowered, tensors: list[Tensor]) -> dict[str, Tensor]:
    """Return operands by name, and copies of them that the graph reads in another format."""
    named = {tensor.name: tensor for tensor in tensors}
    return named | {c.name: named[c.tensor].convert(c.format) for c in lowered.copies}


def compare(tile: RtlTile, runs: list[Run]) -> None:
    """Play runs and assert that model and RTL agree on every edge."""
    for run, record in zip(runs, tile.play(runs), strict=True):
        model = simulate(tile.plan.units, run.images, run.shapes, gates=run.gates)
        assert differences(tile.plan.units, model, record) == []


def lower(kernel: Kernel, kind: ValueType, *, operators: bool = True) -> Lowered:
    """Compile a kernel for everything up to the capacity."""
    return compile_statement(
        kernel.statement,
        kernel.formats,
        dims=dict.fromkeys(kernel.statement.indices, capacity(kernel)),
        order=kernel.order,
        fills={name: kernel.fill(name, kind) for name in kernel.operands},
        auto_convert=kernel.auto_convert,
        keep_explicit=kernel.keep_explicit,
        passes=Passes(operators=operators),
        value=kind,
        name=kernel.name,
    )


def capacity(kernel: Kernel) -> int:
    return CAPACITY[max(form.rank for form in kernel.formats.values())]


def peers_operands(kernel: Kernel, kind: ValueType) -> list[list[Tensor]]:
    """Return the peers' inputs that fit the capacity; none where they are not at hand."""
    if not INPUTS.exists():
        return []
    found = [data.operands(kernel, kind) for data in fitting(kernel, INPUTS)]
    return [
        renumbered(tensors, kind, seed)
        for seed, tensors in enumerate(found)
        if all(max(each.shape, default=0) <= capacity(kernel) for each in tensors)
    ]


def random_operands(kernel: Kernel, kind: ValueType, seed: int) -> list[Tensor]:
    """Return operands of random shape and density: empty, one by one, dense, one column, ..."""
    rng = np.random.default_rng(seed)
    choices = [size for size in SHAPES if size <= capacity(kernel)]
    sizes = {index: int(rng.choice(choices)) for index in kernel.statement.indices}
    if len(kernel.operands) < len(kernel.statement.operands):
        sizes = dict.fromkeys(sizes, max(sizes.values()))
    density = float(rng.choice((0.0, 0.1, 0.5, 1.0)))
    operands: list[Tensor] = []
    for name, indices in kernel.operands.items():
        shape = tuple(sizes[index] for index in indices)
        fill = kernel.fill(name, kind)
        array = np.where(rng.random(shape) < density, numbers(rng, kind, shape), float(fill))
        form = kernel.formats[name]
        operands.append(Tensor.from_numpy(name, array, form, fill=fill, value=kind))
    return operands


def numbers(rng: np.random.Generator, kind: ValueType, shape: tuple[int, ...]) -> np.ndarray:
    """Draw numbers of every magnitude that the type has: sums wrap and products overflow."""
    if kind.is_float:
        return values(rng, kind, shape)
    words = rng.integers(int(kind.low), int(kind.high) + 1, shape)
    return (words >> rng.integers(0, kind.bits - 1, shape)).astype(np.float64)


def make_run(
    tile: RtlTile, statement: Statement, operands: Mapping[str, Tensor], seed: int | None
) -> Run:
    """Return a run, after checking that golden meaning and cycle model agree on it."""
    graph = tile.plan.graph
    images = {
        declared.name: operands[declared.name].image()
        for declared in graph.tensors
        if declared.role == Role.INPUT
    }
    sizes = {
        index: size
        for access in statement.operands
        for index, size in zip(access.indices, operands[access.tensor].shape, strict=True)
    }
    shapes = {statement.target.tensor: tuple(sizes[index] for index in statement.target.indices)}
    gates = None if seed is None else random_gates(tile.plan.units, seed)
    model = simulate(tile.plan.units, images, shapes, gates=gates)
    meant = golden.evaluate(graph, images, shapes)
    assert model.flags == meant.flags
    for name, image in meant.outputs.items():
        assert not list(image_differences(image, model.outputs[name]))
    return Run(images, shapes, limit=2 * model.cycles + 1000, gates=gates)


def test_every_primitive_and_operation_is_always_built() -> None:
    """The field's kernels have no functions; those are built as primitives and in programs."""
    assert {setup.params["op"] for setup in FUNCTIONS} == {*FLOATING}
    built = {
        (
            node.primitive,
            node.params.get("op", "sum" if node.primitive in ("reduce", "accumulate") else None),
        )
        for kind, names, operators in (
            *((kind, names, True) for kind, names in ALWAYS.items()),
            (APART[1], APART[:1], False),
        )
        for kernel in select(names)
        for node in lower(kernel, VALUE_TYPES[kind], operators=operators).graph.nodes
    }
    wanted = {
        (name, op)
        for name, primitive in CATALOG.items()
        if name not in ("source", "sink")
        for op in next((p.choices for p in primitive.params if p.name == "op"), (None,))
        if op not in FLOATING
    }
    assert wanted <= built
