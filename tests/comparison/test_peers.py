"""A peer's table: its rows, the kernels they are of, and the notations of their inputs."""

from pathlib import Path

import numpy as np
import pytest

from fuseflow.comparison.peers import LEFT_OUT, PeerInputs, PeerRow, kernel_of, read_peers
from fuseflow.comparison.table import Kernel
from fuseflow.samml.errors import FuseFlowError, ParseError
from fuseflow.samml.values import FP32
from tests.comparison.files import write_matrix, write_peers


def row(kernel: str, order: str, inputs: str, formats: str) -> PeerRow:
    return PeerRow(kernel, order, inputs, formats, None, 1)


def test_rows_are_read_and_equal_ones_count_once(tmp_path: Path) -> None:
    unbounded = 'matmul,ikj,,"a*b",B=ss01 C=ss01 X=ss01,0,,52'
    bounded = 'matmul,ikj,,"a*b",B=ss01 C=ss01 X=ss01,1,4,60'
    first, second = read_peers(write_peers(tmp_path, unbounded, bounded, unbounded))
    assert first == PeerRow("matmul", "ikj", "a*b", "B=ss01 C=ss01 X=ss01", None, 52)
    assert (second.depth, second.cycles) == (4, 60)


@pytest.mark.parametrize("text", ["", "kernel,order\nmatmul,ikj\n", "\0\1", "é"])
def test_another_table_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text("head\n" + text, encoding="latin-1")
    if not text:
        assert read_peers(path) == []
        return
    with pytest.raises(ParseError, match="is no table of measured cycles"):
        read_peers(path)


@pytest.mark.parametrize(
    ("kernel", "order", "formats", "ours"),
    [
        ("matmul", "kij", "B=ss10 C=ss01 X=ss01", "matmul_kij"),
        ("mat_vecmul", "ji", "B=ss10 c=s x=s", "mat_vecmul_ji"),
        ("vec_elemmul", "i", "s,s->s", "vec_elemmul"),
        ("vec_elemmul-dense", "i", "d,d->d", "vec_elemmul_dense"),
        ("tensor3_innerprod", "ijk", "B=C=sss012", "tensor3_innerprod"),
        ("mat_elemadd3", "ij", "ss01", "mat_elemadd3"),
        ("mat_sddmm-locate", "ijk", "B=ss01 C=dd01 D=dd10", "mat_sddmm"),
    ],
)
def test_kernels(kernel: str, order: str, formats: str, ours: str) -> None:
    found = kernel_of(row(kernel, order, "", formats))
    assert isinstance(found, Kernel)
    assert found.name == ours


def test_other_formats_or_orders_are_no_counterpart() -> None:
    for order, formats in (("ikj", "B=ss10 C=ss01 X=ss01"), ("ijk", "B=ss01 C=ss01 X=ss01")):
        found = kernel_of(row("matmul", order, "", formats))
        assert found == f"no kernel of order {order} and formats {formats}"
    for formats in ("s,s,s->s", "B=s?", "B=ss01 B"):
        found = kernel_of(row("matmul", "ikj", "", formats))
        assert isinstance(found, str), formats
    assert kernel_of(row("mat_sddmm-unfused", "ijk", "", "")) == LEFT_OUT["mat_sddmm-unfused"]


def operands(peer: PeerRow, folder: Path) -> dict[str, np.ndarray]:
    kernel = kernel_of(peer)
    assert isinstance(kernel, Kernel)
    found = PeerInputs(peer, folder).operands(kernel, FP32)
    return {tensor.name: tensor.to_numpy() for tensor in found}


def test_inputs(tmp_path: Path) -> None:
    b = write_matrix(tmp_path, "r_1_B", (4, 3), 6)
    t = write_matrix(tmp_path, "r_1_CshiftT", (3, 4), 6)
    d = write_matrix(tmp_path, "v4", (4,), 2)
    f = write_matrix(tmp_path, "v3", (3,), 2)
    shipped = write_matrix(tmp_path, "r_1_shipped_mat_residual_d", (3,), 1)
    other = write_matrix(tmp_path, "r_1_shipped_mat_residual_b", (4,), 1)
    matmul, forms = "matmul", "B=ss01 C=ss01 X=ss01"
    for inputs in ("r_1_B*r_1_CshiftT", "r_1*shift(r_1)^T", "r_1_B,r_1_CshiftT"):
        found = operands(row(matmul, "ikj", inputs, forms), tmp_path)
        np.testing.assert_array_equal(found["B"], b)
        np.testing.assert_array_equal(found["C"], t)
    found = operands(row("mat_mattransmul", "ij", "C=r_1_B,d=v4,f=v3", "C=ss10"), tmp_path)
    np.testing.assert_array_equal(found["C"], b)
    np.testing.assert_array_equal(found["d"], d)
    np.testing.assert_array_equal(found["f"], f)
    assert found["b"] == found["e"] == 2
    found = operands(row("mat_residual", "ij", "r_1_B,shipped b,d", "C=ss01"), tmp_path)
    np.testing.assert_array_equal(found["d"], shipped)
    np.testing.assert_array_equal(found["b"], other)


def test_sampled_products(tmp_path: Path) -> None:
    write_matrix(tmp_path, "B", (4, 3), 6)
    formats = "B=ss01 C=dd01 D=dd10"
    found = operands(row("mat_sddmm-locate", "ijk", "B,K=2", formats), tmp_path)
    assert found["C"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert found["D"].tolist() == [[0, 2, 4], [1, 3, 5]]
    found = operands(row("mat_sddmm-locate_fused", "ijk", "B,K=2,C=D=1", formats), tmp_path)
    assert (found["C"] == 1).all()
    assert (found["D"] == 1).all()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [("a*b", "has no a.mtx, .npz or .tns"), ("a", "do not give the operands of matmul_ikj")],
)
def test_wrong_inputs_are_errors(tmp_path: Path, inputs: str, message: str) -> None:
    with pytest.raises(FuseFlowError, match=message):
        operands(row("matmul", "ikj", inputs, "B=ss01 C=ss01 X=ss01"), tmp_path)


def test_a_sampled_product_needs_a_matrix(tmp_path: Path) -> None:
    np.savez(tmp_path / "B.npz", array=np.ones((2, 3, 4)))
    peer = row("mat_sddmm-locate", "ijk", "B,K=2", "B=ss01 C=dd01 D=dd10")
    with pytest.raises(ParseError, match="is no matrix"):
        operands(peer, tmp_path)
