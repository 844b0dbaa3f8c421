"""NumPy archives: a SciPy sparse matrix, a dense array, coordinates, or the arrays of CSR."""

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from fuseflow.samml.errors import TensorError
from fuseflow.samml.values import Number
from fuseflow.tensor.entries import Entries, check_rows, from_compressed, from_matrix
from fuseflow.tensor.untyped import sparse
from fuseflow.tensor.words import Array

_DENSEST = 1100
"""Bytes that one byte of an archive can stand for: deflate reaches 1032."""

LARGEST_DENSE = 2**26
"""Most places of a dense array: each takes 50 bytes while its tensor is packed."""


def read_npz(path: Path, shape: Sequence[int] | None) -> Entries:
    """Read an archive.

    Parameters
    ----------
    path : Path
    shape : sequence of int or None
        For CSR arrays without a shape; their columns are else the largest index plus one.

    Raises
    ------
    TensorError
        It holds no tensor, or what it holds is malformed.
    """
    what = f"cannot read '{path}'"
    names = _checked_names(what, path)
    if "format" in names:
        return from_matrix(what, sparse.load_npz(path))
    with np.load(path, allow_pickle=False) as arrays:
        fill = _fill(what, arrays["fill"]) if "fill" in names else 0
        if {"coords", "vals", "shape"} <= names:
            return _coordinates(what, arrays["coords"], arrays["vals"], arrays["shape"], fill)
        if "array" in names:
            dense = from_matrix(what, arrays["array"])
            return Entries(dense.coords, dense.values, dense.shape, fill)
        if {"indptr", "indices", "data"} <= names:
            if "shape" in names:
                shape = _shape(what, arrays["shape"])
            return _csr(what, arrays["indptr"], arrays["indices"], arrays["data"], shape)
    raise TensorError(
        f"{what}: it holds no SciPy matrix, 'array', 'coords vals shape' or 'indptr indices data', "
        f"only {sorted(names)}"
    )


def read_arrays(path: Path) -> dict[str, Array]:
    """Read the arrays of an archive by name, none of them of Python objects.

    Raises
    ------
    TensorError
        One is malformed, or larger than the file can hold.
    """
    _checked_names(f"cannot read '{path}'", path)
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _checked_names(what: str, path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            _check_member(what, archive, info, path.stat().st_size)
        return {info.filename.removesuffix(".npy") for info in archive.infolist()}


def _check_member(
    what: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, available: int
) -> None:
    """Refuse an array before it is loaded: of Python objects, or larger than the file can hold."""
    array = f"{what}: array '{info.filename.removesuffix('.npy')}'"
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if header is None:
            raise TensorError(f"{array} has version {version} of NumPy's format, wanted (1, 0)")
        shape, _, dtype = header(file)
        declared = file.tell() + math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise TensorError(f"{array} holds pickled Python objects: save numbers")
    if declared != info.file_size or declared > available * _DENSEST:
        raise TensorError(f"{array} is damaged: {dtype} of shape {shape} does not fit the file")
    if info.filename == "array.npy" and math.prod(shape) > LARGEST_DENSE:
        raise TensorError(
            f"{array} of shape {shape} has more than {LARGEST_DENSE} places: save a SciPy sparse "
            "matrix, or coords, vals and shape"
        )


def _fill(what: str, fill: Array) -> Number:
    if fill.shape != () or fill.dtype.kind not in "iuf":
        raise TensorError(f"{what}: fill must be one real number")
    return fill.item()


def _shape(what: str, shape: Array) -> tuple[int, ...]:
    if shape.ndim != 1 or shape.dtype.kind not in "iu":
        raise TensorError(f"{what}: shape must be a row of integers")
    return tuple(shape.tolist())


def _coordinates(what: str, coords: Array, vals: Array, shape: Array, fill: Number) -> Entries:
    sizes = _shape(what, shape)
    if coords.dtype.kind not in "iu":
        raise TensorError(f"{what}: coords must be integers")
    if vals.ndim != 1 or coords.shape != (len(vals), len(sizes)):
        raise TensorError(
            f"{what}: coords of shape {coords.shape} and vals of shape {vals.shape} for rank "
            f"{len(sizes)}: wanted one row of coordinates per value"
        )
    return Entries(coords.astype(np.int64), vals, sizes, fill)


def _csr(
    what: str, indptr: Array, indices: Array, data: Array, shape: Sequence[int] | None
) -> Entries:
    check_rows(what, indptr, indices)
    sizes = (len(indptr) - 1, int(indices.max(initial=-1)) + 1) if shape is None else tuple(shape)
    if len(sizes) != 2:
        raise TensorError(f"{what}: CSR arrays of shape {sizes}, wanted rank 2")
    return from_compressed(what, indptr, indices, data, sizes, "csr")


def write_npz(file: IO[bytes], fill: Number, **arrays: Any) -> None:
    """Write arrays under the names that `read_npz` knows, and ``fill`` where it is not 0."""
    extra: dict[str, Any] = {"fill": np.asarray(fill)} if fill else {}
    np.savez_compressed(file, **arrays, **extra)
