"""Graphs of PyTorch Geometric and of the Open Graph Benchmark, by what they look like.

Neither package is needed: anything with the same attributes or keys will do.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuseflow.data.graph import Graph, adjacency_of, parts
from fuseflow.samml.errors import TensorError


def from_geometric(data: Any, name: str = "graph") -> Graph:
    """Take over a graph of PyTorch Geometric.

    Parameters
    ----------
    data : torch_geometric.data.Data
        With ``edge_index``, and where it has them ``x``, ``y``, ``edge_weight`` and the masks
        ``train_mask``, ``val_mask`` and ``test_mask``.
    name : str

    Raises
    ------
    TensorError
        An attribute is missing or does not fit.
    """
    found = {
        key: _array(getattr(data, key, None))
        for key in ("edge_index", "edge_weight", "x", "y", "train_mask", "val_mask", "test_mask")
    }
    what = f"graph '{name}'"
    edges = _needed(what, "edge_index", found["edge_index"])
    nodes = _nodes(what, edges, found["x"], getattr(data, "num_nodes", None))
    masks = (_mask(what, key, found[key], nodes) for key in ("train_mask", "val_mask", "test_mask"))
    return Graph(
        name,
        adjacency_of(what, edges, nodes, found["edge_weight"]),
        _features(what, found["x"], nodes),
        _labels(what, found["y"], nodes),
        *parts(nodes, *masks),
    )


def from_ogb(
    graph: Mapping[str, Any],
    labels: Any,
    split: Mapping[str, Any] | None = None,
    name: str = "graph",
) -> Graph:
    """Take over a node-property graph of the Open Graph Benchmark, ``graph, labels = dataset[0]``.

    Parameters
    ----------
    graph : mapping
        With ``edge_index``, ``num_nodes`` and perhaps ``node_feat``.
    labels : array, nodes or nodes x 1
    split : mapping, optional
        ``dataset.get_idx_split()``: node numbers for ``train``, ``valid`` and ``test``.
    name : str

    Raises
    ------
    TensorError
        A key is missing or does not fit.
    """
    what = f"graph '{name}'"
    edges = _needed(what, "edge_index", _array(graph.get("edge_index")))
    features = _array(graph.get("node_feat"))
    nodes = _nodes(what, edges, features, graph.get("num_nodes"))
    chosen = [_array((split or {}).get(key)) for key in ("train", "valid", "test")]
    for numbers in chosen:
        if numbers is not None and numbers.size and not 0 <= numbers.min() <= numbers.max() < nodes:
            raise TensorError(f"{what}: the split names a node outside of its {nodes}")
    return Graph(
        name,
        adjacency_of(what, edges, nodes),
        _features(what, features, nodes),
        _labels(what, _array(labels), nodes),
        *parts(nodes, *chosen),
    )


def _array(value: Any) -> NDArray[Any] | None:
    """Return a tensor or array as an array; tensors that hold gradients too."""
    if value is None:
        return None
    return np.asarray(value.detach() if hasattr(value, "detach") else value)


def _needed(what: str, key: str, value: NDArray[Any] | None) -> NDArray[Any]:
    if value is None:
        raise TensorError(f"{what}: it has no {key}")
    return value


def _nodes(what: str, edges: NDArray[Any], features: NDArray[Any] | None, given: Any) -> int:
    if given is not None:
        return int(given)
    if features is None:
        raise TensorError(f"{what}: it has neither features nor num_nodes, so its size is unknown")
    return len(features)


def _mask(what: str, key: str, mask: NDArray[Any] | None, nodes: int) -> NDArray[Any] | None:
    if mask is not None and (mask.shape != (nodes,) or mask.dtype != np.bool_):
        raise TensorError(
            f"{what}: {key} is one boolean for each of {nodes} nodes, got {mask.dtype} of shape "
            f"{mask.shape}; choose one split of several"
        )
    return mask


def _features(what: str, features: NDArray[Any] | None, nodes: int) -> NDArray[np.float32]:
    if features is None:
        return np.zeros((nodes, 0), np.float32)
    if features.ndim != 2 or len(features) != nodes:
        raise TensorError(f"{what}: features of shape {features.shape} for {nodes} nodes")
    return features.astype(np.float32)


def _labels(what: str, labels: NDArray[Any] | None, nodes: int) -> NDArray[np.int64]:
    if labels is None:
        return np.zeros(0, np.int64)
    flat = labels.reshape(-1)
    if len(flat) != nodes or not np.array_equal(flat, flat.astype(np.int64)):
        raise TensorError(
            f"{what}: labels are one class for each of {nodes} nodes, got {labels.dtype} of shape "
            f"{labels.shape}"
        )
    return flat.astype(np.int64)
