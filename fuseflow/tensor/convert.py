"""Bringing numbers from outside into a value type."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuseflow.samml.errors import TensorError
from fuseflow.samml.values import ValueType
from fuseflow.tensor.levels import Ints


def to_values(name: str, numbers: NDArray[Any], value: ValueType, *, round_values: bool) -> Ints:
    """Convert an array to integers of a value type.

    Parameters
    ----------
    name : str
        The tensor's, for messages.
    numbers : ndarray
        Boolean, integer or real.
    value : ValueType
    round_values : bool
        Round fractions to the nearest integer, ties to even, instead of refusing them.

    Raises
    ------
    TensorError
        A number is complex, not finite, fractional, or out of range.
    """
    numbers = np.asarray(numbers)
    if numbers.dtype.kind == "f":
        if not bool(np.isfinite(numbers).all()):
            raise TensorError(f"tensor '{name}': a value is not finite")
        whole = np.rint(numbers)
        fractional = whole != numbers
        if not round_values and bool(fractional.any()):
            raise TensorError(
                f"tensor '{name}': value {numbers[fractional].flat[0]!s} is not an integer as "
                f"{value.name} needs; pass round_values=True (--round) or scale the data"
            )
        numbers = whole
    elif numbers.dtype.kind not in "biu":
        raise TensorError(f"tensor '{name}': values of type {numbers.dtype} are not real numbers")
    outside = (numbers < value.low) | (numbers > value.high)
    if bool(outside.any()):
        raise TensorError(
            f"tensor '{name}': value {numbers[outside].flat[0]!s} does not fit {value.name}"
        )
    return numbers.astype(np.int64)
