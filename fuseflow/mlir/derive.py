"""What is stored before a program runs although a module computes it: masks made of masks."""

from collections.abc import Mapping

import numpy as np

from fuseflow.compiler.expr import Access, Result
from fuseflow.compiler.truth import evaluate
from fuseflow.mlir.boundary import Data, dense
from fuseflow.mlir.module import Array, Complement, Compute, Concat, Module, Reshape, Slice
from fuseflow.mlir.pieces import sources


def arguments_behind(module: Module, name: str) -> tuple[str, ...]:
    """Return the arguments that a tensor follows from: itself, where it is one."""
    step = next((step for step in module.steps if step.target == name), None)
    if step is None:
        return (name,) if name in module.arguments else ()
    found = (arguments_behind(module, source) for source in sources(step))
    return tuple(dict.fromkeys(argument for each in found for argument in each))


def derived(module: Module, name: str, data: Mapping[str, Data]) -> Array | None:
    """Return the elements of a tensor, as far as they follow from what is known.

    Parameters
    ----------
    module : Module
    name : str
    data : mapping of str to ndarray or Coordinates
        Of arguments, by their names in the module.

    Returns
    -------
    ndarray or None
        None where an argument is not known, or a tensor is too large to evaluate.
    """
    step = next((step for step in module.steps if step.target == name), None)
    if step is None:
        found = data.get(name, module.constants.get(name))
        return None if found is None else dense(found)
    read = {source: derived(module, source, data) for source in sources(step)}
    known = {source: array for source, array in read.items() if array is not None}
    if len(known) < len(read):
        return None
    match step:
        case Complement(_, source):
            return known[source] == 0
        case Reshape(_, source, _):
            return known[source].reshape(module.types[name].shape)
        case Concat(_, parts, mode):
            return np.concatenate([known[part] for part in parts], mode)
        case Slice(_, source, offsets, sizes, strides):
            bounds = zip(offsets, sizes, strides, strict=True)
            return known[source][tuple(np.s_[o : o + (n - 1) * s + 1 : s] for o, n, s in bounds)]
        case Compute(target, indices, value):
            numbers = {source: array.astype(np.float64) for source, array in known.items()}
            truth = evaluate(Result(Access(target, indices), value), numbers)
            return None if truth is None else truth.value != 0
