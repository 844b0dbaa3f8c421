"""The pieces that the tensors of a module fall into, and what views make of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from fuseflow.compiler.expr import accesses
from fuseflow.mlir.errors import refuse
from fuseflow.mlir.modes import Mode, Piece, ViewError, product_of, sum_of
from fuseflow.mlir.module import Complement, Compute, Concat, Module, Reshape, Slice, Step

Key: TypeAlias = tuple[int, ...]
"""A piece of a tensor: by mode, the number of a piece of it."""


@dataclass(frozen=True)
class Part:
    """A piece of a tensor that is no view of another one.

    Attributes
    ----------
    tensor : str
    key : Key
    """

    tensor: str
    key: Key


class Pieces:
    """What every mode of a module is made of.

    Parameters
    ----------
    module : Module

    Attributes
    ----------
    masks : frozenset of str
        What is computed of masks alone: it is stored before a program runs, as those are.

    Raises
    ------
    MlirError
        A view splits a mode in a way that does not go with another one.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.modes = {name: tuple(map(Mode, type_.shape)) for name, type_ in module.types.items()}
        self.variables = {
            step.target: self._variables(step) for step in module.steps if isinstance(step, Compute)
        }
        self.steps = {step.target: step for step in module.steps}
        self.masks = _masks(module)
        for name in module.arguments:
            self._tie_blocks(name)
        for step in module.steps:
            try:
                self._tie(step)
            except ViewError as error:
                refuse(
                    step.location,
                    f"a mode is taken apart in two ways: {error}; keep modes that belong together "
                    "apart in all views, or compute this part outside of the model",
                )
        self._found: dict[int, tuple[Piece, ...]] = {}

    def of(self, mode: Mode) -> tuple[Piece, ...]:
        """Return the pieces of a mode."""
        return self._found.setdefault(id(mode.root), mode.root.pieces())

    def keys(self, tensor: str) -> list[Key]:
        """Return the pieces of a tensor, in row-major order."""
        return [*product(*(range(len(self.of(mode))) for mode in self.modes[tensor]))]

    def at(self, tensor: str, key: Key) -> tuple[Piece, ...]:
        """Return the pieces of a tensor's modes that make up a piece of it."""
        modes = zip(self.modes[tensor], key, strict=True)
        return tuple(self.of(mode)[number] for mode, number in modes)

    def origin(self, tensor: str, key: Key) -> Part:
        """Return the piece that a piece is another name for; both have the same atoms."""
        step = self.steps.get(tensor)
        if step is None or isinstance(step, Compute | Complement):
            return Part(tensor, key)
        starts = tuple(piece.start for piece in self.at(tensor, key))
        source, places = _source(step, starts, self.module)
        return self.origin(source, self._key(source, places))

    def _key(self, tensor: str, places: Sequence[int]) -> Key:
        """Return the piece of a tensor that starts at coordinates."""
        return tuple(
            next(n for n, piece in enumerate(self.of(mode)) if piece.start == place)
            for mode, place in zip(self.modes[tensor], places, strict=True)
        )

    # --- what is known of modes ------------------------------------------------------------

    def _variables(self, step: Compute) -> dict[str, Mode]:
        sizes = dict(zip(step.indices, self.module.types[step.target].shape, strict=True))
        for access in accesses(step.value):
            sizes |= zip(access.indices, self.module.types[access.tensor].shape, strict=True)
        return {name: Mode(size) for name, size in sizes.items()}

    def _tie(self, step: Step) -> None:
        target = self.modes[step.target]
        match step:
            case Compute(_, indices, value):
                variables = self.variables[step.target]
                for access in accesses(value):
                    for index, mode in zip(access.indices, self.modes[access.tensor], strict=True):
                        variables[index].same(mode)
                for index, mode in zip(indices, target, strict=True):
                    variables[index].same(mode)
            case Reshape(_, source, groups):
                for left, right in groups:
                    whole = product_of([self.modes[source][mode] for mode in left])
                    whole.same(product_of([target[mode] for mode in right]))
            case Complement(_, source):
                for mode, other in zip(self.modes[source], target, strict=True):
                    mode.same(other)
            case Concat(_, sources, along):
                for other in range(len(target)):
                    modes = [self.modes[source][other] for source in sources]
                    if other == along:
                        target[other].same(sum_of(modes))
                    else:
                        for mode in modes:
                            target[other].same(mode)
            case Slice(_, source, offsets, _, strides):
                for mode, part, offset, stride in zip(
                    self.modes[source], target, offsets, strides, strict=True
                ):
                    _tie_slice(mode, part, offset, stride)

    def _tie_blocks(self, name: str) -> None:
        encoding = self.module.types[name].encoding
        for mode, block in zip(self.modes[name], encoding.blocks if encoding else (), strict=False):
            if block > 1:
                mode.same(product_of([Mode(mode.size // block), Mode(block)]))


def _masks(module: Module) -> frozenset[str]:
    """Return the steps that compute masks of arguments, constants and other such steps."""
    known = {*module.arguments, *module.constants}
    found: set[str] = set()
    for step in module.steps:
        if not known.issuperset(sources(step)):
            continue
        match step:
            case Complement():
                found.add(step.target)
            case Compute() if module.types[step.target].element == "i1":
                found.add(step.target)
            case Compute():
                continue
            case _:
                pass
        known.add(step.target)
    return frozenset(found)


def sources(step: Step) -> set[str]:
    """Return the tensors that a step reads."""
    match step:
        case Compute(_, _, value):
            return {access.tensor for access in accesses(value)}
        case Concat(_, tensors):
            return {*tensors}
        case _:
            return {step.source}


def _tie_slice(mode: Mode, part: Mode, offset: int, stride: int) -> None:
    """Tie a mode and the part of it that begins at an offset and takes one place in a stride."""
    if stride > 1:
        rest = mode.size % stride
        whole = Mode(mode.size - rest)
        if offset + stride * (part.size - 1) >= whole.size:
            raise ViewError(f"every {stride}th of {mode.size}, up to the last")
        rows, columns = Mode(whole.size // stride), Mode(stride)
        mode.same(sum_of([whole, Mode(rest)]))
        whole.same(product_of([rows, columns]))
        column = offset % stride
        columns.same(sum_of([Mode(column), Mode(1), Mode(stride - column - 1)]))
        mode, offset = rows, offset // stride
    mode.same(sum_of([Mode(offset), part, Mode(mode.size - offset - part.size)]))


def _source(
    step: Reshape | Slice | Concat, places: Sequence[int], module: Module
) -> tuple[str, list[int]]:
    """Return the tensor that an element of a view comes from, and where it stands there."""
    match step:
        case Slice(_, source, offsets, _, strides):
            return source, [
                offset + stride * place
                for offset, stride, place in zip(offsets, strides, places, strict=True)
            ]
        case Concat(_, sources, along):
            rest = list(places)
            for source in sources[:-1]:
                size = module.types[source].shape[along]
                if rest[along] < size:
                    return source, rest
                rest[along] -= size
            return sources[-1], rest
        case Reshape(target, source, groups):
            old, new = module.types[source].shape, module.types[target].shape
            found = [0] * len(old)
            for left, right in groups:
                place = 0
                for mode in right:
                    place = place * new[mode] + places[mode]
                for mode in reversed(left):
                    place, found[mode] = divmod(place, old[mode])
            return source, found
