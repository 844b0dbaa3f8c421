"""Graphs of other packages, through stand-ins with the same attributes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fuseflow.data import from_geometric, from_ogb
from fuseflow.samml.errors import TensorError

EDGES = np.array([[0, 1, 1], [1, 2, 2]])


class Leaf:
    """A tensor as PyTorch shows it to NumPy: only without its gradient."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    def detach(self) -> np.ndarray:
        return self.data

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("call detach() first")


def geometric(**changed: Any) -> Any:
    given: dict[str, Any] = {"edge_index": EDGES, "x": Leaf(np.ones((3, 2))), "y": [[1], [0], [2]]}
    return SimpleNamespace(**(given | changed))


def test_an_edge_points_from_its_source_to_its_target() -> None:
    graph = from_geometric(geometric(train_mask=np.array([True, False, False])), "three")
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 0, 0], [1, 0, 0], [0, 2, 0]])
    assert graph.name == "three"
    assert graph.features.dtype == np.float32
    assert graph.labels.tolist() == [1, 0, 2]
    assert graph.training.tolist() == [True, False, False]
    assert not graph.test.any()


def test_weights_of_edges_and_a_graph_without_features() -> None:
    graph = from_geometric(
        geometric(x=None, y=None, num_nodes=4, edge_weight=np.array([2.0, 3, 4]))
    )
    assert graph.adjacency[2, 1] == 7
    assert graph.features.shape == (4, 0)
    assert (graph.labels.size, graph.classes) == (0, 0)


def test_a_graph_of_the_benchmark() -> None:
    given = {"edge_index": EDGES, "num_nodes": 3, "node_feat": np.ones((3, 2)), "edge_feat": None}
    split = {"train": np.array([0]), "valid": np.array([2]), "test": np.array([1])}
    graph = from_ogb(given, np.array([[4], [0], [1]]), split)
    assert graph.classes == 5
    assert graph.validation.tolist() == [False, False, True]
    assert graph.adjacency.nnz == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"edge_index": None}, "it has no edge_index"),
        ({"x": None}, "neither features nor num_nodes"),
        ({"edge_index": EDGES.T}, r"of shape \(2, edges\), got int64 \(3, 2\)"),
        ({"edge_index": EDGES + 1}, "an edge names node 3 of a graph of 3 nodes"),
        ({"edge_index": EDGES - 1}, "an edge names node -1 of a graph of 3 nodes"),
        ({"edge_weight": np.ones(2)}, "2 weights for 3 edges"),
        ({"num_nodes": 4}, r"features of shape \(3, 2\) for 4 nodes"),
        ({"y": [0, 1]}, "labels are one class for each of 3 nodes"),
        ({"y": [0, 1, 0.5]}, "labels are one class for each of 3 nodes"),
        ({"train_mask": np.ones((3, 10), bool)}, "choose one split of several"),
    ],
)
def test_attributes_that_do_not_fit(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(TensorError, match=f"graph 'graph': .*{message}"):
        from_geometric(geometric(**changed))


def test_keys_that_do_not_fit() -> None:
    with pytest.raises(TensorError, match="it has no edge_index"):
        from_ogb({"num_nodes": 3}, np.zeros(3, int))
    with pytest.raises(TensorError, match="the split names a node outside of its 3"):
        from_ogb({"edge_index": EDGES, "num_nodes": 3}, np.zeros(3, int), {"train": np.array([3])})
