"""What arithmetic on words means, from NumPy's own floating point: a second, plain reading.

Everything is computed in float64.  That holds a product of two words exactly, and a sum closely
enough that the second rounding is innocent (53 >= 2 * 24 + 2 bits).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fuseflow.samml.functions import TABULATED
from fuseflow.samml.values import ValueType
from sim_models.functions import elementary

Words = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Result = tuple[Words, npt.NDArray[np.bool_]]
"""Words, and which of them raise the overflow flag."""

NANS = {"fp32": 0x7FC0_0000, "bf16": 0x7FC0, "fp16": 0x7E00}
SMALLEST = {"fp32": 2.0**-126, "bf16": 2.0**-126, "fp16": 2.0**-14}
LARGEST = {
    "fp32": float(np.finfo(np.float32).max),
    "bf16": (2 - 2.0**-7) * 2.0**127,
    "fp16": 65504.0,
}
DIGITS = {"fp32": 24, "bf16": 8, "fp16": 11}
"""Bits of a significand, the leading one included."""


def decode(words: Words, value: ValueType) -> Floats:
    """Read words; subnormals are zeros of their sign."""
    match value.name:
        case "fp32":
            numbers = words.astype(np.uint32).view(np.float32)
        case "bf16":
            numbers = (words.astype(np.uint32) << 16).view(np.float32)
        case _:
            numbers = words.astype(np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        exact = numbers.astype(np.float64)
    return np.where(np.abs(exact) < SMALLEST[value.name], np.copysign(0.0, exact), exact)


def encode(numbers: Floats, value: ValueType) -> Words:
    """Round to nearest even; what lies below the smallest normal number is a signed zero."""
    digits = DIGITS[value.name]
    with np.errstate(invalid="ignore", over="ignore"):
        significand, exponent = np.frexp(numbers)
        near = np.ldexp(np.rint(np.ldexp(significand, digits)), exponent - digits)
        near = np.where(np.isfinite(numbers), near, numbers)
        near = np.where(np.abs(near) > LARGEST[value.name], np.copysign(np.inf, near), near)
        near = np.where(np.abs(numbers) < SMALLEST[value.name], np.copysign(0.0, numbers), near)
        if value.name == "fp16":
            words = near.astype(np.float16).view(np.uint16).astype(np.int64)
        else:
            words = near.astype(np.float32).view(np.uint32).astype(np.int64)
    words = words >> 16 if value.name == "bf16" else words
    return np.where(np.isnan(numbers), NANS[value.name], words)


def wrap(exact: Words, value: ValueType) -> Result:
    """Reduce integers to a type's word."""
    half = 1 << (value.bits - 1)
    words = (exact + half) % (2 * half) - half
    return words, words != exact


def larger(a: Floats, b: Floats) -> Floats:
    """The larger of each pair; NaN where either is, and -0 < +0."""
    tie = np.where(np.signbit(a), b, a)
    chosen = np.where(a == b, tie, np.where(a > b, a, b))
    return np.where(np.isnan(a) | np.isnan(b), np.nan, chosen)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "narrow": lambda a: a,
    "widen": lambda a: a,
    "sqrt": np.sqrt,
    "reciprocal": lambda a: 1 / a,
}


def apply(op: str, value: ValueType, a: Words, b: Words, result: ValueType | None = None) -> Result:
    """Apply an operation of `hw`: a binary one, a function, ``narrow`` or ``widen``.

    Elementary functions are those of the golden model, whose distance from the exact ones is
    tested with it.

    Parameters
    ----------
    op : str
    value : ValueType
        Type of the operands.
    a, b : Words
    result : ValueType, optional
        Type of the result, if it is another.
    """
    result = result or value
    if not value.is_float:
        return wrap(_integer(op, a, b), result)
    left, right = decode(a, value), decode(b, value)
    with np.errstate(all="ignore"):
        exact = elementary(op, value, left) if op in TABULATED else _floating(op, left, right)
    words = encode(exact, result)
    # An infinity that is exact, such as 1 / 0, is no overflow.
    return words, np.isinf(decode(words, result)) & np.isfinite(exact)


def _integer(op: str, a: Words, b: Words) -> Words:
    match op:
        case "max":
            return np.maximum(a, b)
        case "min":
            return np.minimum(a, b)
        case _ if op in UNARY:
            return UNARY[op](a)
        case _:
            return BINARY[op](a, b)


def _floating(op: str, a: Floats, b: Floats) -> Floats:
    match op:
        case "max":
            return larger(a, b)
        case "min":
            return -larger(-a, -b)
        case _ if op in UNARY:
            return UNARY[op](a)
        case _:
            return BINARY[op](a, b)
