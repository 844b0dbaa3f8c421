"""Tensor files: Matrix Market, FROSTT and NumPy archives.

=========  ========================================================================
``.mtx``   coordinate or array, through SciPy; a vector is an n x 1 matrix, a scalar 1 x 1
``.tns``   one entry a line, 1-based coordinates then the value; a comment ``# shape 3 4``
           keeps the shape, else it is the largest coordinates
``.npz``   a SciPy sparse matrix, a dense ``array``, or ``coords``, ``vals`` and ``shape``
=========  ========================================================================
"""

import io
import zipfile
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from fuseflow.samml.errors import TensorError
from fuseflow.samml.files import write_file
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import LARGEST_SIZE
from fuseflow.tensor.entries import Entries, from_matrix
from fuseflow.tensor.untyped import matrix_market, sparse

if TYPE_CHECKING:
    from fuseflow.tensor.tensor import Tensor


_SHAPE = "# shape"


def stem(path: str | PathLike[str]) -> str:
    """Return a file's name without folder and suffix."""
    return Path(path).stem


def read_entries(
    path: str | PathLike[str], rank: int | None, shape: Sequence[int] | None = None
) -> Entries:
    """Read a file by its suffix.

    Parameters
    ----------
    path : path
    rank : int or None
        The rank wanted: 1 takes an n x 1 matrix, 0 a 1 x 1 matrix.
    shape : sequence of int, optional
        Overrides the shape of a ``.tns`` file.

    Raises
    ------
    TensorError
        The file is missing, malformed, or has an unknown suffix.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path], Entries]] = {
        ".mtx": _read_mtx,
        ".tns": lambda path: _read_tns(path, shape),
        ".npz": _read_npz,
    }
    reader = _by_suffix(path, readers)
    try:
        entries = reader(path)
    except TensorError:
        raise
    except (OSError, ValueError, KeyError, TypeError, OverflowError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())
        raise TensorError(f"cannot read '{path}': {reason}") from None
    return entries.squeeze(f"'{path}'", rank)


def _by_suffix(path: Path, choices: dict[str, Any]) -> Any:
    try:
        return choices[path.suffix.lower()]
    except KeyError:
        raise TensorError(
            f"'{path}': unknown suffix '{path.suffix}', use one of {', '.join(choices)}"
        ) from None


def _read_mtx(path: Path) -> Entries:
    return from_matrix(matrix_market.mmread(path))


def _read_tns(path: Path, shape: Sequence[int] | None) -> Entries:
    text = path.read_text(encoding="utf-8")
    for line in text.splitlines():
        if shape is None and line.startswith(_SHAPE):
            shape = [int(word) for word in line[len(_SHAPE) :].split()]
            if not all(0 <= size <= LARGEST_SIZE for size in shape):
                raise TensorError(f"cannot read '{path}': no tensor has the shape {shape}")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        if shape is None:
            raise TensorError(f"cannot read '{path}': no entries and no shape")
        return Entries(np.zeros((0, len(shape)), np.int64), np.zeros(0), tuple(shape))
    table = np.loadtxt(io.StringIO("\n".join(lines)), dtype=np.float64, ndmin=2)
    if not bool((np.abs(table[:, :-1]) <= LARGEST_SIZE).all()):
        raise TensorError(f"cannot read '{path}': a coordinate exceeds {LARGEST_SIZE}")
    coords = table[:, :-1].astype(np.int64) - 1
    if bool((coords + 1 != table[:, :-1]).any()):
        raise TensorError(f"cannot read '{path}': a coordinate is not an integer")
    if shape is None:
        shape = [int(size) + 1 for size in coords.max(axis=0)]
    return Entries(coords, table[:, -1], tuple(shape))


def _read_npz(path: Path) -> Entries:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        names = set(archive.files)
        if {"coords", "vals", "shape"} <= names:
            shape = tuple(int(size) for size in archive["shape"])
            if archive["coords"].dtype.kind not in "iu" or archive["shape"].dtype.kind not in "iu":
                raise TensorError(f"cannot read '{path}': coords and shape must be integers")
            return Entries(archive["coords"].astype(np.int64), archive["vals"], shape)
        if "array" in names:
            return from_matrix(archive["array"])
    if "format" not in names:
        raise TensorError(f"'{path}' holds no sparse matrix, 'array' or 'coords': {sorted(names)}")
    matrix = sparse.load_npz(path)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # SciPy trusts the index arrays otherwise
    return from_matrix(matrix)


def check_target(path: str | PathLike[str]) -> None:
    """Refuse a path that no tensor can be written to.

    Raises
    ------
    TensorError
        Its suffix is unknown, or its folder does not exist.
    """
    path = Path(path)
    _by_suffix(path, _WRITERS)
    if not path.parent.is_dir():
        raise TensorError(f"cannot write '{path}': there is no folder '{path.parent}'")
    if path.is_dir():
        raise TensorError(f"cannot write '{path}': it is a folder")


def write_tensor(tensor: "Tensor", path: str | PathLike[str]) -> None:
    """Write a tensor by the path's suffix, through a temporary file beside it.

    Raises
    ------
    TensorError
        As `check_target`; or the tensor does not go into such a file, or the folder cannot be
        written.
    """
    path = Path(path)
    check_target(path)
    buffer = io.BytesIO()
    _by_suffix(path, _WRITERS)(tensor, buffer)
    try:
        write_file(path, buffer.getvalue())
    except OSError as error:
        raise TensorError(f"cannot write '{path}': {error.strerror}") from None


def _need_zero_fill(tensor: "Tensor", kind: str) -> None:
    if tensor.fill:
        raise TensorError(
            f"tensor '{tensor.name}': fill {tensor.fill} does not go into a {kind} file; store it "
            "dense in .npz"
        )


def _write_mtx(tensor: "Tensor", file: IO[bytes]) -> None:
    _need_zero_fill(tensor, ".mtx")
    if tensor.rank > 2:
        raise TensorError(
            f"tensor '{tensor.name}': rank {tensor.rank} does not go into .mtx; use .tns"
        )
    coords, values = tensor.entries()
    rows, columns = (*coords.T, *(np.zeros(len(values), np.int64),) * 2)[:2]
    shape = (*tensor.shape, 1, 1)[:2]
    matrix = sparse.coo_array((values, (rows, columns)), shape=shape)
    matrix_market.mmwrite(file, matrix, field="integer", symmetry="general")


def _write_tns(tensor: "Tensor", file: IO[bytes]) -> None:
    _need_zero_fill(tensor, ".tns")
    coords, values = tensor.entries()
    file.write(" ".join([_SHAPE, *map(str, tensor.shape)]).encode() + b"\n")
    np.savetxt(file, np.column_stack((coords + 1, values)), fmt="%d")


def _write_npz(tensor: "Tensor", file: IO[bytes]) -> None:
    if all(kind is LevelKind.DENSE for kind in tensor.format.levels):
        np.savez_compressed(file, array=tensor.to_numpy())
        return
    _need_zero_fill(tensor, "sparse .npz")
    if tensor.rank == 2:
        sparse.save_npz(file, tensor.to_scipy())
        return
    coords, values = tensor.entries()
    np.savez_compressed(file, coords=coords, vals=values, shape=np.asarray(tensor.shape))


_WRITERS: dict[str, Callable[["Tensor", IO[bytes]], None]] = {
    ".mtx": _write_mtx,
    ".tns": _write_tns,
    ".npz": _write_npz,
}
