"""Matrix Market files.

Source: R. F. Boisvert, R. Pozo, K. A. Remington, The Matrix Market Exchange Formats, NISTIR 5935.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np

from fuseflow.samml.graph import LARGEST_SIZE
from fuseflow.tensor.entries import Entries
from fuseflow.tensor.lines import Text, is_size, write_entries
from fuseflow.tensor.words import Array, Ints

_BANNER = "%%MatrixMarket matrix"
_FIELDS = ("real", "integer", "pattern", "double", "unsigned-integer")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


@dataclass(frozen=True)
class _Header:
    """What the banner and the size line say, and the lines below them."""

    layout: str
    pattern: bool
    symmetry: str
    shape: tuple[int, int]
    numbers: Ints


def read_mtx(path: Path) -> Entries:
    """Read a matrix: coordinate or array; general, symmetric or skew-symmetric.

    Raises
    ------
    TensorError
        Names the line.
    """
    text = Text.read(path)
    header = _header(text)
    if header.layout == "array":
        coords = _array_places(header)
        values = text.table(header.numbers, 1)[:, 0]
    else:
        table = text.table(header.numbers, 2 if header.pattern else 3)
        coords = text.coordinates(table[:, :2], header.numbers, header.shape)
        values = np.ones(len(coords), np.int64) if header.pattern else table[:, 2]
    entries = Entries(coords, values, header.shape, file=str(path), lines=header.numbers)
    return entries if header.symmetry == "general" else _mirror(text, entries, header.symmetry)


def _header(text: Text) -> _Header:
    words = text.lines[0].lower().split()
    if len(words) != 5 or words[:2] != _BANNER.lower().split():
        raise text.fail(1, f"wanted a banner such as '{_BANNER} coordinate real general'")
    layout, field, symmetry = words[2:]
    for word, known in (
        (layout, ("coordinate", "array")),
        (field, [each for each in _FIELDS if each != "pattern" or layout == "coordinate"]),
        (symmetry, _SYMMETRIES),
    ):
        if word not in known:
            raise text.fail(1, f"'{word}' is not supported here, only {', '.join(known)}")
    numbers = text.data("%")
    if not len(numbers):
        raise text.fail(len(text.lines), "the file ends before the size line")
    shape, count = _sizes(text, int(numbers[0]), layout, symmetry)
    numbers = numbers[1:]
    if len(numbers) < count:
        raise text.fail(
            len(text.lines), f"the file ends after {len(numbers)} of the {count} entries declared"
        )
    if len(numbers) > count:
        raise text.fail(int(numbers[count]), f"more than the {count} entries declared")
    return _Header(layout, field == "pattern", symmetry, shape, numbers)


def _sizes(text: Text, number: int, layout: str, symmetry: str) -> tuple[tuple[int, int], int]:
    """Read the size line: the shape, and how many entries follow."""
    words = text.lines[number - 1].split()
    wanted = "rows columns entries" if layout == "coordinate" else "rows columns"
    if len(words) != len(wanted.split()) or not all(map(is_size, words)):
        raise text.fail(number, f"wanted '{wanted}', got '{' '.join(words)}'")
    rows, columns, *rest = map(int, words)
    if max(rows, columns) > LARGEST_SIZE:
        raise text.fail(number, f"size {max(rows, columns)} is above the supported {LARGEST_SIZE}")
    if symmetry != "general" and rows != columns:
        raise text.fail(number, f"a {symmetry} matrix is square, got {rows} x {columns}")
    if layout == "coordinate":
        return (rows, columns), rest[0]
    lower = {"general": rows * columns, "symmetric": rows * (rows + 1) // 2}
    return (rows, columns), lower.get(symmetry, rows * (rows - 1) // 2)


def _array_places(header: _Header) -> Ints:
    """Return the coordinates of an array's values: by columns; of a symmetric one, those below."""
    rows, columns = header.shape
    if header.symmetry == "general":
        column, row = np.divmod(np.arange(rows * columns), max(rows, 1))
    else:
        column, row = np.triu_indices(rows, 1 if header.symmetry == "skew-symmetric" else 0)
    return np.stack((row, column), axis=-1).astype(np.int64)


def _mirror(text: Text, entries: Entries, symmetry: str) -> Entries:
    """Add the other triangle."""
    assert entries.lines is not None
    off = entries.coords[:, 0] != entries.coords[:, 1]
    if symmetry == "skew-symmetric" and not bool(off.all()):
        raise text.fail(int(entries.lines[off.argmin()]), "a skew-symmetric matrix has no diagonal")
    other = entries.take(off)
    values = -other.values if symmetry == "skew-symmetric" else other.values
    return replace(
        entries,
        coords=np.concatenate((entries.coords, other.coords[:, ::-1])),
        values=np.concatenate((entries.values, values)),
        lines=np.concatenate((entries.lines, entries.lines[off])),
    )


def write_mtx(file: IO[bytes], coords: Ints, values: Array, shape: tuple[int, ...]) -> None:
    """Write entries of rank 0 to 2; a vector is an n x 1 matrix, a scalar 1 x 1."""
    rows, columns = (*shape, 1, 1)[:2]
    padded = np.zeros((len(values), 2), np.int64)
    padded[:, : len(shape)] = coords
    field = "integer" if values.dtype.kind == "i" else "real"
    file.write(f"{_BANNER} coordinate {field} general\n".encode())
    file.write(f"{rows} {columns} {len(values)}\n".encode())
    write_entries(file, padded, values)
