"""Masks of block-sparse attention (Zaheer et al., Big Bird: Transformers for Longer Sequences)."""

import numpy as np
from numpy.typing import NDArray

from fuseflow.samml.errors import TensorError

GLOBAL = 2
"""Rows and columns of blocks that are full."""

WINDOW = 1
"""Neighbours of the diagonal on each side."""

RANDOM = 2
"""Random blocks of a row, which may coincide with others."""

SEED = 9
"""With 64 blocks a row, this one keeps 549 of 4,096, as the field's standard mask does."""


def bigbird_mask(sequence: int, block: int, seed: int = SEED) -> NDArray[np.bool_]:
    """Return which scores a mask keeps: a square of booleans.

    Parameters
    ----------
    sequence : int
        Rows and columns.
    block : int
        Rows and columns of a block.
    seed : int
        Of the random blocks.

    Raises
    ------
    TensorError
        Blocks do not divide the sequence.
    """
    count, rest = divmod(sequence, block)
    if rest:
        raise TensorError(
            f"a sequence of {sequence} has no whole number of blocks of {block}: choose a multiple"
        )
    rng = np.random.default_rng(seed)
    rows, columns = np.indices((count, count))
    kept = (np.minimum(rows, columns) < GLOBAL) | (np.abs(rows - columns) <= WINDOW)
    for row in kept:
        row[rng.choice(count, min(RANDOM, count), replace=False)] = True
    return kept.repeat(block, 0).repeat(block, 1)
