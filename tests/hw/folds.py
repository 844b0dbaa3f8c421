"""Folds of words in the order that DESIGN section 6 tells, on `tests.hw.reference`."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from fuseflow.samml.values import ValueType
from tests.hw.reference import Words, apply

LANES = 8
"""Partial sums of a floating-point reduction."""


def one(op: str, value: ValueType, a: int, b: int = 0, result: ValueType | None = None) -> int:
    """Apply an operation to single words."""
    words, _ = apply(op, value, _array(a), _array(b), result)
    return int(words[0])


def _array(word: int) -> Words:
    return np.array([word], np.int64)


def lanes(words: Sequence[int], value: ValueType) -> int:
    """Sum words of a wide type: eight interleaved lanes, then rounds of neighbours."""
    nothing = 1 << (value.bits - 1)  # -0
    if not words:
        return 0
    sums: list[int] = []
    for n, word in enumerate(words):
        sums.append(one("add", value, sums[n - LANES] if n >= LANES else nothing, word))
    left = sums[-LANES:]
    for _ in range(3):
        left = [
            one("add", value, *(pair if len(pair) == 2 else (*pair, nothing)))
            for pair in (left[k : k + 2] for k in range(0, len(left), 2))
        ]
    (total,) = left
    return total


def running(op: str, words: Sequence[int], value: ValueType) -> int:
    """Fold words one after the other, from what changes none of them."""
    if op == "sum":
        total, op = (1 << (value.bits - 1) if value.is_float and words else 0), "add"
    else:
        total = value.encode(value.identity(op))
    for word in words:
        total = one(op, value, total, word)
    return total


def reduced(op: str, words: Sequence[int], value: ValueType, wide: str = "") -> int:
    """Return what `reduce` makes of a fiber of payloads.

    Parameters
    ----------
    op : str
    words : sequence of int
    value : ValueType
    wide : str
        ``in`` where the payloads are of the wide type, ``out`` where the result is, or both.
    """
    return _folded(op, words, value, wide, lanes if value.is_float else partial(running, op))


def accumulated(op: str, words: Sequence[int], value: ValueType, wide: str = "") -> int:
    """Return what `accumulate` makes of the payloads at one coordinate; see `reduced`."""
    return _folded(op, words, value, wide, partial(running, op))


def _folded(
    op: str,
    words: Sequence[int],
    value: ValueType,
    wide: str,
    total: Callable[[Sequence[int], ValueType], int],
) -> int:
    if op != "sum":
        return running(op, words, value)
    if "in" not in wide:
        words = [one("widen", value, word, 0, value.wide) for word in words]
    exact = total(words, value.wide)
    return exact if "out" in wide else one("narrow", value.wide, exact, 0, value)
