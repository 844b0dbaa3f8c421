"""Numbers from outside to words of a value type and back, whole arrays at a time."""

from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

from fuseflow.samml.errors import TensorError
from fuseflow.samml.values import Number, ValueType

Ints: TypeAlias = NDArray[np.int64]
Array: TypeAlias = NDArray[Any]

_DTYPES: dict[str, DTypeLike] = {
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
    "fp32": np.float32,
}


def plain(name: str, numbers: Array) -> Array:
    """Return numbers of any real dtype as int64, uint64 or float64.

    Raises
    ------
    TensorError
        They are no real numbers; `name` is the tensor's.
    """
    dtype = numbers.dtype
    if dtype == np.uint64:
        return numbers
    if dtype.kind in "biu":
        return numbers.astype(np.int64)
    # NumPy does not know the narrow types of ml_dtypes as floats, but casts them.
    if dtype.kind == "f" or np.can_cast(dtype, np.float64):
        with np.errstate(over="ignore"):
            return numbers.astype(np.float64)
    raise TensorError(f"tensor '{name}': values of type {dtype} are not real numbers")


def to_words(
    numbers: Array,
    value: ValueType,
    fill: Number,
    where: Callable[[int], str],
    *,
    round_values: bool = False,
    computed: bool = False,
) -> Ints:
    """Return the words of plain numbers.

    Parameters
    ----------
    numbers : ndarray of int64, uint64 or float64
        One dimension.
    value : ValueType
    fill : number
        The only value that may be infinite.
    where : function
        Names the place of the entry of that number, for messages.
    round_values : bool
        For an integer type: round fractions to nearest even instead of refusing them.
    computed : bool
        Take NaN and infinities of a floating-point type, too.

    Raises
    ------
    TensorError
        A number is NaN or infinite, out of range, or a fraction for an integer type.
    """

    def refuse(bad: NDArray[np.bool_], problem: str) -> None:
        if bool(bad.any()):
            row = int(bad.argmax())
            raise TensorError(f"{where(row)}: value {numbers[row].item()!r} {problem}")

    finite = np.isfinite(numbers)
    if not (computed and value.is_float):
        refuse(~finite & (numbers != fill), f"is neither finite nor the fill {fill}")
    beyond = f"does not fit {value.name}; scale the data, or use a wider type (--type)"
    if value.is_float:
        words = encode(numbers, value)
        refuse(finite & np.isinf(decode(words, value)), beyond)
        return np.where(np.isnan(numbers), value.encode(np.nan), words) if computed else words
    whole = np.rint(numbers) if numbers.dtype.kind == "f" else numbers
    if not round_values:
        refuse(
            whole != numbers,
            f"is not an integer as {value.name} needs; pass round_values=True (--round), scale "
            "the data, or use value type fp32 (--type fp32)",
        )
    refuse((whole < value.low) | (whole > value.high), beyond)
    return whole.astype(np.int64)


def encode(numbers: Array, value: ValueType) -> Ints:
    """Return the words of plain numbers in a floating-point type, as `ValueType.encode` does."""
    fraction = value.fraction
    assert fraction is not None
    wide = _float64(numbers)
    bits = wide.view(np.int64)
    magnitude = bits & (2**63 - 1)
    dropped = 52 - fraction
    odd = (magnitude >> dropped) & 1
    rounded = (magnitude + odd + ((1 << (dropped - 1)) - 1)) >> dropped
    words = rounded - ((1023 - value.bias) << fraction)
    words = np.minimum(words, value.encode(np.inf))
    words = np.where(np.abs(wide) < value.smallest, 0, words)
    words |= np.where(bits < 0, 1 << (value.bits - 1), 0)
    return np.where(np.isnan(wide), value.nan, words)


def decode(words: Ints, value: ValueType) -> Array:
    """Return the numbers of words in the natural dtype; a subnormal reads as zero."""
    dtype = _DTYPES[value.name]
    if value.fraction is None:
        return words.astype(dtype)
    normal = (words >> value.fraction) & ((1 << value.exponent) - 1) != 0
    flushed = np.where(normal, words, words & (1 << (value.bits - 1)))
    return flushed.astype(f"u{value.bits // 8}").view(dtype)


def differs(words: Ints, value: ValueType, fill: Number) -> NDArray[np.bool_]:
    """Tell which words are not the fill as numbers: -0 equals 0, NaN equals nothing."""
    return decode(words, value).astype(np.float64) != float(fill)


def _float64(numbers: Array) -> NDArray[np.float64]:
    """Return plain numbers as float64 that round to a narrower type as the numbers do.

    An integer of more than 53 bits keeps its upper bits, the last of which is set where a lower
    one was (rounding to odd), so that rounding once more is exact.
    """
    if numbers.dtype.kind == "f":
        return numbers
    size = np.abs(numbers).astype(np.uint64)
    sticky = size >> 11 << 11 | ((size & 2047) != 0).astype(np.uint64) << 11
    exact = np.where(size < 2**53, size, sticky).astype(np.float64)
    return np.where(numbers < 0, -exact, exact)
