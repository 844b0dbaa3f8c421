"""Elementary functions of float64 for the truth, and how far apart they are at near operands."""

from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fuseflow.samml.functions import GELU_ERROR, GELU_STEEP

Reals: TypeAlias = NDArray[np.float64]


def _gelu(x: Reals) -> Reals:
    return np.where(x == -np.inf, 0.0, x * import_module("scipy.special").ndtr(x))


def _sigmoid(x: Reals) -> Reals:
    return np.divide(1.0, 1.0 + np.exp(-x))


def _inverse_root(x: Reals) -> Reals:
    return np.divide(1.0, np.sqrt(x))


SMOOTH: dict[str, Callable[[Reals], Reals]] = {
    "exp": np.exp,
    "log": np.log,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "gelu": _gelu,
    "sqrt": np.sqrt,
    "rsqrt": _inverse_root,
    "reciprocal": np.reciprocal,
}
_LOWEST = {"gelu": -0.7517915246935645}
"""Where a function of these turns; the others rise, or fall, wherever they are defined."""


def spread(op: str, x: Reals, dx: Reals) -> Reals:
    """Return how far a function's unit may be off, before rounding, for operands so far off.

    Parameters
    ----------
    op : str
        One of `SMOOTH`.
    x, dx : ndarray of float64
        The operand, and the largest error of what the unit is given.

    Returns
    -------
    ndarray of float64
        Infinite where a pole, or the end of what the function is defined for, may be that near.
    """
    function = SMOOTH[op]
    ends = [x - dx, x + dx]
    if op in _LOWEST:
        ends.append(np.clip(_LOWEST[op], *ends))
    value = function(x)
    others = [function(end) for end in ends]
    error = np.max([np.where(each == value, 0.0, np.abs(each - value)) for each in others], axis=0)
    unbounded = np.isnan(error) | ((op == "reciprocal") & (np.abs(x) <= dx))
    error = np.where(dx == 0, 0.0, np.where(unbounded, np.inf, error))
    if op == "gelu":
        error += np.where(ends[0] < GELU_STEEP, GELU_ERROR * np.abs(ends[0]), 0.0)
    return error
