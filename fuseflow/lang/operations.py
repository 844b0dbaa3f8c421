"""The operations: products, functions of elements, folds, and groups of statements."""

import operator
from collections.abc import Sequence
from math import prod
from typing import SupportsIndex

from fuseflow.compiler import groups
from fuseflow.compiler.expr import Access, Binary, Expr, Fold, Statement, Where, chain
from fuseflow.compiler.parse import read_subscripts
from fuseflow.lang.values import (
    Computed,
    Given,
    Operand,
    Value,
    as_fill,
    as_value,
    binary,
    elementwise,
    fresh_key,
    record,
    unary,
)
from fuseflow.samml.errors import ParseError, TensorError
from fuseflow.samml.values import Number

Axes = SupportsIndex | Sequence[SupportsIndex]
Axis = Axes | None


def einsum(subscripts: str, *operands: Operand) -> Computed:
    """Multiply tensors, and sum over the letters that the result lacks.

    Parameters
    ----------
    subscripts : str
        Such as ``ik,kj->ij``; the letters are the names of the index variables.  Without ``->``
        the result has those that occur once, sorted.
    *operands : Value or fuseflow.Tensor
        One per subscript.

    Raises
    ------
    ParseError
        The subscripts are malformed or do not match the operands.
    TensorError
        Two operands have different sizes of one letter.
    """
    parts, output = read_subscripts(subscripts)
    values = [as_value(operand) for operand in operands]
    if len(values) != len(parts):
        raise ParseError(f"subscripts '{subscripts}' name {len(parts)} operands, got {len(values)}")
    first: dict[str, tuple[int, Value]] = {}
    for part, value in zip(parts, values, strict=True):
        if len(part) != len(value.shape):
            raise TensorError(
                f"einsum '{subscripts}': '{part}' does not fit {value}: give one letter per mode"
            )
        for letter, size in zip(part, value.shape, strict=True):
            known, owner = first.setdefault(letter, (size, value))
            if known != size:
                raise TensorError(
                    f"einsum '{subscripts}': '{letter}' is {known} in {owner} and {size} in "
                    f"{value}: one letter has one size"
                )
    for part in (*parts, output):
        for letter in part:
            if part.count(letter) > 1:
                raise ParseError(
                    f"einsum '{subscripts}': '{part}' has '{letter}' twice: take the diagonal "
                    "beforehand"
                )
    for letter in output:
        if letter not in first:
            raise ParseError(
                f"einsum '{subscripts}': no operand has '{letter}': its size is unknown"
            )
    body = chain("mul", [Access(v.key, tuple(part)) for part, v in zip(parts, values, strict=True)])
    sizes = {letter: size for letter, (size, _) in first.items()}
    return record("einsum", [Statement(Access(fresh_key(), tuple(output)), body)], values, sizes)


def linear(x: Operand, weights: Operand, bias: Operand | None = None) -> Computed:
    """Return ``x @ weights + bias`` over the last mode of `x`.

    Parameters
    ----------
    x : Value or fuseflow.Tensor
        Of rank 1 or more.
    weights : Value or fuseflow.Tensor
        A matrix: inputs by outputs.
    bias : Value or fuseflow.Tensor, optional
        A vector of the outputs.

    Raises
    ------
    TensorError
        Two operands do not fit.
    """
    given, matrix = as_value(x), as_value(weights)
    if len(matrix.shape) != 2 or given.shape[-1:] != matrix.shape[:1]:
        raise TensorError(
            f"linear: {given} does not fit {matrix}: the weights are a matrix of inputs by outputs"
        )
    index = fresh_key()
    *_, summed = given.indices
    values = [given, matrix]
    body: Expr = Binary(
        "mul", Access(given.key, given.indices), Access(matrix.key, (summed, index))
    )
    if bias is not None:
        vector = as_value(bias)
        if vector.shape != matrix.shape[1:]:
            raise TensorError(
                f"linear: {vector} does not fit {matrix}: the bias is a vector of the outputs"
            )
        values.append(vector)
        body = Binary("add", body, Access(vector.key, (index,)))
    target = Access(fresh_key(), (*given.indices[:-1], index))
    return record(
        "linear", [Statement(target, body)], values, _sizes(given) | {index: matrix.shape[1]}
    )


def relu(x: Operand) -> Computed:
    """Return the larger of every element and 0."""
    return unary("relu", x)


def exp(x: Operand) -> Computed:
    """Return the exponential of every element."""
    return unary("exp", x)


def log(x: Operand) -> Computed:
    """Return the natural logarithm of every element."""
    return unary("log", x)


def sigmoid(x: Operand) -> Computed:
    """Return the logistic function ``1 / (1 + exp(-x))`` of every element."""
    return unary("sigmoid", x)


def tanh(x: Operand) -> Computed:
    """Return the hyperbolic tangent of every element."""
    return unary("tanh", x)


def gelu(x: Operand) -> Computed:
    """Return every element times the standard normal distribution function at it."""
    return unary("gelu", x)


def sqrt(x: Operand) -> Computed:
    """Return the square root of every element."""
    return unary("sqrt", x)


def reciprocal(x: Operand) -> Computed:
    """Return one over every element."""
    return unary("reciprocal", x)


def rsqrt(x: Operand) -> Computed:
    """Return one over the square root of every element."""
    return unary("rsqrt", x)


def abs(x: Operand) -> Computed:
    """Return every element without its sign."""
    return unary("abs", x)


def neg(x: Operand) -> Computed:
    """Return every element with the other sign."""
    return unary("neg", x)


def maximum(left: Given, right: Given) -> Computed:
    """Return the larger of two elements, which meet as those of an operator do."""
    return binary("max", left, right)


def minimum(left: Given, right: Given) -> Computed:
    """Return the smaller of two elements, which meet as those of an operator do."""
    return binary("min", left, right)


def where(mask: Operand, x: Given, fill: Number) -> Computed:
    """Return `x` where a mask stores an entry, and a fill elsewhere.

    Parameters
    ----------
    mask : Value or fuseflow.Tensor
    x : Value, fuseflow.Tensor or number
        It meets the mask as operands of an operator do.
    fill : number
        May be infinite.

    Raises
    ------
    TensorError
        The two do not fit.
    """
    outside = as_fill(fill)

    def masked(exprs: list[Expr]) -> Expr:
        access, body = exprs
        assert isinstance(access, Access), "the mask is a value"
        return Where(access, body, outside)

    return elementwise("where", [as_value(mask), x], masked)


def sum(x: Operand, axis: Axis = None) -> Computed:
    """Sum over some modes, by default over all."""
    return _fold("sum", x, axis)


def max(x: Operand, axis: Axis = None) -> Computed:
    """Return the largest element over some modes, by default over all."""
    return _fold("max", x, axis)


def min(x: Operand, axis: Axis = None) -> Computed:
    """Return the smallest element over some modes, by default over all."""
    return _fold("min", x, axis)


def softmax(x: Operand, axis: int | Sequence[int] = -1) -> Computed:
    """Return exponentials over their sum along some modes; it is five statements or so.

    Parameters
    ----------
    x : Value or fuseflow.Tensor
    axis : int or sequence of int, optional

    Raises
    ------
    TensorError
        There is no such mode.
    """
    value = as_value(x)
    folded = _folded("softmax", value, axis)
    access, target = Access(value.key, value.indices), Access(fresh_key(), value.indices)
    statements = groups.softmax(target, folded, access, _parts(target))
    return record("softmax", statements, [value], _sizes(value))


def layernorm(x: Operand, axis: int | Sequence[int] = -1, eps: Number = 1e-5) -> Computed:
    """Bring mean and variance along some modes to 0 and 1.

    Parameters
    ----------
    x : Value or fuseflow.Tensor
    axis : int or sequence of int, optional
    eps : number, optional
        What is added to the variance.

    Raises
    ------
    TensorError
        There is no such mode.
    ParseError
        There is nothing to normalise over, or `eps` is out of range.
    """
    value = as_value(x)
    folded = _folded("layernorm", value, axis)
    sizes = _sizes(value)
    access, target = Access(value.key, value.indices), Access(fresh_key(), value.indices)
    size = prod(sizes[index] for index in folded)
    statements = groups.layernorm(target, folded, access, size, eps, _parts(target))
    return record("layernorm", statements, [value], sizes)


def _fold(op: str, x: Operand, axis: Axis) -> Computed:
    value = as_value(x)
    folded = _folded(op, value, range(len(value.shape)) if axis is None else axis)
    kept = tuple(index for index in value.indices if index not in folded)
    body = Fold(op, folded, Access(value.key, value.indices))
    return record(op, [Statement(Access(fresh_key(), kept), body)], [value], _sizes(value))


def _folded(made_by: str, value: Value, axis: Axes) -> tuple[str, ...]:
    """Return the index variables of some modes, which may be counted from the last one."""
    rank = len(value.shape)
    try:
        one = isinstance(axis, SupportsIndex)
        axes = [operator.index(axis)] if one else list(map(operator.index, axis))
    except TypeError:
        raise TensorError(
            f"{made_by}: {axis!r} names no axis of {value}: give a whole number, or several"
        ) from None
    for each in axes:
        if not -rank <= each < rank:
            raise TensorError(f"{made_by}: {value} has no axis {each}: it has {rank}")
    modes = {each % rank for each in axes}
    if not modes:
        raise TensorError(f"{made_by}: no axis of {value} is given: name one or more")
    return tuple(value.indices[mode] for mode in sorted(modes))


def _sizes(value: Value) -> dict[str, int]:
    return dict(zip(value.indices, value.shape, strict=True))


def _parts(target: Access) -> groups.Naming:
    """Name the parts of a group after its result, which has no name yet."""
    return lambda suffix: f"{target.tensor}_{suffix}"
