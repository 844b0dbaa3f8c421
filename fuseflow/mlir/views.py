"""Operations that move elements: reshapes, slices, concatenations and changes of storage."""

from dataclasses import dataclass, replace

import numpy as np

from fuseflow.compiler.expr import Access
from fuseflow.mlir.conditions import Condition
from fuseflow.mlir.draft import Blank, Deferred, Draft, Known, Meaning, Named, type_of
from fuseflow.mlir.errors import refuse
from fuseflow.mlir.module import Concat, Location, Reshape, Slice, TensorType
from fuseflow.mlir.selection import Selection
from fuseflow.mlir.syntax import Operation, Value

Groups = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]


@dataclass(frozen=True)
class View:
    """One operation that moves elements.

    Parameters
    ----------
    draft : Draft
    operation : Operation
    """

    draft: Draft
    operation: Operation

    @property
    def _place(self) -> Location:
        return self.operation.location

    @property
    def _kind(self) -> TensorType:
        return type_of(self.operation.results[0], self._place)

    def _source(self) -> Meaning:
        return meaning(self.draft, self.operation.operands[0], self._place)

    def reshape(self) -> Meaning:
        """Read ``tensor.expand_shape`` and ``tensor.collapse_shape``."""
        source = self._source()
        groups: list[list[int]] = self.operation.attributes["reassociation"]
        expands = self.operation.name == "tensor.expand_shape"
        one = len(groups)
        pairs = tuple(
            ((mode,), tuple(group)) if expands else (tuple(group), (mode,))
            for mode, group in enumerate(groups)
        )
        if one == 0:
            rank = max(self._kind.rank, type_of(self.operation.operands[0], self._place).rank)
            pairs = (((), tuple(range(rank))) if expands else (tuple(range(rank)), ()),)
        return reshaped(self.draft, source, pairs, self._kind, self._place)

    def slice(self) -> Meaning:
        """Read ``tensor.extract_slice``."""
        attributes = self.operation.attributes
        if len(self.operation.operands) > 1:
            refuse(self._place, "a slice at computed offsets: use constant offsets and sizes")
        return sliced(
            self.draft,
            self._source(),
            attributes["static_offsets"],
            attributes["static_sizes"],
            attributes["static_strides"],
            self._kind,
            self._place,
        )

    def concat(self) -> Meaning:
        """Read ``tensor.concat``."""
        mode = int(self.operation.attributes["dim"])
        parts = [meaning(self.draft, part, self._place) for part in self.operation.operands]
        return concatenated(self.draft, parts, mode, self._kind, self._place)

    def pad(self) -> Meaning:
        """Read ``tensor.pad`` with a constant: constants in front and behind, mode by mode."""
        attributes, block = self.operation.attributes, self.operation.blocks[0]
        found = self.draft.values.get(block.operations[-1].operands[0])
        if len(self.operation.operands) > 1 or not isinstance(found, Known):
            refuse(self._place, "padding with a computed value or width: use constants")
        part = self._source()
        shape = list(type_of(self.operation.operands[0], self._place).shape)
        for mode, (low, high) in enumerate(
            zip(attributes["static_low"], attributes["static_high"], strict=True)
        ):
            parts = [part]
            for width, at in ((low, 0), (high, len(parts) + 1)):
                if width:
                    edge = [*shape[:mode], width, *shape[mode + 1 :]]
                    parts.insert(at, Known(np.broadcast_to(found.array, edge), found.element))
            shape[mode] += low + high
            if len(parts) > 1:
                kind = replace(self._kind, shape=tuple(shape))
                part = concatenated(self.draft, parts, mode, kind, self._place)
        return part

    def stored(self) -> Meaning:
        """Read a cast between encodings: the same elements, stored in another way."""
        source, kind = self._source(), self._kind
        if isinstance(source, Known | Blank | Deferred):
            return source
        have = self.draft.types[source.name]
        if kind.shape != have.shape:
            refuse(self._place, f"a cast from shape {have.shape} to {kind.shape}")
        if have.encoding == kind.encoding or kind.encoding is None:
            return source
        if source.name in self.draft.steps and have.encoding is None:
            self.draft.types[source.name] = replace(have, encoding=kind.encoding)
            return source
        indices = tuple(map(self.draft.index, kind.shape))
        return self.draft.compute(indices, Access(source.name, indices), kind, self._place)


def meaning(draft: Draft, value: Value, place: Location) -> Meaning:
    """Return what a value means.

    Raises
    ------
    MlirError
        It comes from outside of the function.
    """
    found = draft.values.get(value)
    if found is None:
        refuse(place, "reads a value that the function does not compute")
    return found


def named(draft: Draft, source: Meaning, kind: TensorType, place: Location) -> str:
    """Return the name of a value, which becomes a constant or a step if it is none yet."""
    match source:
        case Named(name):
            return name
        case Known(array, element):
            return draft.constant(array, element)
        case Deferred(indices, body):
            value = Selection(draft, place).number(body) if isinstance(body, Condition) else body
            return draft.compute(indices, value, kind, place).name
        case Blank():
            refuse(place, "reads what 'tensor.empty' leaves undefined: fill it first")


def reshaped(
    draft: Draft, source: Meaning, groups: Groups, kind: TensorType, place: Location
) -> Meaning:
    """Return a value with the modes of each group of it merged and split again."""
    match source:
        case Blank():
            return source
        case Known(array, element):
            return Known(array.reshape(kind.shape), element)
        case Deferred(indices, body):
            moved = _moved(draft, indices, groups, kind)
            if moved is not None:
                return Deferred(moved, body)
        case Named():
            pass
    before = _before(draft, source, groups, kind)
    name = named(draft, source, before, place)
    return draft.add(Reshape(draft.target(kind), name, groups, place))


def _moved(
    draft: Draft, indices: tuple[str, ...], groups: Groups, kind: TensorType
) -> tuple[str, ...] | None:
    """Return the index variables of a reshaped value, if only modes of size 1 come or go."""
    moved = [""] * kind.rank
    for sources, targets in groups:
        wide = [indices[mode] for mode in sources if draft.sizes[indices[mode]] != 1]
        into = [mode for mode in targets if kind.shape[mode] != 1]
        if len(wide) > 1 or len(into) != len(wide):
            return None
        for mode in targets:
            moved[mode] = wide[0] if mode in into else draft.index(1)
    return tuple(moved)


def _before(draft: Draft, source: Meaning, groups: Groups, kind: TensorType) -> TensorType:
    if isinstance(source, Deferred):
        shape = tuple(draft.sizes[index] for index in source.indices)
        return replace(kind, shape=shape, encoding=None)
    return kind


def sliced(
    draft: Draft,
    source: Meaning,
    offsets: list[int],
    sizes: list[int],
    strides: list[int],
    kind: TensorType,
    place: Location,
) -> Meaning:
    """Return a part of every mode; modes of size 1 that the type lacks are dropped."""
    whole = replace(kind, shape=tuple(sizes), encoding=None)
    match source:
        case Blank():
            return source
        case Known(array, element):
            parts = tuple(
                slice(offset, offset + (size - 1) * stride + 1, stride)
                for offset, size, stride in zip(offsets, sizes, strides, strict=True)
            )
            return Known(array[parts].reshape(kind.shape), element)
        case Named(name):
            before = draft.types[name]
        case Deferred(indices):
            before = replace(kind, shape=tuple(draft.sizes[i] for i in indices), encoding=None)
    found: Meaning = source
    if before.shape != whole.shape:
        target = draft.target(kind if kind.rank == whole.rank else whole)
        bounds = tuple(offsets), tuple(sizes), tuple(strides)
        found = draft.add(Slice(target, named(draft, source, before, place), *bounds, place))
    if kind.rank == whole.rank:
        return found
    return reshaped(draft, found, _dropping(whole.shape, kind.shape), kind, place)


def _dropping(wide: tuple[int, ...], narrow: tuple[int, ...]) -> Groups:
    """Return the groups of a reshape that drops modes of size 1."""
    groups: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    kept = 0
    for mode, size in enumerate(wide):
        left, room = len(wide) - mode, len(narrow) - kept
        if room and narrow[kept] == size and not (size == 1 and left > room and 1 not in narrow):
            groups.append(((mode,), (kept,)))
            kept += 1
        else:
            groups.append(((mode,), ()))
    return tuple(groups)


def concatenated(
    draft: Draft, parts: list[Meaning], mode: int, kind: TensorType, place: Location
) -> Meaning:
    """Return values one behind the other along a mode."""
    if all(isinstance(part, Known) for part in parts):
        arrays = [part.array for part in parts if isinstance(part, Known)]
        return Known(np.concatenate(arrays, axis=mode), kind.element)
    names: list[str] = []
    for part in parts:
        if isinstance(part, Deferred):
            shape = tuple(draft.sizes[index] for index in part.indices)
            names.append(named(draft, part, replace(kind, shape=shape, encoding=None), place))
        else:
            names.append(named(draft, part, kind, place))
    return draft.add(Concat(draft.target(kind), tuple(names), mode, place))
