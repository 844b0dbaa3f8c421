"""Files of a directory that fit a kernel's operands.

Files whose names begin alike, up to the first ``_``, belong together: ``r100_B.mtx`` and
``r100_vec_a.mtx``.  An n x 1 matrix is a vector.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from fuseflow.comparison.data import SCALAR, Given, Source
from fuseflow.comparison.table import Kernel
from fuseflow.compiler import Access
from fuseflow.samml.errors import TensorError
from fuseflow.tensor.files import read_entries

SUFFIXES = (".mtx", ".npz", ".tns")
"""Kinds of tensor files; of those with one stem, the first kind counts."""


@dataclass(frozen=True)
class _File:
    path: Path
    shape: tuple[int, ...]
    entries: int


def fitting(kernel: Kernel, directory: Path) -> list[Given]:
    """Return operands for a kernel from every group of files that has such.

    The fullest files come first, and one file stands for two operands only if there is no other.

    Raises
    ------
    TensorError
        The directory is none, or a file is malformed.
    """
    found: list[Given] = []
    for group in _groups(directory):
        chosen = next(_assign(kernel.statement.operands, group, {}, {}), None)
        if chosen is not None and any(isinstance(source, Path) for source in chosen.values()):
            paths = [source for source in chosen.values() if isinstance(source, Path)]
            found.append(Given(",".join(path.stem for path in paths), chosen))
    return found


def find(directory: Path, stem: str) -> Path:
    """Return the file of that name.

    Raises
    ------
    TensorError
        There is none.
    """
    for suffix in SUFFIXES:
        path = directory / f"{stem}{suffix}"
        if path.exists():
            return path
    raise TensorError(f"'{directory}' has no {stem}.mtx, .npz or .tns: add it or name another")


@cache
def _groups(directory: Path) -> list[list[_File]]:
    if not directory.is_dir():
        raise TensorError(f"'{directory}' is no directory of tensor files: name one")
    stems = {path.stem for path in directory.iterdir() if path.suffix in SUFFIXES}
    files = [_file(find(directory, stem)) for stem in sorted(stems)]
    groups = groupby(files, key=lambda file: file.path.stem.partition("_")[0])
    return [sorted(group, key=lambda file: -file.entries) for _, group in groups]


def _file(path: Path) -> _File:
    entries = read_entries(path, None)
    shape = entries.shape
    vector = len(shape) == 2 and shape[1] == 1
    return _File(path, shape[:1] if vector else shape, len(entries.values))


def _assign(
    accesses: tuple[Access, ...],
    files: list[_File],
    chosen: dict[str, Source],
    sizes: dict[str, int],
) -> Iterator[dict[str, Source]]:
    """Yield sources for the accesses that are left."""
    if not accesses:
        yield chosen
        return
    (access, *rest), used = accesses, list(chosen.values())
    if not access.indices:
        yield from _assign(tuple(rest), files, {**chosen, access.tensor: SCALAR}, sizes)
        return
    for file in sorted(files, key=lambda file: file.path in used):
        known = chosen.get(access.tensor, file.path) == file.path
        want = dict(zip(access.indices, file.shape, strict=False))
        alike = all(sizes.get(index, size) == size for index, size in want.items())
        if known and alike and len(file.shape) == len(access.indices):
            more = {**chosen, access.tensor: file.path}
            yield from _assign(tuple(rest), files, more, sizes | want)
