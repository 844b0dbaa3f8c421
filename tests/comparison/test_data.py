"""Operands: random ones, and files that fit."""

from pathlib import Path

import numpy as np
import pytest

from fuseflow.comparison.data import SCALAR, families
from fuseflow.comparison.fitting import fitting
from fuseflow.comparison.table import kernels, select
from fuseflow.samml.errors import TensorError
from fuseflow.samml.values import FP32, INT8
from tests.comparison.files import write_matrix


def test_every_kernel_has_a_family() -> None:
    for kernel in kernels():
        assert any(family.serves(kernel) for family in families(1)), kernel.name


def test_random_operands_repeat_by_their_seed() -> None:
    (kernel,) = select(["matmul_ikj"])
    first, again, other = (families(seed)[1].operands(kernel, FP32) for seed in (1, 1, 2))
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a.to_numpy(), b.to_numpy())
        assert (a.to_numpy() != c.to_numpy()).any()
    assert [tensor.nnz for tensor in first] == [500, 500]
    assert (first[0].to_numpy() != first[1].to_numpy()).any()


def test_floats_have_full_mantissas_and_both_signs() -> None:
    (kernel,) = select(["vec_identity"])
    (tensor,) = families(1)[2].operands(kernel, FP32)
    _, found = tensor.entries()
    words = found.view(np.uint32)
    assert ((words & 0xFF) != 0).mean() > 0.9
    assert 0.3 < (found < 0).mean() < 0.7
    assert found.dtype == np.float32


def test_operands_stored_dense_are_full_and_the_club_is_symmetric() -> None:
    (kernel,) = select(["spmm_csr_dense"])
    club, dense = families(1)[0].operands(kernel, INT8)
    assert dense.nnz == 34 * 34
    pattern = club.to_numpy() != 0
    assert pattern.sum() == 156
    assert (pattern == pattern.T).all()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_matrix(tmp_path, "a_B", (4, 3), 6)
    write_matrix(tmp_path, "a_C", (3, 5), 7)
    write_matrix(tmp_path, "a_vec", (3,), 2)
    write_matrix(tmp_path, "b_B", (4, 4), 5)
    (tmp_path / "notes.txt").write_text("not a tensor")
    return tmp_path


def chosen(name: str, folder: Path) -> list[str]:
    (kernel,) = select([name])
    return [data.name for data in fitting(kernel, folder)]


def test_files_of_one_group_that_fit_are_found(folder: Path) -> None:
    assert chosen("matmul_ikj", folder) == ["a_B,a_C", "b_B,b_B"]
    assert chosen("mat_vecmul_ij", folder) == ["a_B,a_vec"]
    assert chosen("mat_symmetrize", folder) == ["b_B"]
    assert chosen("mat_mattransmul", folder) == []
    assert chosen("tensor3_ttv", folder) == []


def test_the_fullest_file_is_taken_and_reused_only_at_need(folder: Path) -> None:
    write_matrix(folder, "b_E", (4, 4), 9)
    assert chosen("mat_elemadd", folder) == ["a_C,a_C", "b_E,b_B"]


def test_files_give_operands_in_the_kernels_formats(folder: Path) -> None:
    (kernel,) = select(["vec_scalar_mul"])
    (data,) = fitting(kernel, folder)
    scalar, vector = data.operands(kernel, FP32)
    assert (scalar.name, vector.name) == ("b", "c")
    assert scalar.to_numpy() == SCALAR
    assert vector.shape == (3,)


def test_no_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TensorError, match="is no directory of tensor files"):
        chosen("matmul_ikj", tmp_path / "nowhere")
