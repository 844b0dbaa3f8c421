"""Between the tensors of a module and those of its program: pieces in, pieces out."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fuseflow.mlir.modes import Piece, Places
from fuseflow.mlir.module import Array
from fuseflow.samml.errors import TensorError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.values import Number, ValueType
from fuseflow.tensor import Tensor

Data: TypeAlias = "Array | Coordinates"
"""What a tensor of a module holds."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The entries of a sparse tensor; what is not among them is 0.

    Attributes
    ----------
    rows : ndarray of int64, shape (entries, rank)
    values : ndarray, shape (entries,)
    shape : tuple of int
    """

    rows: npt.NDArray[np.int64]
    values: Array
    shape: tuple[int, ...]


def dense(data: Data) -> Array:
    """Return all elements."""
    if not isinstance(data, Coordinates):
        return data
    array = np.zeros(data.shape, data.values.dtype)
    array[tuple(data.rows.T)] = data.values
    return array


@dataclass(frozen=True, eq=False)
class Input:
    """An operand of a program: a piece of an argument or a constant of the module.

    Attributes
    ----------
    name : str
    source : str
        The argument or constant.
    places : tuple of Places
        By mode of the source, the coordinates that the piece has.
    shape : tuple of int
    format : Format
    mask : bool
        It stores a 1 where the source is not 0, and nothing elsewhere.
    constant : ndarray or None
        The source's elements where they are known.
    """

    name: str
    source: str
    places: tuple[Places, ...]
    shape: tuple[int, ...]
    format: Format
    mask: bool = False
    constant: Array | None = None

    def tensor(self, data: Data, value: ValueType) -> Tensor:
        """Store the piece.

        Parameters
        ----------
        data : ndarray or Coordinates
            The whole source.
        value : ValueType

        Raises
        ------
        TensorError
            An element is not finite.
        """
        if isinstance(data, Coordinates):
            rows, values = self._entries(data)
        else:
            piece = np.reshape(data[np.ix_(*self.places)], self.shape)
            if not self.mask and not self._compressed:
                return Tensor.from_numpy(self.name, piece, self.format, value=value)
            rows = np.argwhere(piece)
            values = piece[piece != 0]
        if self.mask:
            values = np.ones(len(values))
        return Tensor.from_coordinates(
            self.name, rows, values, self.shape, self.format, value=value
        )

    @property
    def _compressed(self) -> bool:
        return LevelKind.COMPRESSED in self.format.levels

    def _entries(self, data: Coordinates) -> tuple[npt.NDArray[np.int64], Array]:
        """Return the coordinates of the entries in the piece, and their values."""
        rows, values = data.rows, data.values
        if self.mask:
            rows, values = rows[values != 0], values[values != 0]
        flat = np.zeros(len(rows), np.int64)
        inside = np.ones(len(rows), np.bool_)
        for mode, places in enumerate(self.places):
            where = np.full(data.shape[mode], -1)
            where[places] = np.arange(len(places))
            found = where[rows[:, mode]]
            inside &= found >= 0
            flat = flat * len(places) + found
        columns = np.unravel_index(flat[inside], self.shape) if self.shape else ()
        kept = int(inside.sum())
        return np.array(columns, np.int64).reshape(len(self.shape), kept).T, values[inside]


@dataclass(frozen=True, eq=False)
class Slab:
    """A piece of a result.

    Attributes
    ----------
    tensor : str
        A tensor of the program; empty where the piece is a number.
    number : Number
        That number.
    axes : tuple of int
        For every atom of the piece, the tensor's mode; -1 where it is the same along the atom.
    shape : tuple of int
        Of the atoms.
    places : tuple of Places
        By mode of the result, the coordinates that the piece has.
    """

    tensor: str
    number: Number
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    places: tuple[Places, ...]

    def array(self, tensors: Mapping[str, Tensor]) -> Array:
        """Return the elements, with a mode for each of the result's."""
        lengths = tuple(map(len, self.places))
        if not self.tensor:
            return np.full(lengths, self.number)
        array = tensors[self.tensor].to_numpy()
        array = array.transpose([axis for axis in self.axes if axis >= 0])
        kept = (size if axis >= 0 else 1 for axis, size in zip(self.axes, self.shape, strict=True))
        return np.broadcast_to(array.reshape(tuple(kept)), self.shape).reshape(lengths)


@dataclass(frozen=True, eq=False)
class Output:
    """A result of a module's function.

    Attributes
    ----------
    name : str
    shape : tuple of int
    slabs : tuple of Slab
    """

    name: str
    shape: tuple[int, ...]
    slabs: tuple[Slab, ...]

    def array(self, tensors: Mapping[str, Tensor]) -> Array:
        """Put the result together.

        Parameters
        ----------
        tensors : mapping of str to Tensor
            Operands and results of the program.

        Returns
        -------
        ndarray
        """
        parts = [slab.array(tensors) for slab in self.slabs]
        # A number has the type of what stands beside it: bf16 has no common type with int64.
        typed = [part for slab, part in zip(self.slabs, parts, strict=True) if slab.tensor]
        result = np.zeros(self.shape, np.result_type(*(typed or parts)))
        for slab, part in zip(self.slabs, parts, strict=True):
            result[np.ix_(*slab.places)] = part
        return result


def format_of(
    name: str, pieces: tuple[Piece, ...], format: Format, blocks: tuple[int, ...]
) -> Format:
    """Return the format of a piece: that of the whole, where every mode has become its atoms.

    Parameters
    ----------
    name : str
        Of the whole, for the message.
    pieces : tuple of Piece
        By mode.
    format : Format
        Of the whole, whose modes are split into blocks.
    blocks : tuple of int
        By mode, the size of its blocks; 1 for none.

    Raises
    ------
    TensorError
        The format has another rank, or a view takes its blocks apart.
    """
    groups = [group for piece, block in zip(pieces, blocks, strict=True)
              for group in _halves(name, piece, block)]  # fmt: skip
    if format.rank != len(groups):
        raise TensorError(
            f"format {format} of '{name}' has rank {format.rank}, the tensor {len(groups)}: give "
            "one letter per mode"
        )
    starts = np.cumsum([0, *map(len, groups)])
    levels: list[LevelKind] = []
    order: list[int] = []
    for kind, mode in zip(format.levels, format.order, strict=True):
        atoms = range(int(starts[mode]), int(starts[mode + 1]))
        levels += [kind] * len(atoms)
        order += atoms
    return Format(tuple(levels), tuple(order))


def _halves(name: str, piece: Piece, block: int) -> list[tuple[int, ...]]:
    """Return the sizes of a piece's atoms, those within a block apart."""
    sizes = tuple(atom.size for atom in piece.atoms)
    if block == 1:
        return [sizes]
    cut = next((at for at in range(len(sizes), -1, -1) if prod(sizes[at:]) == block), None)
    if cut is None:
        raise TensorError(
            f"'{name}' is stored in blocks of {block}, and a view takes them apart: store it "
            "without blocks, as CSR"
        )
    return [sizes[:cut], sizes[cut:]]
