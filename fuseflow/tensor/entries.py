"""Unpacked entries: what every source of tensor data is brought to first."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuseflow.samml.errors import TensorError
from fuseflow.tensor.levels import Ints
from fuseflow.tensor.untyped import sparse


@dataclass(frozen=True, eq=False)
class Entries:
    """Coordinates (one row per entry), their values, and the shape."""

    coords: Ints
    values: NDArray[Any]
    shape: tuple[int, ...]

    def squeeze(self, name: str, rank: int | None) -> "Entries":
        """Drop trailing modes of size 1 down to the rank wanted, if any.

        Raises
        ------
        TensorError
            A mode to drop has another size.
        """
        if rank is None or len(self.shape) <= rank:
            return self
        if any(size != 1 for size in self.shape[rank:]):
            raise TensorError(f"{name}: shape {self.shape} does not read as rank {rank}")
        return Entries(self.coords[:, :rank], self.values, self.shape[:rank])


def from_matrix(matrix: Any) -> Entries:
    """Take the entries of a SciPy sparse matrix or array, or all those of a dense array."""
    if not sparse.issparse(matrix):
        array = np.asarray(matrix)
        coords = np.indices(array.shape).reshape(array.ndim, array.size).T
        return Entries(coords.astype(np.int64), array.reshape(-1), array.shape)
    stored = matrix.tocoo()
    coords = np.stack([np.asarray(axis, np.int64) for axis in stored.coords], axis=-1)
    return Entries(coords, np.asarray(stored.data), tuple(map(int, stored.shape)))
