"""A graph with what is known of its nodes, and the weights that graph networks give its edges."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuseflow.samml.errors import TensorError
from fuseflow.tensor.untyped import sparse


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph for node classification.

    Attributes
    ----------
    name : str
    adjacency : scipy.sparse.csr_array of float32, nodes x nodes
        Entry (i, j) is the weight of the edge from node j to node i, so that ``adjacency @ x``
        sums over the nodes that point to i; of an undirected graph it is symmetric.
    features : scipy.sparse.csr_array or ndarray of float32, nodes x features
    labels : ndarray of int64
        By node, the class; empty where none are known.
    training, validation, test : ndarray of bool
        By node, whether it belongs to that part; all False where there is no split.
    """

    name: str
    adjacency: Any
    features: Any
    labels: NDArray[np.int64]
    training: NDArray[np.bool_]
    validation: NDArray[np.bool_]
    test: NDArray[np.bool_]

    @property
    def nodes(self) -> int:
        """How many nodes it has."""
        return int(self.adjacency.shape[0])

    @property
    def classes(self) -> int:
        """How many classes its labels name."""
        return int(self.labels.max(initial=-1)) + 1


def normalised(adjacency: Any, loops: bool = True) -> Any:
    """Return D^-1/2 (A + I) D^-1/2, with D the row sums of A + I.

    Source: T. Kipf, M. Welling, Semi-Supervised Classification with Graph Convolutional Networks.

    Parameters
    ----------
    adjacency : sparse matrix or dense array, n x n
        Of weights that are not negative.
    loops : bool
        Whether to add I.

    Returns
    -------
    scipy.sparse.csr_array of float32
        A node without neighbours has an empty row, unless it has a loop.

    Raises
    ------
    TensorError
        The matrix is not square, or has a negative weight.
    """
    weights = _square(adjacency, loops)
    scale = _inverse(np.sqrt(_degrees(weights)))
    return _scaled(weights, scale, scale)


def mean_neighbours(adjacency: Any, loops: bool = False) -> Any:
    """Return D^-1 A, whose product with features is the mean over a node's neighbours.

    Source: W. Hamilton, R. Ying, J. Leskovec, Inductive Representation Learning on Large Graphs.

    Parameters
    ----------
    adjacency : sparse matrix or dense array, n x n
        Of weights that are not negative.
    loops : bool
        Whether a node is its own neighbour.

    Returns
    -------
    scipy.sparse.csr_array of float32
        A node without neighbours has an empty row.

    Raises
    ------
    TensorError
        The matrix is not square, or has a negative weight.
    """
    weights = _square(adjacency, loops)
    return _scaled(weights, _inverse(_degrees(weights)), np.ones(int(weights.shape[0])))


def adjacency_of(what: str, edges: Any, nodes: int, weights: Any = None) -> Any:
    """Return the adjacency of edges from ``edges[0]`` to ``edges[1]``; equal edges add up.

    Parameters
    ----------
    what : str
        Begins the messages.
    edges : ndarray of int, 2 x edges
    nodes : int
    weights : ndarray, optional
        By edge; 1 by default.

    Raises
    ------
    TensorError
        The arrays do not fit each other, or an edge leaves the graph.
    """
    places = np.asarray(edges)
    if places.ndim != 2 or len(places) != 2 or places.dtype.kind not in "iu":
        raise TensorError(
            f"{what}: edges are integers of shape (2, edges), got {places.dtype} {places.shape}"
        )
    if places.size and not 0 <= places.min() <= places.max() < nodes:
        raise TensorError(
            f"{what}: an edge names node {places.max() if places.min() >= 0 else places.min()} of "
            f"a graph of {nodes} nodes"
        )
    values = np.ones(places.shape[1]) if weights is None else np.asarray(weights).reshape(-1)
    if values.shape != places.shape[1:]:
        raise TensorError(f"{what}: {values.size} weights for {places.shape[1]} edges")
    shape = (nodes, nodes)
    return _float32(sparse.coo_array((values, (places[1], places[0])), shape=shape))


def parts(nodes: int, *chosen: Any) -> tuple[NDArray[np.bool_], ...]:
    """Return a mask of the nodes for every array of numbers or mask of nodes; None is nobody."""
    masks = [np.zeros(nodes, np.bool_) for _ in chosen]
    for mask, numbers in zip(masks, chosen, strict=True):
        if numbers is not None:
            mask[np.asarray(numbers)] = True
    return tuple(masks)


def _square(adjacency: Any, loops: bool) -> Any:
    weights = sparse.csr_array(adjacency).astype(np.float64)
    rows, columns = weights.shape
    if rows != columns:
        raise TensorError(f"an adjacency matrix is square, got {rows} x {columns}")
    weights.sum_duplicates()
    if weights.nnz and weights.data.min() < 0:
        raise TensorError("an adjacency matrix has no negative weights: scale its rows yourself")
    return weights + sparse.eye_array(rows) if loops else weights


def _degrees(weights: Any) -> NDArray[np.float64]:
    return np.asarray(weights.sum(axis=1), np.float64).reshape(-1)


def _inverse(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / x, and 0 for 0: the degree of a node whose row is empty."""
    return np.divide(1, numbers, out=np.zeros_like(numbers), where=numbers != 0)


def _scaled(weights: Any, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Any:
    entries = weights.tocoo()
    at, to = entries.coords
    values = entries.data * rows[at] * columns[to]
    return _float32(sparse.coo_array((values, (at, to)), shape=weights.shape))


def _float32(matrix: Any) -> Any:
    result = matrix.tocsr().astype(np.float32)
    result.eliminate_zeros()
    result.sort_indices()
    return result
