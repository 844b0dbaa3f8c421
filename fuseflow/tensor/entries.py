"""Unpacked entries: what every source of tensor data is brought to first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fuseflow.samml.errors import TensorError
from fuseflow.samml.values import Number
from fuseflow.tensor.check import check_compressed
from fuseflow.tensor.untyped import sparse
from fuseflow.tensor.words import Array, Ints


@dataclass(frozen=True, eq=False)
class Entries:
    """Coordinates and values of a tensor from outside.

    Attributes
    ----------
    coords : ndarray of int64
        One row per entry, one column per mode.
    values : ndarray
    shape : tuple of int
    fill : number
        What the source says of entries that it leaves out.
    file : str
        The file they come from; empty if from none.
    lines : ndarray of int64, optional
        The line of every entry in it.
    """

    coords: Ints
    values: Array
    shape: tuple[int, ...]
    fill: Number = 0
    file: str = ""
    lines: Ints | None = None

    def where(self, row: int) -> str:
        """Name an entry for a message."""
        place = f"entry ({', '.join(map(str, self.coords[row].tolist()))})"
        if self.lines is None:
            return place
        return f"{place} on line {self.lines[row]} of '{self.file}'"

    def take(self, rows: Array) -> "Entries":
        """Return some of the entries, in that order."""
        lines = None if self.lines is None else self.lines[rows]
        return replace(self, coords=self.coords[rows], values=self.values[rows], lines=lines)

    def squeeze(self, name: str, rank: int | None) -> "Entries":
        """Drop modes of size 1, the last ones first, down to the rank wanted, if any.

        Raises
        ------
        TensorError
            Too few modes at the ends have size 1.
        """
        first, last = 0, len(self.shape)
        while rank is not None and last - first > rank:
            if self.shape[last - 1] == 1:
                last -= 1
            elif self.shape[first] == 1:
                first += 1
            else:
                raise TensorError(f"{name}: shape {self.shape} does not read as rank {rank}")
        return replace(self, coords=self.coords[:, first:last], shape=self.shape[first:last])

    def ordered(self, name: str, order: Sequence[int], *, sum_duplicates: bool) -> "Entries":
        """Sort by some order of the modes.

        Raises
        ------
        TensorError
            An entry is outside the shape, or occurs twice and is not to be added up.
        """
        outside = (self.coords < 0) | (self.coords >= np.asarray(self.shape, np.int64))
        if bool(outside.any()):
            row = int(outside.any(axis=1).argmax())
            raise TensorError(f"tensor '{name}': {self.where(row)} is outside shape {self.shape}")
        count = len(self.coords)
        ranked = self.coords[:, list(order)]
        rows = np.lexsort(ranked.T[::-1]) if len(order) else np.arange(count)
        ranked = ranked[rows]
        first = np.ones(count, np.bool_)
        first[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
        if bool(first.all()):
            return self.take(rows)
        if not sum_duplicates:
            row = int(rows[first.argmin()])
            raise TensorError(
                f"tensor '{name}': {self.where(row)} occurs twice; pass sum_duplicates=True "
                "(--sum-duplicates) to add them"
            )
        sums = _sums(name, self.values[rows], np.flatnonzero(first))
        return replace(self.take(rows[first]), values=sums)


def _sums(name: str, values: Array, starts: Ints) -> Array:
    """Add up runs of plain numbers: integers exactly, floats in float64 in order."""
    with np.errstate(invalid="ignore", over="ignore"):
        if values.dtype.kind == "f":
            return np.add.reduceat(values, starts)
        rough = np.add.reduceat(values.astype(np.float64), starts)
        if bool((np.abs(rough) > 2.0**62).any()):
            raise TensorError(f"tensor '{name}': a sum of duplicates is beyond 62 bits")
        return np.add.reduceat(values.astype(np.int64), starts)


def from_matrix(what: str, matrix: Any) -> Entries:
    """Take the entries of a SciPy sparse matrix or array, or all those of a dense array.

    Raises
    ------
    TensorError
        The index arrays of a SciPy matrix are wrong; `what` begins the message.
    """
    if not sparse.issparse(matrix):
        array = np.asarray(matrix)
        coords = np.indices(array.shape).reshape(array.ndim, array.size).T
        return Entries(coords.astype(np.int64), array.reshape(-1), array.shape)
    shape = tuple(map(int, matrix.shape))
    if matrix.format in ("csr", "csc"):
        used = max(int(matrix.indptr[-1]), 0)  # SciPy's arrays may be longer than they are used
        indices, data = matrix.indices[:used], matrix.data[:used]
        return from_compressed(what, matrix.indptr, indices, data, shape, matrix.format)
    try:
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # SciPy trusts the index arrays otherwise
        stored = matrix.tocoo()
    except ValueError as error:
        raise TensorError(f"{what}: {' '.join(str(error).split())}") from None
    coords = np.stack([np.asarray(axis, np.int64) for axis in stored.coords], axis=-1)
    return Entries(coords, np.asarray(stored.data), shape)


def from_compressed(
    what: str, indptr: Array, indices: Array, data: Array, shape: tuple[int, ...], form: str
) -> Entries:
    """Take the entries of CSR, CSC or compressed-vector arrays; a fiber need not be sorted.

    Raises
    ------
    TensorError
        The arrays do not fit each other or the shape; `what` begins the message.
    """
    outer, inner = (1, 0) if form == "csc" else (0, 1)
    parents, size = (1, shape[0]) if len(shape) == 1 else (shape[outer], shape[inner])
    check_rows(what, indptr, indices)
    seg, crd = indptr.astype(np.int64), indices.astype(np.int64)
    check_compressed(f"{what}, level {len(shape) - 1}", seg, crd, parents, size, ascending=False)
    if data.shape != crd.shape:
        raise TensorError(f"{what}: {data.size} values for {len(crd)} positions")
    coords = crd.reshape(-1, 1)
    if len(shape) == 2:
        coords = np.stack((np.repeat(np.arange(parents), np.diff(seg)), crd), axis=-1)
        coords = coords[:, [outer, inner]]
    return Entries(coords, data, shape)


def check_rows(what: str, indptr: Array, indices: Array) -> None:
    """Check that the index arrays of CSR are rows of integers, before anything is read there.

    Raises
    ------
    TensorError
        One is not; `what` begins the message.
    """
    for kind, array, least in (("indptr", indptr, 1), ("indices", indices, 0)):
        if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) < least:
            raise TensorError(f"{what}: {kind} must be a row of integers")
