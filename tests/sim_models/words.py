"""Words of every value type: edge and random ones, and their arithmetic in NumPy.

Floating point is the processor's (float32), NumPy's (float16) and ml_dtypes' (bfloat16); only
what the tile does differently is stated here: subnormals are zeros, there is one NaN, and a
result that is smaller than every normal number before rounding is zero.
"""

import random
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from fuseflow.samml.values import FP32, VALUE_TYPES, ValueType

Words = npt.NDArray[np.int64]
NATIVE: dict[str, Any] = {"fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16}
PATTERN: dict[int, Any] = {16: np.uint16, 32: np.uint32}
TYPES = list(VALUE_TYPES.values())
FLOATS = [value for value in TYPES if value.is_float]
FOLDS = [
    ("sum", "val", False),
    ("sum", "sum", False),
    ("sum", "val", True),
    ("sum", "sum", True),
    ("max", "val", False),
    ("min", "val", False),
]
"""Operation, kind of what is folded, and whether the result is wide."""


# --- words -----------------------------------------------------------------------------


def edge_words(value: ValueType) -> list[int]:
    """Return the words at which arithmetic changes its ways."""
    if not value.is_float:
        root = 1 << value.bits // 2
        return [0, 1, -1, 2, -2, root, root - 1, -root, int(value.low), int(value.low) + 1,
                int(value.high), int(value.high) - 1]  # fmt: skip
    assert value.fraction is not None
    ulp = 2.0**-value.fraction
    top = int(value.largest).bit_length() - 1
    numbers = [
        0.0, value.smallest, value.smallest * (1 + ulp), value.smallest * 2,
        1.0, 1 - ulp / 2, 1 + ulp, 1.5, 2.0**13, 2.0**-13,
        # Halves of the last places of 1 and of the largest number, for ties.
        ulp / 2, ulp / 2 * (1 + ulp), 1.5 * ulp, 2.0 ** (top - value.fraction - 1),
        float(value.largest), float(value.largest) / 2, np.inf,
    ]  # fmt: skip
    magnitudes = [value.encode(number) for number in numbers]
    largest_subnormal = (1 << value.fraction) - 1
    infinity = value.encode(np.inf)
    magnitudes += [1, largest_subnormal, value.nan, infinity + 1, (1 << value.bits - 1) - 1]
    return [word | sign << value.bits - 1 for word in magnitudes for sign in (0, 1)]


def random_words(value: ValueType, count: int, seed: int) -> Words:
    """Return words of any pattern, and as many of full significand around 1."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << value.bits, count)
    if value.fraction is None:
        return signed(value, words)
    spread = min(30, value.bias - 2)
    exponents = rng.integers(value.bias - spread, value.bias + spread + 1, count)
    mask = (1 << value.fraction) - 1 | 1 << value.bits - 1
    return np.where(rng.random(count) < 0.5, words & mask | exponents << value.fraction, words)


def random_word(rng: random.Random, value: ValueType) -> int:
    """Return an edge word, one of any pattern, or a number near 1 with a short significand."""
    some = rng.random()
    if some < 0.3:
        return rng.choice(edge_words(value))
    if some < 0.6:
        return value.encode(rng.randint(-9, 9))
    word = rng.getrandbits(value.bits)
    return word if value.is_float else value.wrap(word)


def random_pairs(value: ValueType, count: int, seed: int) -> tuple[Words, Words]:
    """Return pairs of random words; of a quarter one is the other's negative but for some bits."""
    a, b = random_words(value, count, seed), random_words(value, count, seed + 1)
    rng = np.random.default_rng(seed)
    near = a ^ rng.integers(0, 4, count)
    near = near ^ 1 << value.bits - 1 if value.is_float else -near
    return a, wrapped(value, np.where(rng.random(count) < 0.25, near, b))


def edge_pairs(value: ValueType) -> tuple[Words, Words]:
    """Return every pair of edge words."""
    a, b = np.meshgrid(np.array(edge_words(value), np.int64), edge_words(value))
    return a.ravel(), b.ravel().astype(np.int64)


def fiber(words: Words) -> list[tuple[int]]:
    """Return words as an innermost fiber of payloads."""
    return [(word,) for word in words.tolist()]


# --- their arithmetic ------------------------------------------------------------------


def signed(value: ValueType, raw: Words) -> Words:
    """Return the words of raw bits."""
    top = np.int64(1) << (value.bits - 1)
    return ((raw & (2 * top - 1)) ^ top) - top


def wrapped(value: ValueType, words: Words) -> Words:
    """Return integers reduced to a type; the patterns of floating point as they are."""
    return words if value.is_float else signed(value, words)


def numbers(value: ValueType, words: Words) -> Any:
    """Return an array of the native type, without subnormals."""
    assert value.fraction is not None
    sign = words & 1 << value.bits - 1
    zero = (words ^ sign) >> value.fraction == 0
    return np.where(zero, sign, words).astype(PATTERN[value.bits]).view(NATIVE[value.name])


def patterns(value: ValueType, native: Any, exact: Any) -> tuple[Words, bool]:
    """Return the words of results, and whether one overflowed.

    Parameters
    ----------
    value : ValueType
    native : ndarray
        Results of the native type.
    exact : ndarray of float64
        The same before rounding; overflow is what makes a finite one infinite.
    """
    words = native.view(PATTERN[value.bits]).astype(np.int64)
    sign = words & 1 << value.bits - 1
    words = np.where(np.abs(exact) < value.smallest, sign, words)
    words = np.where(np.isnan(exact), value.nan, words)
    return words, bool(np.any(np.isinf(native.astype(np.float64)) & np.isfinite(exact)))


def wrap(value: ValueType, exact: Words) -> tuple[Words, bool]:
    """Return integers reduced to a type, and whether one did not fit."""
    words = signed(value, exact)
    return words, bool(np.any(words != exact))


def apply(op: str, value: ValueType, a: Words, b: Words) -> tuple[Words, bool]:
    """Return ``a op b`` of one type and whether anything overflowed."""
    functions: dict[str, Any] = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    }  # fmt: skip
    x, y = (numbers(value, each) if value.is_float else each for each in (a, b))
    with np.errstate(all="ignore"):
        native = functions[op](x, y) if op in functions else _chosen(op, x, y)
        if not value.is_float:
            return wrap(value, native)
        x, y = x.astype(np.float64), y.astype(np.float64)
        exact = functions[op](x, y) if op in functions else native.astype(np.float64)
        return patterns(value, native, exact)


def _chosen(op: str, x: Any, y: Any) -> Any:
    """Choose by value, zeros by sign; NaN is not less than anything."""
    less = (x < y) | ((x == y) & np.signbit(x)) | np.isnan(y)
    more = (x > y) | ((x == y) & ~np.signbit(x)) | np.isnan(y)
    chosen = np.where(less if op == "max" else more, y, x)
    return np.where(np.isnan(x), x, chosen)


def convert(of: ValueType, to: ValueType, words: Words) -> tuple[Words, bool]:
    """Return words of one type as those of another, and whether one did not fit."""
    if not of.is_float:
        return wrap(to, words)
    exact = numbers(of, words)
    with np.errstate(all="ignore"):
        return patterns(to, exact.astype(NATIVE[to.name]), exact.astype(np.float64))


def folded(
    op: str, value: ValueType, kind: str, words: Words, *, wide: bool = False
) -> tuple[int, bool]:
    """Return the fold of a fiber, and whether anything overflowed.

    Parameters
    ----------
    op : {'sum', 'max', 'min'}
    value : ValueType
    kind : {'val', 'sum'}
        What the words are.
    words : ndarray
        In their order.
    wide : bool
        Whether a sum stays in the wide type.
    """
    if op != "sum":
        result = np.full(1, value.encode(value.identity(op)), np.int64)
        for k in range(len(words)):
            result, _ = apply(op, value, result, words[k : k + 1])
        return int(result[0]), False
    inside = value.wide
    words, overflow = (words, False) if kind == "sum" else convert(value, inside, words)
    if not value.is_float:
        running = np.cumsum(words)
        total, overflow = wrap(inside, running)
        last = total[-1:] if len(words) else np.zeros(1, np.int64)
    elif len(words):
        last, overflow = _summed_in_lanes(words)
    else:
        last = np.zeros(1, np.int64)
    (narrow,), lost = convert(inside, inside if wide else value, last)
    return int(narrow), overflow or lost


def _summed_in_lanes(words: Words) -> tuple[Words, bool]:
    """Sum in the order of the hardware: lanes, then a tree of pairs; what is absent is -0."""
    lanes, overflows = 8, []
    absent = FP32.encode(-0.0)
    n = len(words)
    padded = np.full((n + lanes - 1) // lanes * lanes, absent, np.int64)
    padded[:n] = words
    sums = np.full(lanes, absent, np.int64)
    for group in padded.reshape(-1, lanes):
        sums, overflow = apply("add", FP32, sums, group)
        overflows.append(overflow)
    if n > lanes:
        sums = np.roll(sums, -(n % lanes))
    while len(sums) > 1:
        sums, overflow = apply("add", FP32, sums[0::2], sums[1::2])
        overflows.append(overflow)
    return sums, any(overflows)
