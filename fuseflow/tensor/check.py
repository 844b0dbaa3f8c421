"""Checks of stored arrays that come from outside."""

import numpy as np
from numpy.typing import NDArray

from fuseflow.samml.errors import TensorError
from fuseflow.samml.formats import LARGEST_RANK, Format, LevelKind
from fuseflow.samml.graph import LARGEST_SIZE
from fuseflow.samml.values import Number, ValueType
from fuseflow.tensor.levels import Levels
from fuseflow.tensor.words import Ints, decode


def check_shape(name: str, shape: tuple[int, ...]) -> None:
    """Check that a tensor of this shape is supported.

    Raises
    ------
    TensorError
        Its rank is too high, or a size negative or too large.
    """
    if len(shape) > LARGEST_RANK:
        raise TensorError(
            f"tensor '{name}': rank {len(shape)} is above the supported {LARGEST_RANK}"
        )
    for mode, size in enumerate(shape):
        if not 0 <= size <= LARGEST_SIZE:
            raise TensorError(
                f"tensor '{name}': size {size} of mode {mode} is outside 0..{LARGEST_SIZE}"
            )


def check_levels(name: str, form: Format, shape: tuple[int, ...], levels: Levels) -> None:
    """Check that stored arrays fit their format, the shape and each other.

    Raises
    ------
    TensorError
        Names the level, the position and what is wrong with it.
    """
    count = 1
    for level, (mode, kind) in enumerate(zip(form.order, form.levels, strict=True)):
        seg, crd = levels.segs[level], levels.crds[level]
        where = f"tensor '{name}', level {level}"
        if kind is LevelKind.DENSE:
            if seg is not None or crd is not None:
                raise TensorError(f"{where}: dense, but has a seg or crd array")
            count *= shape[mode]
            continue
        if seg is None or crd is None:
            raise TensorError(f"{where}: compressed, but has no seg and crd arrays")
        check_compressed(where, seg, crd, count, shape[mode], ascending=True)
        count = len(crd)
    if len(levels.vals) != count:
        raise TensorError(f"tensor '{name}': {len(levels.vals)} values for {count} positions")


def check_compressed(
    where: str, seg: Ints, crd: Ints, parents: int, size: int, *, ascending: bool
) -> None:
    """Check the arrays of one compressed level.

    Parameters
    ----------
    where : str
        Begins the message.
    seg, crd : ndarray of int64
    parents : int
        Positions of the level above.
    size : int
        Of the mode that the level stores.
    ascending : bool
        Whether the coordinates of a fiber must ascend.

    Raises
    ------
    TensorError
        Names the position.
    """
    if len(seg) != parents + 1:
        raise TensorError(f"{where}: seg has {len(seg)} words, wanted {parents + 1}")
    if seg[0] != 0:
        raise TensorError(f"{where}, position 0: seg starts with {seg[0]}, wanted 0")
    falls = _first(np.diff(seg) < 0)
    if falls is not None:
        raise TensorError(
            f"{where}, position {falls + 1}: seg falls from {seg[falls]} to {seg[falls + 1]}"
        )
    if seg[-1] != len(crd):
        raise TensorError(
            f"{where}, position {parents}: seg ends with {seg[-1]}, but there are {len(crd)} "
            "coordinates"
        )
    outside = _first((crd < 0) | (crd >= size))
    if outside is not None:
        raise TensorError(
            f"{where}, position {outside}: coordinate {crd[outside]} is outside size {size}"
        )
    starts = np.zeros(len(crd) + 1, np.bool_)
    starts[seg] = True
    late = _first((np.diff(crd) <= 0) & ~starts[1:-1]) if ascending else None
    if late is not None:
        before, after = crd[late], crd[late + 1]
        problem = "occurs twice" if before == after else f"follows {before}"
        raise TensorError(
            f"{where}, position {late + 1}: coordinate {after} {problem} in its fiber, where they "
            "must ascend"
        )


def check_words(name: str, words: Ints, value: ValueType) -> None:
    """Check that words are words of a value type.

    Raises
    ------
    TensorError
        Names the position.
    """
    low, high = (0, (1 << value.bits) - 1) if value.is_float else (value.low, value.high)
    bad = _first((words < low) | (words > high))
    if bad is not None:
        raise TensorError(
            f"tensor '{name}', position {bad} of the values: {words[bad]} is no word of "
            f"{value.name}"
        )


def check_finite(name: str, words: Ints, value: ValueType, fill: Number) -> None:
    """Check that words are numbers that an operand may hold: finite, or the fill.

    Raises
    ------
    TensorError
        Names the position.
    """
    numbers = decode(words, value).astype(np.float64)
    bad = _first(~np.isfinite(numbers) & (numbers != float(fill)))
    if bad is not None:
        raise TensorError(
            f"tensor '{name}', position {bad} of the values: value {numbers[bad].item()!r} is "
            f"neither finite nor the fill {fill}"
        )


def _first(bad: NDArray[np.bool_]) -> int | None:
    return int(bad.argmax()) if bool(bad.any()) else None
