"""FROSTT files: one entry a line, 1-based coordinates and the value.

Source: S. Smith et al., FROSTT: The Formidable Repository of Open Sparse Tensors and Tools, 2017.
Comments ``# shape 3 4`` and ``# fill -inf`` keep what the format has no place for.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from fuseflow.samml.errors import TensorError
from fuseflow.samml.graph import LARGEST_SIZE
from fuseflow.samml.values import Number
from fuseflow.tensor.entries import Entries
from fuseflow.tensor.lines import Text, is_size, write_entries
from fuseflow.tensor.words import Array, Ints

_SHAPE = "# shape"
_FILL = "# fill"


def read_tns(path: Path, shape: Sequence[int] | None) -> Entries:
    """Read a tensor of any rank.

    Parameters
    ----------
    path : Path
    shape : sequence of int or None
        Overrides the file's; without either it is the largest coordinates.

    Raises
    ------
    TensorError
        Names the line.
    """
    text = Text.read(path)
    told, fill = _comments(text)
    sizes = told if shape is None else tuple(shape)
    numbers = text.data("#")
    if len(numbers):
        rank = len(text.lines[int(numbers[0]) - 1].split()) - 1
    elif sizes is None:
        raise TensorError(f"cannot read '{path}': no entries and no comment '{_SHAPE} 3 4'")
    else:
        rank = len(sizes)
    table = text.table(numbers, rank + 1)
    if sizes is not None and len(sizes) != rank:
        raise text.fail(int(numbers[0]), f"an entry of rank {rank}, but the shape is {sizes}")
    coords = text.coordinates(table[:, :-1], numbers, sizes)
    if sizes is None:
        sizes = tuple(int(size) + 1 for size in coords.max(axis=0))
    return Entries(coords, table[:, -1], sizes, fill, str(path), numbers)


def _comments(text: Text) -> tuple[tuple[int, ...] | None, Number]:
    """Read shape and fill where comments tell them."""
    shape: tuple[int, ...] | None = None
    fill: Number = 0
    for number, line in enumerate(text.lines, 1):
        if line.startswith(_SHAPE):
            words = line[len(_SHAPE) :].split()
            if not all(is_size(word) and int(word) <= LARGEST_SIZE for word in words):
                raise text.fail(number, f"no tensor has the shape '{' '.join(words)}'")
            shape = tuple(map(int, words))
        elif line.startswith(_FILL):
            try:
                fill = float(line[len(_FILL) :])
            except ValueError:
                raise text.fail(number, "the fill is not a number") from None
    return shape, fill


def write_tns(
    file: IO[bytes], coords: Ints, values: Array, shape: tuple[int, ...], fill: Number
) -> None:
    """Write entries."""
    file.write(" ".join([_SHAPE, *map(str, shape)]).encode() + b"\n")
    if fill:
        file.write(f"{_FILL} {fill}\n".encode())
    write_entries(file, coords, values)
