"""The kernel table on the models: golden meaning, cycle model and truth, and how near to ideal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fuseflow
from fuseflow.compiler import parse
from fuseflow.tensor import Tensor
from tests.compiler.kernels import INPUTS, Kernel, families, own_kernels, read

KERNELS = own_kernels()
LARGE = 2000
"""Ideal cycles above which a run must be near its ideal."""

CASES = [
    pytest.param(kernel, family, files, id=f"{kernel.name}-{family}")
    for kernel in KERNELS
    for family, files in families(kernel).items()
]


@st.composite
def operands(draw: st.DrawFn, kernel: Kernel) -> list[Tensor]:
    """Draw operands: empty, one by one, with empty rows and columns, dense, one column, ..."""
    statement = parse(kernel.program)
    indices = sorted({index for access in statement.operands for index in access.indices})
    sizes = {index: draw(st.integers(0, 5), label=index) for index in indices}
    drawn: list[Tensor] = []
    for access in statement.operands:
        shape = tuple(sizes[index] for index in access.indices)
        word = draw(st.sampled_from((st.just(0), st.integers(-2, 2), st.integers(1, 9))))
        count = int(np.prod(shape, dtype=int))
        values = draw(st.lists(word, min_size=count, max_size=count), label=str(access))
        array = np.array(values, dtype=np.int64).reshape(shape)
        form = kernel.formats[access.tensor]
        drawn.append(Tensor.from_numpy(access.tensor, array, form))
    return drawn


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_random_operands(kernel: Kernel) -> None:
    @settings(deadline=None, max_examples=40, print_blob=True)
    @given(operands(kernel))
    def holds(tensors: list[Tensor]) -> None:
        # `run` raises where golden meaning, cycle model and truth do not agree.
        compiled(kernel, tensors).run()

    holds()


@pytest.mark.skipif(not INPUTS.exists(), reason="the peers' inputs are not beside the repository")
@pytest.mark.parametrize(("kernel", "family", "files"), CASES)
def test_peers_inputs_run_near_their_ideal(
    kernel: Kernel, family: str, files: tuple[str, ...]
) -> None:
    result = compiled(kernel, list(read(kernel, family, files).values())).run()
    assert result.ideal <= result.ideal_banks <= result.cycles
    if result.ideal > LARGE:
        assert result.cycles / result.ideal_banks <= 1.05


def compiled(kernel: Kernel, tensors: list[Tensor]) -> fuseflow.Program:
    return fuseflow.compile(kernel.program, *tensors, formats=kernel.formats, order=kernel.order)
