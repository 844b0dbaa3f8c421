"""A module without what is computed twice or for nobody, and with short names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from fuseflow.compiler.expr import Access, Expr, Fold, walk
from fuseflow.mlir.draft import Draft, used_names
from fuseflow.mlir.module import (
    Array,
    Complement,
    Compute,
    Concat,
    Location,
    Module,
    Reshape,
    Slice,
    Step,
)
from fuseflow.mlir.renaming import renamed

Names: TypeAlias = Mapping[str, str]


def tidied(draft: Draft, function: str, results: Sequence[str]) -> Module:
    """Return the module of a function that has been read.

    Casts between floats and layers that repeat a mask compute the same again: the first stays.
    """
    first = _first_constants(draft.constants)
    seen: dict[tuple[object, ...], str] = {}
    steps: dict[str, Step] = {}
    for target, step in draft.steps.items():
        moved = _renamed(step, first)
        kind = draft.types[target]
        key = (
            replace(moved, target="", location=Location()),
            kind.shape,
            kind.encoding,
            kind.element == "i1",
        )
        first[target] = seen.setdefault(key, target)
        if first[target] == target:
            steps[target] = moved
    ends = [first.get(result, result) for result in results]
    kept = used_names(steps, ends)
    final = {argument: argument for argument in draft.arguments}
    constants = [name for name in draft.constants if name in kept]
    final |= {name: f"c{count}" for count, name in enumerate(constants)}
    live = [name for name in steps if name in kept]
    final |= {name: f"v{count}" for count, name in enumerate(live)}
    return Module(
        function,
        tuple(draft.arguments),
        tuple(final[end] for end in ends),
        {new: draft.types[old] for old, new in final.items()},
        {final[name]: draft.constants[name] for name in constants},
        tuple(_renamed(steps[name], final) for name in live),
    )


def _first_constants(constants: Mapping[str, Array]) -> dict[str, str]:
    """Return by constant the first that has the same elements."""
    first: dict[str, str] = {}
    seen: dict[tuple[object, ...], str] = {}
    for name, array in constants.items():
        data = blake2b(np.ascontiguousarray(array).tobytes()).digest()
        first[name] = seen.setdefault((array.shape, array.dtype.str, data), name)
    return first


def _renamed(step: Step, names: Names) -> Step:
    """Return a step with other names of values, and index variables counted from 0."""
    target = names.get(step.target, step.target)
    match step:
        case Compute(_, indices, value, location):
            used = (*indices, *(index for part in walk(value) for index in _indices(part)))
            short = {index: f"i{count}" for count, index in enumerate(dict.fromkeys(used))}
            new = tuple(short[index] for index in indices)
            return Compute(target, new, renamed(value, short, names), location)
        case Concat(_, sources):
            return replace(step, target=target, sources=tuple(names.get(s, s) for s in sources))
        case Reshape(_, source) | Slice(_, source) | Complement(_, source):
            return replace(step, target=target, source=names.get(source, source))


def _indices(part: Expr) -> tuple[str, ...]:
    return part.indices if isinstance(part, Access | Fold) else ()
