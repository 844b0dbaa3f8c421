"""Operands at which elementary functions are tried."""

import numpy as np
from numpy.typing import ArrayLike

from fuseflow.samml.functions import SIZES, TABULATED, function
from fuseflow.samml.values import FP32, ValueType
from tests.sim_models.words import Words, edge_words


def of_numbers(x: ArrayLike) -> Words:
    """Return the words of fp32 numbers."""
    return np.asarray(x, np.float32).view(np.uint32).astype(np.int64)


def ends() -> Words:
    """Return words of fp32 of either sign at which some function or its table changes its ways."""
    exponents = (np.arange(256)[:, None] << 23) + np.arange(-3, 4)
    tables = [function(op, FP32) for op in TABULATED]
    steep = [np.log(FP32.smallest), np.log(FP32.largest), 2.0 ** tables[0].top, 17.3, 0.75, 4, 1]
    steep += [each.limit for each in tables if each.op in SIZES]
    turns = of_numbers(np.abs(steep))[:, None] + np.arange(-200, 201)
    per_unit = 1 << max(each.split for each in tables)
    segments = of_numbers(np.arange(1, 12 * per_unit) / per_unit)[:, None] + np.arange(-2, 3)
    powers = of_numbers(np.arange(1, 128 * 4) * np.log(2) / 4)[:, None] + np.arange(-2, 3)
    blocks = [each.ravel() for each in (exponents, turns, segments, powers)]
    words = np.unique(np.concatenate([*blocks, edge_words(FP32)]) & ~(1 << 31))
    return np.concatenate([words, words | 1 << 31])


def operands(value: ValueType, points: int, rng: np.random.Generator) -> Words:
    """Return every word of 16 bits; of fp32, `ends`, and so many others.

    Of the others, one in four is any word, the rest lies where functions are not at a limit.
    """
    if value.bits == 16:
        return np.arange(1 << 16)
    some = points // 4
    others = [rng.uniform(-12, 12, some), rng.uniform(0.4, 2.5, some), rng.uniform(-95, 95, some)]
    anything = rng.integers(0, 1 << 32, points - 3 * some)
    return np.concatenate([ends(), anything, *map(of_numbers, others)])
