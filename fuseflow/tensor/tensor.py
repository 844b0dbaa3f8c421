"""The named sparse tensor: packed levels, conversions from and to NumPy and SciPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fuseflow.samml.errors import TensorError
from fuseflow.samml.formats import Format
from fuseflow.samml.image import TensorImage
from fuseflow.samml.values import INT32, ValueType
from fuseflow.tensor.convert import to_values
from fuseflow.tensor.entries import from_matrix
from fuseflow.tensor.levels import Ints, Levels, check_levels, pack, unpack
from fuseflow.tensor.untyped import sparse


@dataclass(frozen=True, eq=False)
class Tensor:
    """A stored tensor.

    Entries equal to the fill are never stored in compressed levels, however they were given.

    Attributes
    ----------
    name : str
    format : Format
    shape : tuple of int
        In mode order.
    levels : Levels
        The stored arrays.
    fill : int
        The value of entries that are not stored.
    value : ValueType
    """

    name: str
    format: Format
    shape: tuple[int, ...]
    levels: Levels
    fill: int = 0
    value: ValueType = INT32

    @classmethod
    def from_coordinates(
        cls,
        name: str,
        coordinates: ArrayLike,
        values: ArrayLike,
        shape: Sequence[int],
        format: Format | str | None = None,
        *,
        fill: int = 0,
        value: ValueType = INT32,
        round_values: bool = False,
    ) -> "Tensor":
        """Pack coordinates.

        Parameters
        ----------
        name : str
        coordinates : array_like of int
            One row per entry, one column per mode.
        values : array_like
        shape : sequence of int
        format : Format or str, optional
            Default: scalar, sparse, CSR, ``dss``, ... by rank.
        fill : int
        value : ValueType
        round_values : bool
            Round fractions instead of refusing them.

        Raises
        ------
        TensorError
            Ranks differ, a coordinate repeats or is out of range, or a value does not fit.
        """
        shape = tuple(int(size) for size in shape)
        form = _format(name, format, len(shape))
        numbers = np.asarray(values)
        coords = np.asarray(coordinates)
        if coords.size and coords.dtype.kind not in "iu":
            raise TensorError(f"tensor '{name}': coordinates must be integers, got {coords.dtype}")
        empty = coords.size == numbers.size * len(shape) == 0
        if coords.shape != (numbers.size, len(shape)) and not empty:
            raise TensorError(
                f"tensor '{name}': {numbers.size} values of rank {len(shape)} need as many rows of "
                f"coordinates, got shape {coords.shape}"
            )
        rows = coords.astype(np.int64).reshape(numbers.size, len(shape))
        words = to_values(name, numbers.reshape(-1), value, round_values=round_values)
        if to_values(name, np.asarray(fill), value, round_values=False) != fill:
            raise TensorError(f"tensor '{name}': fill {fill} is not an integer")
        try:
            return cls(name, form, shape, pack(form, shape, rows, words, fill), fill, value)
        except TensorError as error:
            raise TensorError(f"tensor '{name}': {error}") from None

    @classmethod
    def from_numpy(
        cls,
        name: str,
        array: ArrayLike,
        format: Format | str | None = None,
        *,
        fill: int = 0,
        value: ValueType = INT32,
        round_values: bool = False,
    ) -> "Tensor":
        """Pack a dense array; see `from_coordinates` for the parameters."""
        entries = from_matrix(np.asarray(array))
        return cls.from_coordinates(
            name, entries.coords, entries.values, entries.shape, format, fill=fill, value=value,
            round_values=round_values,
        )  # fmt: skip

    @classmethod
    def from_scipy(
        cls,
        name: str,
        matrix: Any,
        format: Format | str | None = None,
        *,
        value: ValueType = INT32,
        round_values: bool = False,
    ) -> "Tensor":
        """Pack any SciPy sparse array or matrix; a format of rank 1 takes an n x 1 matrix."""
        wanted = None if format is None else _parse(format).rank
        entries = from_matrix(matrix).squeeze(f"tensor '{name}'", wanted)
        return cls.from_coordinates(
            name, entries.coords, entries.values, entries.shape, format, value=value,
            round_values=round_values,
        )  # fmt: skip

    @classmethod
    def from_image(
        cls,
        name: str,
        image: TensorImage,
        format: Format | str,
        *,
        fill: int = 0,
        value: ValueType = INT32,
    ) -> "Tensor":
        """Take over stored arrays, such as a run's result.

        Raises
        ------
        TensorError
            The arrays do not fit the format or each other.
        """
        form = _format(name, format, len(image.shape))
        if not len(image.segs) == len(image.crds) == form.rank:
            raise TensorError(f"tensor '{name}': arrays of {len(image.segs)} levels for {form}")
        segs = tuple(None if seg is None else _ints(seg) for seg in image.segs)
        crds = tuple(None if crd is None else _ints(crd) for crd in image.crds)
        positions: list[int] = []
        for mode, crd in zip(form.order, crds, strict=True):
            above = positions[-1] if positions else 1
            positions.append(above * image.shape[mode] if crd is None else len(crd))
        levels = Levels(segs, crds, tuple(positions), _ints(image.vals))
        check_levels(name, form, tuple(image.shape), levels)
        return cls(name, form, tuple(image.shape), levels, fill, value)

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        format: Format | str | None = None,
        *,
        name: str | None = None,
        shape: Sequence[int] | None = None,
        value: ValueType = INT32,
        round_values: bool = False,
    ) -> "Tensor":
        """Read a ``.mtx``, ``.tns`` or ``.npz`` file.

        Parameters
        ----------
        path : path
        format : Format or str, optional
            Of rank 1, it reads an n x 1 matrix as a vector.
        name : str, optional
            Default: the file's stem.
        shape : sequence of int, optional
            For ``.tns`` files, which need not tell.
        value : ValueType
        round_values : bool

        Raises
        ------
        TensorError
            The file is unreadable or its contents do not fit.
        """
        from fuseflow.tensor.files import read_entries, stem

        name = name or stem(path)
        wanted = None if format is None else _parse(format).rank
        entries = read_entries(path, wanted, shape)
        return cls.from_coordinates(
            name, entries.coords, entries.values, entries.shape, format, value=value,
            round_values=round_values,
        )  # fmt: skip

    def write(self, path: str | PathLike[str]) -> None:
        """Write a ``.mtx``, ``.tns`` or ``.npz`` file; a reader never sees half of it.

        Raises
        ------
        TensorError
            The suffix is unknown, or the tensor's rank or fill does not go into such a file.
        """
        from fuseflow.tensor.files import write_tensor

        write_tensor(self, path)

    @property
    def rank(self) -> int:
        """Number of modes."""
        return len(self.shape)

    @property
    def positions(self) -> tuple[int, ...]:
        """Stored positions of every level."""
        return self.levels.positions

    @property
    def nnz(self) -> int:
        """How many entries differ from the fill."""
        return int(np.count_nonzero(self.levels.vals != self.fill))

    def entries(self) -> tuple[Ints, Ints]:
        """Return coordinates (one row each) and values of all entries that are not the fill."""
        coords = unpack(self.format, self.shape, self.levels)
        stored = self.levels.vals != self.fill
        return coords[stored], self.levels.vals[stored]

    def image(self) -> TensorImage:
        """Return the stored arrays for a tile."""
        return TensorImage(
            self.shape,
            tuple(None if seg is None else seg.tolist() for seg in self.levels.segs),
            tuple(None if crd is None else crd.tolist() for crd in self.levels.crds),
            self.levels.vals.tolist(),
        )

    def to_numpy(self) -> NDArray[np.int64]:
        """Return the dense array, fill included."""
        coords, values = self.entries()
        array = np.full(self.shape, self.fill, np.int64)
        if len(values):
            array[tuple(coords.T)] = values if self.rank else values[0]
        return array

    def to_scipy(self) -> Any:
        """Return a ``coo_array`` of a vector or matrix with fill 0."""
        if self.rank not in (1, 2) or self.fill:
            raise TensorError(
                f"tensor '{self.name}': rank {self.rank} and fill {self.fill} do not go into a "
                "SciPy sparse array; use to_numpy()"
            )
        coords, values = self.entries()
        return sparse.coo_array((values, tuple(coords.T)), shape=self.shape)

    def convert(self, format: Format | str) -> "Tensor":
        """Return the same tensor stored in another format."""
        coords, values = self.entries()
        return Tensor.from_coordinates(
            self.name, coords, values, self.shape, format, fill=self.fill, value=self.value
        )

    def rename(self, name: str) -> "Tensor":
        """Return the same tensor under another name."""
        return Tensor(name, self.format, self.shape, self.levels, self.fill, self.value)


def _ints(words: Sequence[int]) -> Ints:
    return np.asarray(words, np.int64).reshape(-1)


def _parse(form: Format | str) -> Format:
    return Format.parse(form) if isinstance(form, str) else form


def _format(name: str, form: Format | str | None, rank: int) -> Format:
    if form is None:
        return Format.default(rank)
    parsed = Format.parse(form, rank) if isinstance(form, str) else form
    if parsed.rank != rank:
        raise TensorError(f"tensor '{name}': format {parsed} has rank {parsed.rank}, wanted {rank}")
    return parsed
