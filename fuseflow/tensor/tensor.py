"""The named sparse tensor: packed levels, conversions from and to NumPy and SciPy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fuseflow.samml.errors import TensorError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.image import TensorImage
from fuseflow.samml.values import INT32, Number, ValueType, number, value_type
from fuseflow.tensor.check import check_finite, check_levels, check_shape, check_words
from fuseflow.tensor.entries import Entries, from_matrix
from fuseflow.tensor.levels import Levels, pack, unpack
from fuseflow.tensor.untyped import sparse
from fuseflow.tensor.words import Array, Ints, decode, differs, plain, to_words


class Packing(TypedDict, total=False):
    """How numbers from outside are stored: the options of every constructor.

    Attributes
    ----------
    fill : number
        The value of entries that are not stored, 0 by default; exact in the value type.
    value : ValueType or str
        int32 by default.  Floating point is rounded to nearest even, and what lies below the
        smallest normal number becomes a zero of its sign.
    round_values : bool
        For an integer type: round fractions to nearest even instead of refusing them.
    sum_duplicates : bool
        Add up entries of one coordinate, before they are rounded, instead of refusing them.
    keep_explicit : bool
        Store given entries that equal the fill in compressed levels too.
    computed : bool
        They are a run's result, which may hold NaN and infinities.
    """

    fill: Number
    value: ValueType | str
    round_values: bool
    sum_duplicates: bool
    keep_explicit: bool
    computed: bool


@dataclass(frozen=True, eq=False)
class Tensor:
    """A stored tensor of rank 0 to 6.

    Attributes
    ----------
    name : str
    format : Format
    shape : tuple of int
        In mode order.
    levels : Levels
        The stored arrays; values are words (`fuseflow.samml.values`).
    fill : number
        The value of entries that are not stored.
    value : ValueType
    """

    name: str
    format: Format
    shape: tuple[int, ...]
    levels: Levels
    fill: Number = 0
    value: ValueType = INT32

    @classmethod
    def from_coordinates(
        cls,
        name: str,
        coordinates: ArrayLike,
        values: ArrayLike,
        shape: Sequence[int],
        format: Format | str | None = None,
        **packing: Unpack[Packing],
    ) -> "Tensor":
        """Pack coordinates, in any order.

        Parameters
        ----------
        name : str
        coordinates : array_like of int
            One row per entry, one column per mode.
        values : array_like
        shape : sequence of int
        format : Format or str, optional
            Default: scalar, sparse, CSR, ``dss``, ... by rank.
        **packing
            See `Packing`.

        Raises
        ------
        TensorError
            Ranks differ, a coordinate repeats or is out of range, or a value does not fit.
        """
        shape = tuple(int(size) for size in shape)
        numbers = np.asarray(values).reshape(-1)
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
        return cls._from_entries(name, Entries(rows, numbers, shape), format, **packing)

    @classmethod
    def from_numpy(
        cls,
        name: str,
        array: ArrayLike,
        format: Format | str | None = None,
        **packing: Unpack[Packing],
    ) -> "Tensor":
        """Pack a dense array; see `from_coordinates` for the parameters."""
        entries = from_matrix(f"tensor '{name}'", np.asarray(array))
        return cls._from_entries(name, entries, format, **packing)

    @classmethod
    def from_scipy(
        cls,
        name: str,
        matrix: Any,
        format: Format | str | None = None,
        **packing: Unpack[Packing],
    ) -> "Tensor":
        """Pack a SciPy sparse array or matrix; see `from_coordinates` for the parameters.

        A format of rank 1 takes an n x 1 or 1 x n matrix.  Entries that the matrix does not store
        are the fill.
        """
        what = f"tensor '{name}'"
        entries = from_matrix(what, matrix).squeeze(what, _rank(format))
        return cls._from_entries(name, entries, format, **packing)

    @classmethod
    def from_image(
        cls,
        name: str,
        image: TensorImage,
        format: Format | str,
        *,
        fill: Number = 0,
        value: ValueType = INT32,
        computed: bool = False,
    ) -> "Tensor":
        """Take over stored arrays as they are, entries that equal the fill included.

        Parameters
        ----------
        name : str
        image : TensorImage
        format : Format or str
        fill : number
        value : ValueType
        computed : bool
            They are a run's result, which may hold NaN and infinities.

        Raises
        ------
        TensorError
            The arrays do not fit the format, the value type or each other; names level and
            position.
        """
        shape = tuple(image.shape)
        form = _format(name, format, shape)
        if not len(image.segs) == len(image.crds) == form.rank:
            raise TensorError(f"tensor '{name}': arrays of {len(image.segs)} levels for {form}")
        segs = tuple(_ints(name, "seg", seg) for seg in image.segs)
        crds = tuple(_ints(name, "crd", crd) for crd in image.crds)
        vals = _ints(name, "vals", image.vals)
        assert vals is not None
        positions: list[int] = []
        for mode, crd in zip(form.order, crds, strict=True):
            above = positions[-1] if positions else 1
            positions.append(above * shape[mode] if crd is None else len(crd))
        levels = Levels(segs, crds, tuple(positions), vals)
        check_levels(name, form, shape, levels)
        check_words(name, vals, value)
        fill = _fill(name, fill, value, computed=computed)
        if not computed:
            check_finite(name, vals, value, fill)
        return cls(name, form, shape, levels, fill, value)

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        format: Format | str | None = None,
        *,
        name: str | None = None,
        shape: Sequence[int] | None = None,
        **packing: Unpack[Packing],
    ) -> "Tensor":
        """Read a ``.mtx``, ``.tns`` or ``.npz`` file.

        Parameters
        ----------
        path : path
        format : Format or str, optional
            Of rank 1, it reads an n x 1 or 1 x n matrix as a vector.
        name : str, optional
            Default: the file's stem.
        shape : sequence of int, optional
            For files that do not tell, and to enlarge the shape of those that do.
        **packing
            See `Packing`; the fill is the file's by default.

        Raises
        ------
        TensorError
            The file is unreadable or its contents do not fit.
        """
        from fuseflow.tensor.files import read_entries, stem

        entries = read_entries(path, _rank(format), shape)
        packing.setdefault("fill", entries.fill)
        return cls._from_entries(name or stem(path), entries, format, **packing)

    @classmethod
    def _from_entries(
        cls,
        name: str,
        entries: Entries,
        format: Format | str | None,
        *,
        fill: Number = 0,
        value: ValueType | str = INT32,
        round_values: bool = False,
        sum_duplicates: bool = False,
        keep_explicit: bool = False,
        computed: bool = False,
    ) -> "Tensor":
        form = _format(name, format, entries.shape)
        value = value_type(value) if isinstance(value, str) else value
        fill = _fill(name, fill, value)
        entries = replace(entries, values=plain(name, entries.values))
        entries = entries.ordered(name, form.order, sum_duplicates=sum_duplicates)
        words = to_words(
            entries.values,
            value,
            fill,
            lambda row: f"tensor '{name}', {entries.where(row)}",
            round_values=round_values,
            computed=computed,
        )
        entries = replace(entries, values=words, fill=fill)
        try:
            return _pack(name, form, entries, value, keep_explicit=keep_explicit)
        except TensorError as error:
            raise TensorError(f"tensor '{name}': {error}") from None

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
    def spread(self) -> tuple[float, ...]:
        """Mean square over squared mean of the fiber lengths of every level; 1 if equal."""
        return self.levels.spread

    @property
    def nnz(self) -> int:
        """How many entries differ from the fill."""
        return int(np.count_nonzero(self._stored()))

    def entries(self) -> tuple[Ints, Array]:
        """Return coordinates (one row each) and numbers of all entries that are not the fill.

        Numbers have the natural dtype: int8, int16, int32, bfloat16, float16 or float32.
        """
        stored = self._stored()
        coords = unpack(self.format, self.shape, self.levels)
        return coords[stored], decode(self.levels.vals[stored], self.value)

    def image(self) -> TensorImage:
        """Return the stored arrays for a tile."""
        return TensorImage(
            self.shape,
            tuple(None if seg is None else seg.tolist() for seg in self.levels.segs),
            tuple(None if crd is None else crd.tolist() for crd in self.levels.crds),
            self.levels.vals.tolist(),
        )

    def to_numpy(self) -> Array:
        """Return the dense array in the natural dtype (see `entries`), fill included."""
        coords = unpack(self.format, self.shape, self.levels)
        words = np.full(self.shape, self.value.encode(self.fill), np.int64)
        words[tuple(coords.T)] = self.levels.vals if self.rank else self.levels.vals[0]
        return decode(words, self.value)

    def to_scipy(self) -> Any:
        """Return a ``coo_array`` of a vector or matrix with fill 0.

        bf16 and fp16 become float32, for SciPy does not know them.

        Raises
        ------
        TensorError
            The tensor has another rank or fill.
        """
        if self.rank not in (1, 2) or self.fill:
            raise TensorError(
                f"tensor '{self.name}': rank {self.rank} and fill {self.fill} do not go into a "
                "SciPy sparse array; use to_numpy()"
            )
        coords, values = self.entries()
        if self.value.is_float:
            values = values.astype(np.float32)
        return sparse.coo_array((values, tuple(coords.T)), shape=self.shape)

    def convert(self, format: Format | str) -> "Tensor":
        """Return the same tensor stored in another format; entries equal to the fill go.

        Raises
        ------
        TensorError
            The format has another rank, or needs too much memory.
        """
        form = Format.parse(format, self.rank) if isinstance(format, str) else format
        if form == self.format:
            return self
        failed = (
            f"Unsupported format conversion of tensor '{self.name}' from {self.format} to {form}"
        )
        if form.rank != self.rank:
            raise TensorError(f"{failed}: rank {self.rank} is not rank {form.rank}")
        coords = unpack(self.format, self.shape, self.levels)
        entries = Entries(coords, self.levels.vals, self.shape, self.fill)
        entries = entries.ordered(self.name, form.order, sum_duplicates=False)
        try:
            return _pack(self.name, form, entries, self.value, keep_explicit=False)
        except TensorError as error:
            raise TensorError(f"{failed}: {error}") from None

    def rename(self, name: str) -> "Tensor":
        """Return the same tensor under another name."""
        return replace(self, name=name)

    def _stored(self) -> NDArray[np.bool_]:
        return differs(self.levels.vals, self.value, self.fill)


def _pack(
    name: str, form: Format, entries: Entries, value: ValueType, *, keep_explicit: bool
) -> Tensor:
    """Pack sorted entries whose values are words."""
    if LevelKind.COMPRESSED in form.levels and not keep_explicit:
        entries = entries.take(differs(entries.values, value, entries.fill))
    fill = value.encode(entries.fill)
    levels = pack(form, entries.shape, entries.coords, entries.values, fill)
    return Tensor(name, form, entries.shape, levels, entries.fill, value)


def _fill(name: str, fill: Number, value: ValueType, *, computed: bool = False) -> Number:
    """Return a fill in its canonical form; only a computed one may be NaN."""
    try:
        exact = number(fill if isinstance(fill, int) else float(fill))
        if value.holds(exact) and (computed or not math.isnan(exact)):
            return exact
    except OverflowError:
        pass
    raise TensorError(f"tensor '{name}': fill {fill} is no value of {value.name}")


def _ints(name: str, kind: str, words: Sequence[int] | None) -> Any:
    if words is None:
        return None
    array = np.asarray(words)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TensorError(f"tensor '{name}': {kind} must be a row of integers, got {array.dtype}")
    return array.astype(np.int64)


def _rank(form: Format | str | None) -> int | None:
    if isinstance(form, str):
        form = Format.parse(form)
    return None if form is None else form.rank


def _format(name: str, form: Format | str | None, shape: tuple[int, ...]) -> Format:
    check_shape(name, shape)
    rank = len(shape)
    if form is None:
        return Format.default(rank)
    parsed = Format.parse(form, rank) if isinstance(form, str) else form
    if parsed.rank != rank:
        raise TensorError(f"tensor '{name}': format {parsed} has rank {parsed.rank}, wanted {rank}")
    return parsed
