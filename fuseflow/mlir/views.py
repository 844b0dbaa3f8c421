"""Operations that move elements: reshapes, slices, concatenations and changes of storage."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from fuseflow.compiler.expr import Access
from fuseflow.mlir.conditions import Condition
from fuseflow.mlir.draft import Blank, Deferred, Draft, Groups, Known, Meaning, Named, type_of
from fuseflow.mlir.elements import dtype_of
from fuseflow.mlir.errors import refused
from fuseflow.mlir.module import Concat, Location, Reshape, Slice, TensorType
from fuseflow.mlir.selection import Selection
from fuseflow.mlir.syntax import Operation, Value


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
        pairs = tuple(
            ((mode,), tuple(group)) if expands else (tuple(group), (mode,))
            for mode, group in enumerate(groups)
        )
        if not groups:
            rank = max(self._kind.rank, type_of(self.operation.operands[0], self._place).rank)
            pairs = (((), tuple(range(rank))) if expands else (tuple(range(rank)), ()),)
        return reshaped(self.draft, source, pairs, self._kind, self._place)

    def _bounds(self, operands: int) -> tuple[list[int], list[int], list[int]]:
        """Return offsets, sizes and strides, which only constants give."""
        if len(self.operation.operands) > operands:
            raise refused(
                self._place, f"'{self.operation.name}' at computed places: use constant offsets"
            )
        attributes = self.operation.attributes
        names = ("static_offsets", "static_sizes", "static_strides")
        offsets, sizes, strides = (list(map(int, attributes[name])) for name in names)
        return offsets, sizes, strides

    def slice(self) -> Meaning:
        """Read ``tensor.extract_slice``."""
        offsets, sizes, strides = map(tuple, self._bounds(1))
        bounds = Bounds(offsets, sizes, strides)
        return sliced(self.draft, self._source(), bounds, self._kind, self._place)

    def insert(self) -> Meaning:
        """Read ``tensor.insert_slice``: a concatenation of what stands around it, mode by mode."""
        offsets, sizes, strides = self._bounds(2)
        kind, place = self._kind, self._place
        if any(stride != 1 for stride in strides):
            raise refused(place, "'tensor.insert_slice' with a stride: concatenate and reshape")
        part, into = (meaning(self.draft, value, place) for value in self.operation.operands)
        own = type_of(self.operation.operands[0], place)
        if own.rank != kind.rank:
            whole = replace(own, shape=tuple(sizes), encoding=None)
            groups = tuple((b, a) for a, b in _dropping(whole.shape, own.shape))
            part = reshaped(self.draft, part, groups, whole, place)
        if isinstance(into, Blank):
            # What is undefined may as well be 0.
            zero = np.zeros((), dtype_of(kind.element))
            into = Known(np.broadcast_to(zero, kind.shape), kind.element)
        return self._insert(part, into, kind, offsets, sizes)

    def _insert(
        self, part: Meaning, into: Meaning, kind: TensorType, offsets: list[int], sizes: list[int]
    ) -> Meaning:
        wide = [mode for mode, size in enumerate(sizes) if size != kind.shape[mode]]
        if not wide:
            return part
        mode, draft, place = wide[0], self.draft, self._place
        ends = (0, offsets[mode], offsets[mode] + sizes[mode], kind.shape[mode])
        rows = [_along(kind, mode, begin, end) for begin, end in pairwise(ends)]
        before, middle, after = (
            sliced(draft, into, bounds, replace(kind, shape=bounds.sizes, encoding=None), place)
            if bounds.sizes[mode]
            else None
            for bounds in rows
        )
        assert middle is not None
        inner = replace(kind, shape=rows[1].sizes, encoding=None)
        # The modes that are left are narrower than the slab still.
        new = self._insert(part, middle, inner, offsets, sizes)
        parts = [found for found in (before, new, after) if found is not None]
        return concatenated(draft, parts, mode, kind, place)

    def concat(self) -> Meaning:
        """Read ``tensor.concat``."""
        mode = int(self.operation.attributes["dim"])
        parts = [meaning(self.draft, part, self._place) for part in self.operation.operands]
        return concatenated(self.draft, parts, mode, self._kind, self._place)

    def pad(self) -> Meaning:
        """Read ``tensor.pad`` with a constant: constants in front and behind, mode by mode."""
        attributes, block = self.operation.attributes, self.operation.blocks[0]
        found = self.draft.values.get(block.operations[-1].operands[0])
        padded, *widths = self.operation.operands
        if widths or not isinstance(found, Known):
            raise refused(self._place, "padding with a computed value or width: use constants")
        part = self._source()
        shape = list(type_of(padded, self._place).shape)
        for mode, (low, high) in enumerate(
            zip(attributes["static_low"], attributes["static_high"], strict=True)
        ):
            edges: list[list[Meaning]] = []
            for width in (low, high):
                edge = (*shape[:mode], width, *shape[mode + 1 :])
                known = Known(np.broadcast_to(found.array, edge), found.element)
                edges.append([known] if width else [])
            parts = [*edges[0], part, *edges[1]]
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
            raise refused(self._place, f"a cast from shape {have.shape} to {kind.shape}")
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
        raise refused(place, "reads a value that the function does not compute")
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
            raise refused(place, "reads what 'tensor.empty' leaves undefined: fill it first")


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


@dataclass(frozen=True)
class Bounds:
    """A part of every mode: offsets, sizes and strides."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        """What NumPy reads."""
        parts = zip(self.offsets, self.sizes, self.strides, strict=True)
        return tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in parts)


def _along(kind: TensorType, mode: int, begin: int, end: int) -> Bounds:
    """Return a range of one mode."""
    offsets = tuple(begin if at == mode else 0 for at in range(kind.rank))
    sizes = tuple(end - begin if at == mode else size for at, size in enumerate(kind.shape))
    return Bounds(offsets, sizes, (1,) * kind.rank)


def sliced(
    draft: Draft, source: Meaning, bounds: Bounds, kind: TensorType, place: Location
) -> Meaning:
    """Return a part of every mode; modes of size 1 that the type lacks are dropped."""
    whole = replace(kind, shape=bounds.sizes, encoding=None)
    match source:
        case Blank():
            return source
        case Known(array, element):
            return Known(array[bounds.slices].reshape(kind.shape), element)
        case Named(name):
            before = draft.types[name]
        case Deferred(indices):
            before = replace(kind, shape=tuple(draft.sizes[i] for i in indices), encoding=None)
    found: Meaning = source
    if before.shape != whole.shape:
        name = named(draft, source, before, place)
        part = _whole_parts(draft, name, bounds, whole, place)
        target = None if part else draft.target(kind if kind.rank == whole.rank else whole)
        cut = (bounds.offsets, bounds.sizes, bounds.strides)
        found = part or draft.add(Slice(str(target), name, *cut, place))
    if kind.rank == whole.rank:
        return found
    return reshaped(draft, found, _dropping(whole.shape, kind.shape), kind, place)


def _whole_parts(
    draft: Draft, name: str, bounds: Bounds, kind: TensorType, place: Location
) -> Meaning | None:
    """Return a slice of a concatenation that is some of its parts, as those parts."""
    step = draft.steps.get(name)
    if not isinstance(step, Concat):
        return None
    mode, chosen, at = step.mode, list[Meaning](), 0
    begin = bounds.offsets[mode]
    end = begin + bounds.sizes[mode]
    if _along(draft.types[name], mode, begin, end) != bounds:
        return None
    for part in step.sources:
        size = draft.types[part].shape[mode]
        if begin < at + size and at < end:
            constant = draft.constants.get(part)
            element = draft.types[part].element
            known = None if constant is None else Known(constant, element)
            low, high = max(begin, at), min(end, at + size)
            cut = _along(draft.types[part], mode, low - at, high - at)
            if high - low < size and known is None:
                return None
            chosen.append(Named(part) if known is None else Known(known.array[cut.slices], element))
        at += size
    return chosen[0] if len(chosen) == 1 else concatenated(draft, chosen, mode, kind, place)


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
            name = named(draft, part, kind, place)
            step = draft.steps.get(name)
            if isinstance(step, Concat) and step.mode == mode:
                names += step.sources
            else:
                names.append(name)
    return draft.add(Concat(draft.target(kind), tuple(names), mode, place))
