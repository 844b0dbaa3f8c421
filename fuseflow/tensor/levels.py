"""Packing coordinates into storage levels and back, without a loop over entries."""

from dataclasses import dataclass

import numpy as np

from fuseflow.samml.errors import TensorError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.tensor.words import Ints

LARGEST_STORED = 2**28
"""Most positions of a level with dense levels above it: 2 GB of words on the host."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Stored arrays in storage order.

    Attributes
    ----------
    segs, crds : tuple
        Per level: the arrays of a compressed level, `None` for a dense one.
    positions : tuple of int
        Stored positions of every level.
    vals : ndarray of int64
        One word per position of the last level.
    """

    segs: tuple[Ints | None, ...]
    crds: tuple[Ints | None, ...]
    positions: tuple[int, ...]
    vals: Ints

    @property
    def arrays(self) -> tuple[Ints, ...]:
        """All arrays: segments, coordinates, values."""
        return tuple(each for each in (*self.segs, *self.crds, self.vals) if each is not None)

    @property
    def spread(self) -> tuple[float, ...]:
        """Mean square over squared mean of the fiber lengths of every level; 1 if equal."""
        found: list[float] = []
        for seg in self.segs:
            lengths = np.zeros(0) if seg is None else np.diff(seg).astype(np.float64)
            total = float(lengths.sum())
            found.append(float((lengths**2).sum()) * len(lengths) / total**2 if total else 1.0)
        return tuple(found)

    @property
    def words(self) -> int:
        """Words of all arrays."""
        return sum(map(len, self.arrays))


def pack(form: Format, shape: tuple[int, ...], coords: Ints, words: Ints, fill: int) -> Levels:
    """Store words in a format.

    Parameters
    ----------
    form : Format
    shape : tuple of int
    coords : ndarray of int64
        One row per word, each once, sorted by storage order.
    words : ndarray of int64
        All are stored, whatever they are.
    fill : int
        The word of every other position.

    Raises
    ------
    TensorError
        The dense levels need too much memory.
    """
    at = np.zeros(len(coords), np.int64)
    count = 1
    segs: list[Ints | None] = []
    crds: list[Ints | None] = []
    positions: list[int] = []
    for level, (mode, kind) in enumerate(zip(form.order, form.levels, strict=True)):
        crd = coords[:, mode]
        if kind is LevelKind.DENSE:
            count *= shape[mode]
            if count > LARGEST_STORED:
                raise TensorError(
                    f"{count} positions at level {level} of {form} are above the supported "
                    f"{LARGEST_STORED}: use a compressed level (s)"
                )
            at = at * shape[mode] + crd
            seg = kept = None
        else:
            first = np.ones(len(at), np.bool_)
            first[1:] = (at[1:] != at[:-1]) | (crd[1:] != crd[:-1])
            fibers = np.bincount(at[first], minlength=count)
            seg = np.concatenate(([0], np.cumsum(fibers))).astype(np.int64)
            kept = crd[first]
            at, count = np.cumsum(first) - 1, len(kept)
        segs.append(seg)
        crds.append(kept)
        positions.append(count)
    vals = np.full(count, fill, np.int64)
    vals[at] = words
    return Levels(tuple(segs), tuple(crds), tuple(positions), vals)


def unpack(form: Format, shape: tuple[int, ...], levels: Levels) -> Ints:
    """Return the coordinates of every stored position, one row each, in storage order."""
    coords = np.zeros((1, form.rank), np.int64)
    for level, (mode, kind) in enumerate(zip(form.order, form.levels, strict=True)):
        if kind is LevelKind.DENSE:
            parents = len(coords)
            coords = np.repeat(coords, shape[mode], axis=0)
            coords[:, mode] = np.tile(np.arange(shape[mode]), parents)
        else:
            seg, crd = levels.segs[level], levels.crds[level]
            assert seg is not None
            assert crd is not None
            coords = np.repeat(coords, np.diff(seg), axis=0)
            coords[:, mode] = crd
    return coords
