"""The stored arrays of one tensor: what a tile's memories hold, whoever fills them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class TensorImage:
    """Arrays of one stored tensor, in storage order.

    Attributes
    ----------
    shape : tuple of int
        Run-time size of every mode, in mode order.
    segs, crds : tuple
        Per level: the integer arrays of a compressed level, `None` for a dense one.
        ``segs[l]`` has one word more than the level above has positions.
    vals : sequence of int
        One word (`fuseflow.samml.values`) per position of the last level; one for a scalar.
    """

    shape: tuple[int, ...]
    segs: tuple[Sequence[int] | None, ...]
    crds: tuple[Sequence[int] | None, ...]
    vals: Sequence[int]
