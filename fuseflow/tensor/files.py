"""Tensor files: Matrix Market, FROSTT and NumPy archives.

=========  ========================================================================
``.mtx``   coordinate or array; a vector is an n x 1 matrix, a scalar 1 x 1
``.tns``   one entry a line, 1-based coordinates then the value; a comment ``# shape 3 4``
           keeps the shape, else it is the largest coordinates; ``# fill -inf`` a fill
``.npz``   a SciPy sparse matrix; a dense ``array``; ``coords``, ``vals`` and ``shape``; or the
           CSR arrays ``indptr``, ``indices``, ``data`` and perhaps ``shape``.  ``fill`` if not 0
=========  ========================================================================
"""

import io
import os
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from fuseflow.samml.errors import TensorError
from fuseflow.samml.files import write_file
from fuseflow.samml.formats import LevelKind
from fuseflow.tensor.entries import Entries
from fuseflow.tensor.mtx import read_mtx, write_mtx
from fuseflow.tensor.npz import read_npz, write_npz
from fuseflow.tensor.tns import read_tns, write_tns
from fuseflow.tensor.untyped import sparse
from fuseflow.tensor.words import Array

if TYPE_CHECKING:
    from fuseflow.tensor.tensor import Tensor

# What NumPy, SciPy and zipfile raise at bytes that are not what they should be.
_DAMAGE = (
    ValueError, KeyError, TypeError, OverflowError, EOFError, RuntimeError, IndexError,
    AttributeError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


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
        The rank wanted: 1 takes an n x 1 or 1 x n matrix, 0 a 1 x 1 matrix.
    shape : sequence of int, optional
        Overrides the file's.

    Raises
    ------
    TensorError
        The file is missing, malformed, or has an unknown suffix.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path], Entries]] = {
        ".mtx": read_mtx,
        ".tns": lambda path: read_tns(path, shape),
        ".npz": lambda path: read_npz(path, shape),
    }
    reader = _by_suffix(path, readers)
    what = f"cannot read '{path}'"
    with reading(path):
        entries = reader(path)
    entries = entries.squeeze(what, rank)
    if shape is None:
        return entries
    if len(shape) != len(entries.shape):
        raise TensorError(f"{what}: shape {entries.shape} does not read as {tuple(shape)}")
    return replace(entries, shape=tuple(shape))


@contextmanager
def reading(path: Path) -> Generator[None]:
    """Say in one line why a file cannot be read, whatever NumPy or SciPy raise.

    Raises
    ------
    TensorError
        The file is missing, empty, a folder or damaged.
    """
    what = f"cannot read '{path}'"
    try:
        if path.is_dir():
            raise TensorError(f"{what}: it is a folder")
        if path.stat().st_size == 0 and path.is_file():
            raise TensorError(f"{what}: it is empty")
        yield
    except OSError as error:
        raise TensorError(f"{what}: {error.strerror or error}") from None
    except _DAMAGE as error:
        problem = " ".join(str(error).split())
        raise TensorError(f"{what}: it is damaged, write it anew ({problem})") from None


def _by_suffix(path: Path, choices: dict[str, Any]) -> Any:
    try:
        return choices[path.suffix.lower()]
    except KeyError:
        raise TensorError(
            f"'{path}': unknown suffix '{path.suffix}', use one of {', '.join(choices)}"
        ) from None


def check_target(path: str | PathLike[str]) -> None:
    """Refuse a path that no tensor can be written to.

    Raises
    ------
    TensorError
        Its suffix is unknown, or its folder does not exist or cannot be written.
    """
    path = Path(path)
    _by_suffix(path, _WRITERS)
    if not path.parent.is_dir():
        raise TensorError(f"cannot write '{path}': there is no folder '{path.parent}'")
    if path.is_dir():
        raise TensorError(f"cannot write '{path}': it is a folder")
    if not os.access(path.parent, os.W_OK):
        raise TensorError(f"cannot write '{path}': the folder '{path.parent}' is not writable")


def write_tensor(tensor: "Tensor", path: str | PathLike[str]) -> None:
    """Write a tensor by the path's suffix, through a temporary file beside it.

    Raises
    ------
    TensorError
        As `check_target`; or the tensor does not go into such a file.
    OutputError
        It cannot be written, or the disk is full.
    """
    path = Path(path)
    check_target(path)
    buffer = io.BytesIO()
    _by_suffix(path, _WRITERS)(tensor, buffer)
    write_file(path, buffer.getvalue())


def _write_mtx(tensor: "Tensor", file: IO[bytes]) -> None:
    if tensor.fill or tensor.rank > 2:
        reason = f"fill {tensor.fill}" if tensor.fill else f"rank {tensor.rank}"
        raise TensorError(
            f"tensor '{tensor.name}': {reason} does not go into a .mtx file; use .tns or .npz"
        )
    write_mtx(file, *tensor.entries(), tensor.shape)


def _write_tns(tensor: "Tensor", file: IO[bytes]) -> None:
    write_tns(file, *tensor.entries(), tensor.shape, tensor.fill)


def _write_npz(tensor: "Tensor", file: IO[bytes]) -> None:
    if LevelKind.COMPRESSED not in tensor.format.levels:
        write_npz(file, tensor.fill, array=_known_to_numpy(tensor.to_numpy()))
    elif tensor.rank == 2 and not tensor.fill:
        sparse.save_npz(file, tensor.to_scipy())
    else:
        coords, values = tensor.entries()
        shape = np.array(tensor.shape, np.int64)
        write_npz(file, tensor.fill, coords=coords, vals=_known_to_numpy(values), shape=shape)


def _known_to_numpy(values: Array) -> Array:
    """Return values in a dtype that NumPy can load without ml_dtypes: bf16 becomes float32."""
    return values if values.dtype.kind in "if" else values.astype(np.float32)


_WRITERS: dict[str, Callable[["Tensor", IO[bytes]], None]] = {
    ".mtx": _write_mtx,
    ".tns": _write_tns,
    ".npz": _write_npz,
}
