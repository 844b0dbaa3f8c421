"""Packing coordinates into storage levels and back, without a loop over entries."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fuseflow.samml.errors import TensorError
from fuseflow.samml.formats import Format, LevelKind

Ints: TypeAlias = NDArray[np.int64]


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


def pack(form: Format, shape: tuple[int, ...], coords: Ints, values: Ints, fill: int) -> Levels:
    """Store coordinates, one row each, in a format; entries equal to the fill are dropped.

    Raises
    ------
    TensorError
        A coordinate is out of range or occurs twice.
    """
    _check_range(shape, coords)
    coords, values = _sort(form, shape, coords, values)
    stored = values != fill
    coords, values = coords[stored], values[stored]
    at = np.zeros(len(coords), np.int64)
    count = 1
    segs: list[Ints | None] = []
    crds: list[Ints | None] = []
    positions: list[int] = []
    for mode, kind in zip(form.order, form.levels, strict=True):
        crd = coords[:, mode]
        if kind is LevelKind.DENSE:
            at, count = at * shape[mode] + crd, count * shape[mode]
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
    vals[at] = values
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


def check_levels(name: str, form: Format, shape: tuple[int, ...], levels: Levels) -> None:
    """Check stored arrays that come from outside.

    Raises
    ------
    TensorError
        Names the level and what is wrong with it.
    """
    count = 1
    for level, (mode, kind) in enumerate(zip(form.order, form.levels, strict=True)):
        seg, crd = levels.segs[level], levels.crds[level]
        where = f"tensor '{name}', level {level}"
        if kind is LevelKind.DENSE:
            count *= shape[mode]
            continue
        if seg is None or crd is None:
            raise TensorError(f"{where}: compressed, but has no seg and crd arrays")
        if len(seg) != count + 1:
            raise TensorError(f"{where}: seg has {len(seg)} words, wanted {count + 1}")
        if seg[0] != 0 or seg[-1] != len(crd) or bool((np.diff(seg) < 0).any()):
            raise TensorError(f"{where}: seg does not ascend from 0 to the {len(crd)} coordinates")
        if bool(((crd < 0) | (crd >= shape[mode])).any()):
            raise TensorError(f"{where}: a coordinate is outside 0..{shape[mode] - 1}")
        starts = np.zeros(len(crd) + 1, np.bool_)
        starts[seg] = True
        if bool(((np.diff(crd) <= 0) & ~starts[1:-1]).any()):
            raise TensorError(f"{where}: the coordinates of a fiber do not ascend")
        count = len(crd)
    if len(levels.vals) != count:
        raise TensorError(f"tensor '{name}': {len(levels.vals)} values for {count} positions")


def _check_range(shape: tuple[int, ...], coords: Ints) -> None:
    outside = (coords < 0) | (coords >= np.asarray(shape, np.int64).reshape(1, -1))
    if bool(outside.any()):
        row = int(np.flatnonzero(outside.any(axis=1))[0])
        raise TensorError(f"coordinate {tuple(coords[row].tolist())} is outside shape {shape}")


def _sort(form: Format, shape: tuple[int, ...], coords: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Sort lexicographically by storage order; refuse a coordinate that occurs twice."""
    if form.rank == 0:
        if len(values) > 1:
            raise TensorError(f"a scalar has one value, got {len(values)}")
        return coords, values
    ranked = coords[:, form.order]
    before = np.lexsort(ranked.T[::-1])
    ranked = ranked[before]
    same = (ranked[1:] == ranked[:-1]).all(axis=1)
    if bool(same.any()):
        row = coords[before[int(np.flatnonzero(same)[0])]]
        raise TensorError(f"coordinate {tuple(row.tolist())} occurs twice: add duplicates up first")
    return coords[before], values[before]
