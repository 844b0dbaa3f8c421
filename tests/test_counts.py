"""Token counts of kernels against closed forms of their operands: densifying cannot pass."""

from collections.abc import Callable

import numpy as np
import pytest

import fuseflow
from fuseflow.comparison.table import Kernel
from fuseflow.compiler.counts import product_counts
from fuseflow.samml.formats import LevelKind
from fuseflow.tensor import Tensor
from tests.compiler.kernels import SINGLE

KERNEL = {kernel.name: kernel for kernel in SINGLE}
Patterns = dict[str, np.ndarray]


def joined(left: np.ndarray, right: np.ndarray) -> int:
    """Return how many of two sets of coordinates there are in all, at least 1 for the end."""
    return max(1, int((left | right).sum()))


def common_rows(p: Patterns) -> list[int]:
    return [i for i in range(len(p["B"])) if p["B"][i].any() and p["C"][i].any()]


def inner_product_steps(p: Patterns) -> int:
    rows = [i for i in range(len(p["B"])) if p["B"][i].any()]
    columns = [j for j in range(p["C"].shape[1]) if p["C"][:, j].any()]
    return sum(joined(p["B"][i], p["C"][:, j]) for i in rows for j in columns)


def gustavson_products(p: Patterns) -> int:
    """Products, and one empty token for each stored row of B that meets no row of C."""
    present = p["C"].any(axis=1)
    lonely = sum(row.any() and not (row & present).any() for row in p["B"])
    return int(p["B"].sum(axis=0) @ p["C"].sum(axis=1)) + int(lonely)


FORMS: list[tuple[str, str, Callable[[Patterns], int]]] = [
    ("matmul_ijk", "intersect_k", inner_product_steps),
    ("matmul_jik", "intersect_k", inner_product_steps),
    ("matmul_ikj", "mul", gustavson_products),
    ("matmul_kij", "mul", lambda p: int(p["B"].sum(axis=0) @ p["C"].sum(axis=1))),
    ("matmul_kji", "mul", lambda p: int(p["B"].sum(axis=0) @ p["C"].sum(axis=1))),
    ("mat_elemmul", "intersect_j",
     lambda p: sum(joined(p["B"][i], p["C"][i]) for i in common_rows(p))),
    ("mat_elemmul", "mul",
     lambda p: sum(max(1, int((p["B"][i] & p["C"][i]).sum())) for i in common_rows(p))),
    ("mat_elemadd", "union_j", lambda p: int((p["B"] | p["C"]).sum())),
    ("vec_elemadd", "union_i", lambda p: joined(p["b"], p["c"])),
    ("vec_elemmul", "intersect_i", lambda p: joined(p["b"], p["c"])),
    ("spmv_csr_dense", "reduce_j", lambda p: sum(max(1, int(row.sum())) for row in p["B"])),
    ("mat_sddmm", "reduce_k", lambda p: int(p["B"].sum()) * p["C"].shape[1]),
    ("spmm_csr_dense", "mul", lambda p: sum(
        max(1, int(row.sum()) * p["H"].shape[1]) for row in p["A"])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "unit", "form"), FORMS, ids=[f"{n}-{u}" for n, u, _ in FORMS])
@pytest.mark.parametrize("seed", range(4))
def test_firings(name: str, unit: str, form: Callable[[Patterns], int], seed: int) -> None:
    kernel = KERNEL[name]
    patterns, tensors = random_operands(kernel, np.random.default_rng(seed))
    program = fuseflow.compile(kernel.program, *tensors, formats=kernel.formats, order=kernel.order)
    run = program.run()
    assert run.model.unit(unit).firings == form(patterns)
    if name.startswith("matmul"):
        (products,) = product_counts(program.statement, patterns)
        assert products == int(patterns["B"].sum(axis=0) @ patterns["C"].sum(axis=1))


def random_operands(kernel: Kernel, rng: np.random.Generator) -> tuple[Patterns, list[Tensor]]:
    """Return 12 x 12 operands; those that are stored dense are full."""
    patterns: Patterns = {}
    tensors: list[Tensor] = []
    for name, indices in kernel.operands.items():
        form, shape = kernel.formats[name], (12,) * len(indices)
        dense = LevelKind.COMPRESSED not in form.levels
        pattern = np.ones(shape, bool) if dense else rng.random(shape) < 0.2
        patterns[name] = pattern
        values = rng.integers(1, 9, shape) * pattern
        tensors.append(Tensor.from_numpy(name, values, form))
    return patterns, tensors
