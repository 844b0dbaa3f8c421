"""``linalg.generic`` as Einsums: its loops, its folds and what they begin with."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fuseflow.compiler.expr import Access, Binary, Expr, Fold, Unary, walk
from fuseflow.mlir.algebra import Algebra
from fuseflow.mlir.body import LARGEST, Body, Grid, Meant
from fuseflow.mlir.conditions import Condition, both, either
from fuseflow.mlir.draft import ERF, Deferred, Draft, Known, Meaning, Named, splat, type_of
from fuseflow.mlir.elements import dtype_of
from fuseflow.mlir.errors import MlirError, refused
from fuseflow.mlir.module import Array, Location, TensorType
from fuseflow.mlir.scalars import CASTS, FLOAT_COMPARES, INT_COMPARES, in_float64
from fuseflow.mlir.selection import Selection
from fuseflow.mlir.syntax import AffineMap, Arithmetic, Dim, Operation, Value

FOLDS = {
    "arith.addf": "sum",
    "arith.addi": "sum",
    "arith.maximumf": "max",
    "arith.maxnumf": "max",
    "arith.maxsi": "max",
    "arith.minimumf": "min",
    "arith.minnumf": "min",
    "arith.minsi": "min",
    "arith.andi": "and",
    "arith.ori": "or",
}
"""The fold that an operation with the previous result makes."""

NUMPY_FOLDS = {"sum": np.sum, "max": np.max, "min": np.min, "and": np.all, "or": np.any}


@dataclass(frozen=True)
class Generic:
    """One ``linalg.generic``.

    Parameters
    ----------
    draft : Draft
    operation : Operation
    """

    draft: Draft
    operation: Operation

    def read(self, used: set[Value]) -> None:
        """Enter what its results mean, of those that are used."""
        for number, result in enumerate(self.operation.results):
            if result in used:
                self.draft.values[result] = self._result(number)

    @property
    def _maps(self) -> list[AffineMap]:
        return list(self.operation.attributes["indexing_maps"])

    @property
    def _place(self) -> Location:
        return self.operation.location

    def _inputs(self) -> int:
        return len(self.operation.operands) - len(self.operation.results)

    def _loops(self) -> tuple[str, ...]:
        """Return new index variables for the loops, whose sizes the operands have."""
        sizes: dict[int, int] = {}
        for value, where in zip(self.operation.operands, self._maps, strict=True):
            shape = type_of(value, self._place).shape
            for place, size in zip(where, shape, strict=True):
                if isinstance(place, Dim):
                    sizes[place.position] = size
        count = len(self.operation.attributes["iterator_types"])
        for loop in range(count):
            if loop not in sizes:
                raise refused(self._place, f"no operand has a mode that is loop d{loop} alone")
        return tuple(self.draft.index(sizes[loop]) for loop in range(count))

    def _result(self, number: int) -> Meaning:
        block = self.operation.blocks[0]
        loops = self._loops()
        inputs = self._inputs()
        defined = {result: op for op in block.operations for result in op.results}
        operands = dict(
            zip(block.arguments, zip(self.operation.operands, self._maps, strict=True), strict=True)
        )
        body = Body(self.draft, loops, defined, operands, self._place)
        where = self._maps[inputs + number]
        value = block.operations[-1].operands[number]
        if any(isinstance(place, Arithmetic) for place in where):
            raise refused(self._place, f"writes at '{where[0]}': use one loop a mode, such as d0")
        target = tuple(
            loops[place.position] if isinstance(place, Dim) else self.draft.index(1)
            for place in where
        )
        if len(set(target)) < len(target):
            raise refused(self._place, "writes a diagonal: use one loop a mode, such as d0")
        reduced = tuple(loop for loop in loops if loop not in target)
        if reduced:
            begin = block.arguments[inputs + number]
            meant = self._folded(body, value, begin, reduced, target)
        else:
            meant = body.meaning(value)
        kind = type_of(self.operation.results[number], self._place)
        return store(self.draft, meant, target, kind, loops, self._place)

    def _folded(
        self,
        body: Body,
        value: Value,
        begin: Value,
        reduced: tuple[str, ...],
        target: tuple[str, ...],
    ) -> Meant:
        """Return what a reduction makes of the values of its iterations."""
        op, parts = _Recurrence(body, begin, self._place).split(value)
        first = body.meaning(begin)
        combined = parts[0] if len(parts) == 1 else _join(body, op, parts, self._place)
        place = self._place
        if isinstance(combined, Grid) and isinstance(first, Grid):
            grid = self._fold_grid(body, op, combined, first, reduced)
            if grid is not None:
                return grid
        selection = Selection(self.draft, place)
        if op in ("and", "or"):
            condition = body.condition(combined, place)
            start = body.condition(first, place)
            if op == "and":
                return both(start, selection.every(reduced, condition))
            return either(start, selection.some(reduced, condition))
        folded = selection.algebra.fold(op, reduced, body.expression(combined, place))
        if isinstance(first, Grid) and _is_identity(op, first):
            return folded
        start = body.expression(first, place)
        if op == "sum":
            return selection.algebra.add(start, folded)
        return Binary(op, start, folded)

    def _fold_grid(
        self, body: Body, op: str, grid: Grid, first: Grid, reduced: tuple[str, ...]
    ) -> Grid | None:
        sizes = tuple(self.draft.sizes[loop] for loop in body.loops)
        if math.prod(sizes) > LARGEST:
            return None
        axes = tuple(axis for axis, loop in enumerate(body.loops) if loop in reduced)
        wide = np.broadcast_to(in_float64(grid.array), sizes)
        folded = NUMPY_FOLDS[op](wide, axis=axes, keepdims=True)
        join = {"sum": np.add, "max": np.maximum, "min": np.minimum}
        join |= {"and": np.logical_and, "or": np.logical_or}
        # `first` does not vary over the loops that are folded.
        array = join[op](folded, in_float64(first.array))
        return Grid(array.astype(dtype_of(first.element)), first.element)


def _join(body: Body, op: str, parts: list[Meant], place: Location) -> Meant:
    """Combine what one iteration gives to a fold in several operations."""
    if op in ("and", "or"):
        found = body.condition(parts[0], place)
        for part in parts[1:]:
            other = body.condition(part, place)
            found = both(found, other) if op == "and" else either(found, other)
        return found
    algebra = Algebra(body.draft, place)
    combine = {"sum": algebra.add, "max": algebra.maximum, "min": algebra.minimum}[op]
    value = body.expression(parts[0], place)
    for part in parts[1:]:
        value = combine(value, body.expression(part, place))
    return value


def _is_identity(op: str, grid: Grid) -> bool:
    """Whether a fold may as well begin with nothing."""
    scalar = splat(grid.array)
    if scalar is None or op == "sum":
        return scalar == 0
    dtype = dtype_of(grid.element)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return scalar == float(limits.min if op == "max" else limits.max)
    # Some exports begin with the largest finite number: nothing that is folded lies beyond it.
    finite = float(np.finfo(np.float32 if grid.element == "bf16" else dtype).max)
    return scalar <= -finite if op == "max" else scalar >= finite


@dataclass(frozen=True)
class _Recurrence:
    """Finds the fold in how a result follows from the previous one."""

    body: Body
    begin: Value
    place: Location

    def split(self, value: Value) -> tuple[str, list[Meant]]:
        """Return the fold, and what an iteration gives to it."""
        op, parts = self._split(value)
        if not op:
            raise refused(self.place, "a reduction that does not use its previous result")
        return op, parts

    def _split(self, value: Value) -> tuple[str, list[Meant]]:
        if value is self.begin:
            return "", []
        operation = self.body.operations.get(value)
        if operation is None:
            raise self._no_fold("gives an operand")
        if operation.name in CASTS:
            return self._split(operation.operands[0])
        if operation.name == "arith.select":
            return self._selected(operation)
        ours = [v for v in operation.operands if self._reads(v)]
        if len(ours) != 1:
            raise self._no_fold(f"'{operation.name}'")
        inner, parts = self._split(ours[0])
        if operation.name in ("arith.subf", "arith.subi") and ours[0] is operation.operands[0]:
            op = "sum"
            part = self.body.expression(self.body.meaning(operation.operands[1]), self.place)
            own: list[Meant] = [Algebra(self.body.draft, self.place).neg(part)]
        elif operation.name in FOLDS:
            op = FOLDS[operation.name]
            own = [self.body.meaning(v) for v in operation.operands if v is not ours[0]]
        else:
            raise self._no_fold(f"'{operation.name}'")
        if inner not in ("", op):
            raise self._no_fold(f"'{operation.name}' of another fold")
        return op, [*parts, *own]

    def _selected(self, operation: Operation) -> tuple[str, list[Meant]]:
        """Return the maximum or minimum that a comparison with the previous result chooses."""
        condition, yes, no = operation.operands
        compared = self.body.operations.get(condition)
        if compared is None or compared.name not in ("arith.cmpf", "arith.cmpi"):
            raise self._no_fold("'arith.select'")
        names = FLOAT_COMPARES if compared.name == "arith.cmpf" else INT_COMPARES
        name = names[int(compared.attributes["predicate"])]
        left, right = compared.operands
        if {left, right} != {yes, no} or self.begin not in (yes, no) or name[1:2] not in "lg":
            raise self._no_fold("'arith.select'")
        larger = (name[1] == "g") == (left is yes)
        other = no if yes is self.begin else yes
        return ("max" if larger else "min"), [self.body.meaning(other)]

    def _reads(self, value: Value) -> bool:
        if value is self.begin:
            return True
        operation = self.body.operations.get(value)
        return operation is not None and any(map(self._reads, operation.operands))

    def _no_fold(self, what: str) -> MlirError:
        return refused(
            self.place,
            f"a reduction by {what}: only sums, maxima and minima of the previous result are folds",
        )


def softmax(draft: Draft, operation: Operation) -> Meaning:
    """Read ``linalg.softmax``, which MLIR's own pass leaves alone."""
    place = operation.location
    kind = type_of(operation.results[0], place)
    mode = int(operation.attributes["dimension"])
    known = draft.values.get(operation.operands[0])
    if isinstance(known, Known):
        array = in_float64(known.array)
        array = np.exp(array - array.max(mode, keepdims=True))
        array = array / array.sum(mode, keepdims=True)
        return Known(array.astype(dtype_of(kind.element)), kind.element)
    loops = tuple(map(draft.index, kind.shape))
    along = (loops[mode],)
    rest = tuple(loop for loop in loops if loop not in along)
    folded = replace(kind, shape=tuple(draft.sizes[loop] for loop in rest), encoding=None)
    every = tuple(map(Dim, range(kind.rank)))
    body = Body(draft, loops, {}, {}, place)
    value = body.expression(body.read(operation.operands[0], every), place)
    most = draft.compute(rest, Fold("max", along, value), folded, place)
    power = Unary("exp", Binary("sub", value, Access(most.name, rest)))
    part = Access(draft.compute(loops, power, kind, place).name, loops)
    total = draft.compute(rest, Fold("sum", along, part), folded, place)
    return draft.compute(loops, Binary("div", part, Access(total.name, rest)), kind, place)


def store(
    draft: Draft,
    meant: Meant,
    target: Sequence[str],
    kind: TensorType,
    loops: Sequence[str],
    place: Location,
) -> Meaning:
    """Return a value of a body as a tensor: a constant, a step, or deferred to its readers.

    Parameters
    ----------
    draft : Draft
    meant : Grid, Expr or Condition
    target, loops : sequence of str
        The index variables of the tensor, by mode, and of the loops, by axis of a grid.
    kind : TensorType
    place : Location
    """
    if isinstance(meant, Grid):
        return Known(_whole(draft, meant.array, target, loops), meant.element)
    if isinstance(meant, Condition) or _has_erf(meant):
        return Deferred(tuple(target), meant)
    if isinstance(meant, Access) and meant.indices == tuple(target):
        source = draft.types[meant.tensor]
        if source.shape == kind.shape and source.encoding == kind.encoding:
            if meant.tensor in draft.constants:
                return Known(draft.constants[meant.tensor], source.element)
            return Named(meant.tensor)
    return draft.compute(target, meant, kind, place)


def _whole(draft: Draft, array: Array, target: Sequence[str], loops: Sequence[str]) -> Array:
    """Return the elements of a grid by the modes of a tensor."""
    axes = [loops.index(index) for index in target if index in loops]
    array = array.reshape([1] * (len(loops) - array.ndim) + list(array.shape))
    # A grid of a fold has size 1 in the loops that are folded.
    rest = [axis for axis in range(len(loops)) if axis not in axes]
    moved = np.transpose(array, [*axes, *rest])[(..., *([0] * len(rest)))] if loops else array
    shape = tuple(draft.sizes[index] for index in target)
    sizes = iter(moved.shape)
    return np.broadcast_to(
        moved.reshape([next(sizes) if index in loops else 1 for index in target]), shape
    )


def _has_erf(expr: Expr) -> bool:
    return any(isinstance(part, Unary) and part.op == ERF for part in walk(expr))
