"""Judging results against the float64 truth, entry by entry (DESIGN section 4)."""

import math
from collections.abc import Collection, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fuseflow.compiler import Truth, evaluate
from fuseflow.compiler.expr import Result
from fuseflow.compiler.truth import DENSE_LIMIT
from fuseflow.samml.errors import VerificationError
from fuseflow.samml.values import Number, ValueType
from fuseflow.tensor import Tensor

Verdict: TypeAlias = tuple[float | None, float | None]
"""The largest distance to the truth and what rounding explains there; None where it is unknown."""

UNKNOWN: Verdict = None, None


def dense(tensor: Tensor) -> NDArray[np.generic] | None:
    """Return a tensor as an array, or None where that is too large to judge by."""
    return None if math.prod(tensor.shape) > DENSE_LIMIT else tensor.to_numpy()


def truth_of(
    result: Result,
    arrays: Mapping[str, NDArray[np.generic] | Truth | None],
    value: ValueType,
    fills: Mapping[str, Number],
) -> Truth | None:
    """Evaluate a result; None where it or an operand is too large.

    Parameters
    ----------
    result : Result
    arrays : mapping of str to ndarray, Truth or None
        The operands; what was evaluated before, with its bound.
    value : ValueType
    fills : mapping of str to number
        Of masks.
    """
    known = {name: array for name, array in arrays.items() if array is not None}
    return evaluate(result, known, value, fills) if len(known) == len(arrays) else None


def judge(result: Tensor, truth: Truth | None, *, overflow: bool, blame: str) -> Verdict:
    """Compare a result with the truth.

    Parameters
    ----------
    result : Tensor
    truth : Truth or None
    overflow : bool
        Whether anything overflowed on the way: then no distance is an error.
    blame : str
        What to do about one.

    Raises
    ------
    VerificationError
        An entry is further away than rounding explains.
    """
    if truth is None or math.prod(result.shape) > DENSE_LIMIT:
        return UNKNOWN
    found = result.to_numpy().astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(found - truth.value)
    if overflow and not result.value.is_float:
        word = float(1 << result.value.bits)
        error = np.minimum(error % word, word - error % word)
    # Where the truth is NaN, it met 0 * inf or inf - inf, which sparsity may leave out.
    same = (found == truth.value) | np.isnan(truth.value)
    # No number where there should be one is as far away as can be.
    error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
    if not error.size:
        return 0.0, 0.0
    with np.errstate(invalid="ignore"):
        excess = np.where(np.isinf(truth.bound), -np.inf, error - truth.bound)
    worst = np.unravel_index(np.argmax(excess), error.shape)
    if error[worst] > truth.bound[worst] and not overflow:
        raise VerificationError(
            f"result '{result.name}' is {error[worst]} away from the dense evaluation at "
            f"{tuple(map(int, worst))}, rounding explains {truth.bound[worst]}: {blame}"
        )
    largest = np.unravel_index(np.argmax(error), error.shape)
    return float(error[largest]), float(truth.bound[largest])


def worst_of(verdicts: Collection[Verdict]) -> Verdict:
    """Return the verdict with the largest distance; unknown if one is."""
    known = [(error, bound) for error, bound in verdicts if error is not None]
    if not known or len(known) < len(verdicts):
        return UNKNOWN
    return max(known, key=lambda verdict: verdict[0])
