"""The kernel table on the models: golden meaning, cycle model and truth, and how near to ideal."""

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseflow.comparison.data import Given
from fuseflow.comparison.run import compile_kernel
from fuseflow.comparison.table import Kernel
from fuseflow.compiler import parse
from fuseflow.samml.formats import Format
from fuseflow.samml.values import FP32, INT32, VALUE_TYPES, ValueType
from fuseflow.tensor import Tensor
from tests.compiler.kernels import KERNELS, SINGLE, needs_inputs, on_inputs, renumbered
from tests.compiler.running import values
from tests.shared_data import SHARED

LARGE = 2000
"""Ideal cycles above which a run must be near its ideal."""

INTEGER = [
    kernel for kernel in SINGLE if kernel.name in ("matmul_ikj", "matmul_kij", "mat_residual")
]


@st.composite
def operands(draw: st.DrawFn, kernel: Kernel, kind: ValueType) -> list[Tensor]:
    """Draw operands: empty, one by one, with empty rows and columns, dense, one column, ..."""
    indices = kernel.statement.indices
    size = st.integers(0, 5 if len(indices) < 4 else 3)
    sizes = {index: draw(size, label=index) for index in indices}
    if len(kernel.operands) < len(kernel.statement.operands):
        sizes = dict.fromkeys(indices, draw(size, label="every index"))
    rng = np.random.default_rng(draw(st.integers(0, 2**32), label="seed"))
    drawn: list[Tensor] = []
    for name, mine in kernel.operands.items():
        shape = tuple(sizes[index] for index in mine)
        share = draw(st.sampled_from((0.0, 0.2, 0.5, 1.0)), label=f"share of {name}")
        fill = kernel.fill(name, kind)
        array = np.where(rng.random(shape) < share, values(rng, kind, shape), float(fill))
        drawn.append(Tensor.from_numpy(name, array, kernel.formats[name], fill=fill, value=kind))
    return drawn


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_random_operands(kernel: Kernel) -> None:
    @settings(deadline=None, max_examples=40, print_blob=True)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        kind = data.draw(st.sampled_from(list(VALUE_TYPES.values())), label="value type")
        tensors = data.draw(operands(kernel, kind))
        # `run` raises where golden meaning, cycle model and truth do not agree.
        compile_kernel(kernel, tensors, kind).run()

    holds()


@needs_inputs
@pytest.mark.parametrize(("kernel", "data"), on_inputs(SINGLE))
def test_peers_inputs_run_near_their_ideal(kernel: Kernel, data: Given) -> None:
    """Every kernel in fp32, with full mantissas where the files have entries."""
    runs_near_its_ideal(kernel, renumbered(data.operands(kernel, FP32), FP32, seed=1), FP32)


@needs_inputs
@pytest.mark.parametrize(("kernel", "data"), on_inputs(INTEGER))
def test_integers(kernel: Kernel, data: Given) -> None:
    runs_near_its_ideal(kernel, data.operands(kernel, INT32), INT32)


def runs_near_its_ideal(kernel: Kernel, tensors: list[Tensor], kind: ValueType) -> None:
    result = compile_kernel(kernel, tensors, kind).run()
    assert result.max_error is not None, "the truth was not evaluated"
    assert result.ideal <= result.ideal_banks <= result.cycles
    if result.ideal > LARGE:
        assert result.cycles / result.ideal_banks <= 1.05


def test_the_table_has_every_standard_kernel() -> None:
    path = SHARED / "kernels.csv"
    if not path.exists():
        pytest.skip("the list of kernels is not beside the repository")
    table = {kernel.name: kernel for kernel in SINGLE}
    with path.open(newline="") as file:
        listed = [row for row in csv.DictReader(file) if row["class"] == "single"]
    assert len(listed) == 34
    for row in listed:
        kernel = table[row["name"]]
        formats = dict(part.split("=") for part in row["formats"].split(";"))
        assert kernel.statement == parse(row["program"])
        assert kernel.formats == {name: Format.parse(form) for name, form in formats.items()}
        assert ",".join(kernel.order) == row["order"]
