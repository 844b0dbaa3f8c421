"""The truth that results are judged against: dense evaluation in float64 (DESIGN section 4)."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fuseflow.compiler.expr import Product, Statement, products
from fuseflow.samml.errors import TensorError


def evaluate(
    statement: Statement, arrays: Mapping[str, NDArray[np.generic]]
) -> NDArray[np.float64]:
    """Evaluate a statement on dense arrays with fills in place.

    Parameters
    ----------
    statement : Statement
    arrays : mapping of str to ndarray
        One per operand, in mode order.

    Returns
    -------
    ndarray of float64
        In the mode order of the target.

    Raises
    ------
    TensorError
        An operand is missing, has another rank, or two disagree about an index's size.
    """
    sizes = _sizes(statement, arrays)
    shape = tuple(sizes[index] for index in statement.target.indices)
    total = np.zeros(shape)
    for term in products(statement.value):
        total += term.sign * _product(term, statement.target.indices, arrays)
    return total


def _sizes(statement: Statement, arrays: Mapping[str, NDArray[np.generic]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for access in statement.operands:
        array = arrays.get(access.tensor)
        if array is None:
            raise TensorError(f"operand '{access.tensor}' is missing")
        if array.ndim != len(access.indices):
            raise TensorError(f"operand '{access}' has rank {array.ndim}")
        for index, size in zip(access.indices, array.shape, strict=True):
            if sizes.setdefault(index, size) != size:
                raise TensorError(
                    f"index {index} has size {size} in '{access}' but {sizes[index]} elsewhere"
                )
    return sizes


def _product(
    term: Product, target: tuple[str, ...], arrays: Mapping[str, NDArray[np.generic]]
) -> NDArray[np.float64]:
    """Sum one product over its own reduction variables, ready to broadcast to the target."""
    letter = {index: chr(ord("a") + k) for k, index in enumerate(term.indices)}
    inputs = ",".join("".join(letter[index] for index in access.indices) for access in term.factors)
    kept = [index for index in target if index in letter]
    operands = [np.asarray(arrays[access.tensor], np.float64) for access in term.factors]
    output = "".join(letter[index] for index in kept)
    value = np.asarray(np.einsum(f"{inputs}->{output}", *operands, optimize=True))
    return np.expand_dims(value, tuple(k for k, index in enumerate(target) if index not in letter))
