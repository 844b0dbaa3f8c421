"""What a module means, in float64: NumPy over whole index spaces, without any compiler."""

from collections.abc import Sequence

import numpy as np
from scipy import special

from fuseflow.compiler.expr import Access, Binary, Constant, Expr, Fold, Unary, Where, walk
from fuseflow.mlir.module import Array, Complement, Compute, Concat, Module, Reshape, Slice

UNARY = {
    "neg": np.negative,
    "abs": np.abs,
    "relu": lambda x: np.maximum(x, 0),
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "gelu": lambda x: x / 2 * (1 + special.erf(x / np.sqrt(2))),
}
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
}
FOLDS = {"sum": np.sum, "max": np.max, "min": np.min}


def evaluate(module: Module, arguments: Sequence[Array]) -> list[Array]:
    """Return the results of a module, and check that every value has the type it is given."""
    values = dict(zip(module.arguments, arguments, strict=True)) | dict(module.constants)
    values = {name: np.asarray(array, np.float64) for name, array in values.items()}
    assert set(module.types) == set(values) | {step.target for step in module.steps}
    for name, array in values.items():
        assert array.shape == module.types[name].shape, name
    for step in module.steps:
        shape = module.types[step.target].shape
        match step:
            case Compute():
                with np.errstate(all="ignore"):
                    value = _compute(step, values, shape)
            case Reshape(_, source, groups):
                value = values[source].reshape(shape)
                _check_groups(values[source].shape, shape, groups)
            case Slice(_, source, offsets, sizes, strides):
                bounds = zip(offsets, sizes, strides, strict=True)
                value = values[source][
                    tuple(np.s_[o : o + (n - 1) * s + 1 : s] for o, n, s in bounds)
                ]
            case Concat(_, sources, mode):
                value = np.concatenate([values[source] for source in sources], mode)
            case Complement(_, source):
                value = (values[source] == 0).astype(np.float64)
        assert value.shape == shape, step
        values[step.target] = value
    return [values[result] for result in module.results]


def _check_groups(source, target, groups) -> None:
    """Check that groups cover all modes in order, and hold as many elements on both sides."""
    assert [mode for before, _ in groups for mode in before] == list(range(len(source)))
    assert [mode for _, after in groups for mode in after] == list(range(len(target)))
    for before, after in groups:
        assert np.prod([source[m] for m in before]) == np.prod([target[m] for m in after])


def _compute(step: Compute, values: dict[str, Array], shape: tuple[int, ...]) -> Array:
    accesses = [part for part in walk(step.value) if isinstance(part, Access)]
    axes = list(dict.fromkeys([*step.indices, *(i for a in accesses for i in a.indices)]))
    for access in accesses:
        assert len(set(access.indices)) == len(access.indices), access
    found = _value(step.value, values, axes)
    rest = tuple(range(len(step.indices), len(axes)))
    # What is neither in the target nor folded has size 1.
    return np.broadcast_to(np.squeeze(found, rest), shape)


def _value(expr: Expr, values: dict[str, Array], axes: list[str]) -> Array:
    match expr:
        case Access(tensor, indices):
            places = [axes.index(index) for index in indices]
            array = np.transpose(values[tensor], np.argsort(places))
            sizes = iter(array.shape)
            return array.reshape([next(sizes) if axis in indices else 1 for axis in axes])
        case Constant(number):
            return np.full([1] * len(axes), float(number))
        case Unary(op, operand):
            return UNARY[op](_value(operand, values, axes))
        case Binary(op, left, right):
            return BINARY[op](_value(left, values, axes), _value(right, values, axes))
        case Fold(op, indices, body):
            places = tuple(axes.index(index) for index in indices)
            return FOLDS[op](_value(body, values, axes), axis=places, keepdims=True)
        case Where(mask, body, fill):
            kept = _value(mask, values, axes) != 0
            return np.where(kept, _value(body, values, axes), float(fill))
