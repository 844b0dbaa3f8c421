"""Graphs and matrices from files; a bad one is one line."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from fuseflow.data import Graph, citation, matrix
from fuseflow.samml.errors import TensorError
from tests.shared_data import shared_path


def arrays() -> dict[str, np.ndarray]:
    """A citation graph of three nodes and two words."""
    return {
        "adj_indptr": np.array([0, 1, 3, 4]),
        "adj_indices": np.array([1, 0, 2, 1]),
        "x_indptr": np.array([0, 1, 1, 3]),
        "x_indices": np.array([1, 0, 1]),
        "x_data": np.array([1, 2, 3], np.float32),
        "shape_x": np.array([3, 2]),
        "labels": np.array([0, 1, 1]),
    }


def write(path: Path, **changed: object) -> Path:
    kept = {name: data for name, data in (arrays() | changed).items() if data is not None}
    np.savez(path / "small.npz", **kept)
    return path / "small.npz"


def test_a_small_citation_graph_has_no_split(tmp_path: Path) -> None:
    graph = citation(write(tmp_path))
    assert isinstance(graph, Graph)
    assert (graph.name, graph.nodes, graph.classes) == ("small", 3, 2)
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(graph.features.toarray(), [[0, 1], [0, 0], [2, 3]])
    assert not (graph.training | graph.validation | graph.test).any()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"labels": None}, "it has no labels, only"),
        ({"labels": np.array([0, 1])}, "labels are one class for each of 3 nodes"),
        ({"labels": np.array([0.5, 1, 1])}, "labels are one class for each of 3 nodes"),
        ({"labels": np.array([0, -1, 1])}, "labels are one class for each of 3 nodes"),
        ({"shape_x": np.array([3])}, "shape_x must be two integers"),
        ({"adj_indices": np.array([1, 0, 5, 1])}, "adj, level 1"),
        ({"adj_indptr": np.array([0, 1, 4])}, "adj, level 1"),
        ({"x_data": np.ones(2)}, "x: 2 values for 3 positions"),
        ({"x_indices": np.array([1.5, 0, 1])}, "x: indices must be a row of integers"),
        ({"labels": np.array(["a", "b", "c"], object)}, "pickled Python objects"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, changed: dict, message: str) -> None:
    path = write(tmp_path, **changed)
    with pytest.raises(TensorError, match=message) as caught:
        citation(path)
    assert str(caught.value).startswith(f"cannot read '{path}'")
    assert "\n" not in str(caught.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(TensorError, match="No such file"):
        citation(tmp_path / "none.npz")
    with pytest.raises(TensorError, match="it is a folder"):
        citation(tmp_path)
    whole = write(tmp_path).read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TensorError, match="it is damaged, write it anew"):
        citation(tmp_path / "half.npz")


def test_a_matrix_market_file(tmp_path: Path) -> None:
    expected = sp.random_array((5, 7), density=0.4, rng=np.random.default_rng(1))
    scipy.io.mmwrite(tmp_path / "m.mtx", expected)
    got = matrix(tmp_path / "m.mtx")
    np.testing.assert_array_equal(got.toarray(), expected.toarray().astype(np.float32))
    assert got.dtype == np.float32
    (tmp_path / "bad.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n2 2 9\n1 1 1\n"
    )
    with pytest.raises(TensorError, match=r"bad\.mtx"):
        matrix(tmp_path / "bad.mtx")


def test_cora_with_its_usual_split() -> None:
    graph = citation(shared_path("data/cora.npz"))
    assert (graph.nodes, graph.classes, graph.features.shape) == (2708, 7, (2708, 1433))
    assert np.flatnonzero(graph.training).tolist() == list(range(140))
    assert np.flatnonzero(graph.validation).tolist() == list(range(140, 640))
    assert np.flatnonzero(graph.test).tolist() == list(range(1708, 2708))
    assert (graph.adjacency != graph.adjacency.T).nnz == 0
    assert np.bincount(graph.labels[graph.training]).tolist() == [20] * 7
