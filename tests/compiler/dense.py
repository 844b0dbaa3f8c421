"""A program's meaning, statement by statement on NumPy arrays: no part of the compiler."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fuseflow.compiler.expr import Access, Binary, Constant, Expr, Fold, Statement, Unary, Where
from fuseflow.compiler.program import Program

Floats = NDArray[np.float64]
UNARY: dict[str, Any] = {
    "neg": np.negative,
    "abs": np.abs,
    "relu": lambda x: np.maximum(x, 0),
    "exp": np.exp,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "reciprocal": lambda x: 1 / x,
    "log": np.log,
    "sigmoid": special.expit,
    "tanh": np.tanh,
    "gelu": lambda x: x * special.ndtr(x),
}
BINARY: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
}
FOLDS: dict[str, Any] = {"sum": np.sum, "max": np.max, "min": np.min}


def run(program: Program, inputs: Mapping[str, Any]) -> dict[str, Floats]:
    """Return every tensor; a mask stores what is not 0."""
    tensors = {name: np.asarray(array, float) for name, array in inputs.items()}
    assert tensors.keys() >= program.inputs.keys()
    for statement in program.statements:
        tensors[statement.target.tensor] = _run(statement, tensors)
    return tensors


def _run(statement: Statement, tensors: Mapping[str, Floats]) -> Floats:
    """An axis of every value is an index variable of the statement, of size 1 where it lacks."""
    axes = statement.indices
    size = {
        index: length
        for access in statement.operands
        for index, length in zip(access.indices, tensors[access.tensor].shape, strict=True)
    }

    def fold(op: str, value: Floats, indices: set[str]) -> Floats:
        places = tuple(axes.index(index) for index in sorted(indices))
        return FOLDS[op](value, axis=places, keepdims=True)

    def evaluate(expr: Expr, kept: set[str]) -> tuple[Floats, set[str]]:
        match expr:
            case Access(name, indices):
                order = sorted(indices, key=axes.index)
                array = tensors[name].transpose([indices.index(index) for index in order])
                shape = [size[index] if index in indices else 1 for index in axes]
                return array.reshape(shape), set(indices)
            case Constant(number):
                return np.full([1] * len(axes), float(number)), set()
            case Fold(op, indices, body):
                value, used = evaluate(body, kept | set(indices))
                return fold(op, value, set(indices)), used - set(indices)
            case Where(mask, body, fill):
                value, used = evaluate(body, kept)
                stored, also = evaluate(mask, kept)
                return np.where(stored != 0, value, fill), used | also
            case Unary(op, operand):
                value, used = evaluate(operand, kept)
                value, used = fold("sum", value, used - kept), used & kept
                return UNARY[op](value), used
            case Binary(op, left, right):
                (one, a), (two, b) = evaluate(left, kept), evaluate(right, kept)
                if op in ("add", "sub"):  # each term has its sums
                    one, a = fold("sum", one, a - kept), a & kept
                    two, b = fold("sum", two, b - kept), b & kept
                return BINARY[op](one, two), a | b

    value, used = evaluate(statement.value, set(statement.target.indices))
    value = fold("sum", value, used - set(statement.target.indices))
    shape = [size[index] if index in statement.target.indices else 1 for index in axes]
    order = sorted(statement.target.indices, key=axes.index)
    array = np.broadcast_to(value, shape).reshape([size[index] for index in order])
    return array.transpose([order.index(index) for index in statement.target.indices])
