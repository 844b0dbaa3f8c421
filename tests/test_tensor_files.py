"""Tensor files: round trips, foreign files, refusals, atomic writes."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuseflow.samml.errors import TensorError
from fuseflow.tensor import Tensor
from tests.test_tensor import tensors

PEERS = Path(__file__).resolve().parents[2] / "shared" / "peers" / "inputs"

files = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@files
@given(tensors(fills=(0,)), st.sampled_from([".tns", ".npz"]))
def test_round_trip(tmp_path: Path, tensor: Tensor, suffix: str) -> None:
    path = tmp_path / f"T{suffix}"
    tensor.write(path)
    back = Tensor.read(path, tensor.format)
    assert (back.name, back.shape) == ("T", tensor.shape)
    np.testing.assert_array_equal(back.to_numpy(), tensor.to_numpy())
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


@files
@given(tensors(most=2, fills=(0,)))
def test_matrix_market_round_trip(tmp_path: Path, tensor: Tensor) -> None:
    path = tmp_path / "T.mtx"
    tensor.write(path)
    back = Tensor.read(path, tensor.format, name="other")
    assert (back.name, back.shape) == ("other", tensor.shape)
    np.testing.assert_array_equal(back.to_numpy(), tensor.to_numpy())


def test_dense_npz_keeps_any_fill(tmp_path: Path) -> None:
    tensor = Tensor.from_numpy("T", [[7, 1], [7, 7]], "dd", fill=7)
    tensor.write(tmp_path / "T.npz")
    with np.load(tmp_path / "T.npz", allow_pickle=False) as archive:
        assert archive["array"].tolist() == [[7, 1], [7, 7]]


def test_scipy_reads_what_we_write(tmp_path: Path) -> None:
    tensor = Tensor.from_numpy("T", [[0, 1], [2, 0]], "CSR")
    tensor.write(tmp_path / "T.npz")
    assert scipy.sparse.load_npz(tmp_path / "T.npz").toarray().tolist() == [[0, 1], [2, 0]]
    scipy.sparse.save_npz(tmp_path / "csc.npz", scipy.sparse.csc_matrix([[0, 3], [0, 0]]))
    assert Tensor.read(tmp_path / "csc.npz").to_numpy().tolist() == [[0, 3], [0, 0]]


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        ("coordinate integer symmetric\n2 2 2\n1 1 5\n2 1 6\n", [[5, 6], [6, 0]]),
        ("coordinate pattern general\n2 3 1\n2 3\n", [[0, 0, 0], [0, 0, 1]]),
        ("array real general\n2 2\n1\n0\n3\n4\n", [[1, 3], [0, 4]]),
        ("coordinate real general\n% note\n2 1 1\n2 1 -3.0\n", [[0], [-3]]),
    ],
)
def test_matrix_market_variants(tmp_path: Path, text: str, dense: list[list[int]]) -> None:
    path = tmp_path / "m.mtx"
    path.write_text(f"%%MatrixMarket matrix {text}")
    assert Tensor.read(path, "ss").to_numpy().tolist() == dense


def test_frostt_without_shape(tmp_path: Path) -> None:
    path = tmp_path / "t.tns"
    path.write_text("# from elsewhere\n1 2 5 6.0\n3 1 1 -2\n")
    assert Tensor.read(path).shape == (3, 2, 5)
    assert Tensor.read(path, shape=(4, 4, 5)).to_numpy()[2, 0, 0] == -2


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("a.mtx", "rubbish", "cannot read"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", "cannot read"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 1 1\n", "twice"),
        ("a.mtx", "%%MatrixMarket matrix array complex general\n1 1\n1 1\n", "not real"),
        ("a.tns", "1 1 x\n", "cannot read"),
        ("a.tns", "1 1 1\n1 1\n", "cannot read"),
        ("a.tns", "0 1 1\n", "outside shape"),
        ("a.tns", "1.5 1 1\n", "not an integer"),
        ("a.tns", "", "no entries and no shape"),
        ("a.npz", "no archive", "cannot read"),
        ("a.txt", "", "unknown suffix '.txt', use one of .mtx, .tns, .npz"),
    ],
)
def test_refuses(tmp_path: Path, name: str, contents: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(contents)
    with pytest.raises(TensorError, match=message) as caught:
        Tensor.read(path)
    assert "\n" not in str(caught.value)


def test_refuses_pickles(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", array=np.array([{}], object))
    with pytest.raises(TensorError, match="cannot read"):
        Tensor.read(tmp_path / "a.npz")


def test_refuses_to_write(tmp_path: Path) -> None:
    filled = Tensor.from_numpy("T", [[7, 1], [7, 7]], "ss", fill=7)
    for suffix in (".mtx", ".tns", ".npz"):
        with pytest.raises(TensorError, match="fill 7"):
            filled.write(tmp_path / f"T{suffix}")
    with pytest.raises(TensorError, match=r"use \.tns"):
        Tensor.from_numpy("T", np.zeros((1, 1, 1))).write(tmp_path / "T.mtx")
    with pytest.raises(TensorError, match="unknown suffix"):
        filled.write(tmp_path / "T.csv")
    with pytest.raises(TensorError, match="cannot write"):
        Tensor.from_numpy("T", [1]).write(tmp_path / "missing" / "T.mtx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not PEERS.exists(), reason="the peers' inputs are not beside the repository")
def test_reads_every_peer_input() -> None:
    paths = sorted(PEERS.iterdir())
    assert paths
    for path in paths:
        tensor = Tensor.read(path, round_values=True)
        assert tensor.nnz > 0
        assert tensor.rank in (2, 3)
