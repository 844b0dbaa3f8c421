"""Citation graphs from NumPy archives (Cora, Citeseer), with their usual split."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuseflow.data.graph import Graph, parts
from fuseflow.samml.errors import TensorError
from fuseflow.tensor.entries import check_rows, from_compressed
from fuseflow.tensor.files import reading
from fuseflow.tensor.npz import read_arrays
from fuseflow.tensor.untyped import sparse

_NEEDED = ("adj_indptr", "adj_indices", "x_indptr", "x_indices", "x_data", "shape_x", "labels")

PER_CLASS = 20
VALIDATION = 500
TEST = 1000


def citation(path: str | PathLike[str]) -> Graph:
    """Read a citation graph.

    The archive holds the adjacency of CSR without values (``adj_indptr``, ``adj_indices``), the
    features as CSR (``x_indptr``, ``x_indices``, ``x_data``, ``shape_x``) and ``labels``. The first
    nodes, 20 for every class, are for training, the next 500 for validation and the last 1,000 for
    test; a graph too small for that has no split.

    Source of the split: Z. Yang, W. Cohen, R. Salakhutdinov, Revisiting Semi-Supervised Learning
    with Graph Embeddings.

    Parameters
    ----------
    path : path
        Of a ``.npz`` file.

    Raises
    ------
    TensorError
        It is missing, damaged, or its arrays do not fit each other.
    """
    path = Path(path)
    what = f"cannot read '{path}'"
    with reading(path):
        arrays = read_arrays(path)
    missing = [name for name in _NEEDED if name not in arrays]
    if missing:
        raise TensorError(f"{what}: it has no {', '.join(missing)}, only {sorted(arrays)}")
    shape = arrays["shape_x"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise TensorError(f"{what}: shape_x must be two integers")
    labels = arrays["labels"]
    nodes = len(labels) if labels.ndim == 1 else 0
    if labels.dtype.kind not in "iu" or nodes != shape[0] or labels.min(initial=0) < 0:
        raise TensorError(
            f"{what}: labels are one class for each of {shape[0]} nodes, got {labels.dtype} of "
            f"shape {labels.shape}"
        )
    ones = np.ones(arrays["adj_indices"].shape)
    links = arrays["adj_indptr"], arrays["adj_indices"], ones
    words = arrays["x_indptr"], arrays["x_indices"], arrays["x_data"]
    split = _split(nodes, int(labels.max(initial=-1)) + 1)
    return Graph(
        path.stem,
        _matrix(f"{what}: adj", *links, (nodes, nodes)),
        _matrix(f"{what}: x", *words, (nodes, int(shape[1]))),
        labels.astype(np.int64),
        *split,
    )


def _matrix(what: str, indptr: Any, indices: Any, data: Any, shape: tuple[int, int]) -> Any:
    check_rows(what, indptr, indices)
    from_compressed(what, indptr, indices, data, shape, "csr")
    matrix = sparse.csr_array((data.astype(np.float32), indices, indptr), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _split(nodes: int, classes: int) -> tuple[NDArray[np.bool_], ...]:
    first = PER_CLASS * classes
    if first + VALIDATION + TEST > nodes:
        return parts(nodes, None, None, None)
    numbers = np.arange(nodes)
    return parts(nodes, numbers[:first], numbers[first : first + VALIDATION], numbers[-TEST:])
