"""The body of a ``linalg.generic``: what its values are at the loops around it.

A value that depends on constants and loops alone is a `Grid`, and NumPy computes it. All others
are expressions of index variables, or conditions.
"""

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from fuseflow.compiler.expr import Access, Expr, Fold, chain
from fuseflow.mlir.algebra import ZERO, Algebra
from fuseflow.mlir.conditions import Condition, Stored, Truth, both, either, opposite
from fuseflow.mlir.draft import Blank, Deferred, Draft, Known, Named, splat, type_of
from fuseflow.mlir.elements import dtype_of
from fuseflow.mlir.errors import refused
from fuseflow.mlir.module import Array, Location
from fuseflow.mlir.scalars import (
    CASTS,
    FLOAT_COMPARES,
    INT_COMPARES,
    NUMPY,
    SAME,
    SYMBOLIC,
    compare,
    constant,
    in_float64,
)
from fuseflow.mlir.selection import NO_NAN, Selection
from fuseflow.mlir.syntax import (
    Affine,
    AffineMap,
    Arithmetic,
    Dim,
    Fixed,
    Operation,
    Value,
    evaluate,
)

LARGEST = 1 << 26
"""Iterations over constants that are computed while reading: more are left to run."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A constant at every iteration.

    Attributes
    ----------
    array : ndarray
        One axis a loop, of size 1 where it does not vary.
    element : str
    origin : (Known, tuple of str) or None
        The constant of the module that it is, and its index variables.
    """

    array: Array
    element: str
    origin: tuple[Known, tuple[str, ...]] | None = None


Meant: TypeAlias = Grid | Expr | Condition


def _is_computed(place: Affine, size: int) -> bool:
    """Whether a mode is read at other places than those of one loop."""
    return not isinstance(place, Dim) and not (place == Fixed(0) and size == 1)


def _is_diagonal(where: AffineMap, shape: tuple[int, ...]) -> bool:
    """Whether one loop reads several modes."""
    loops = [p for p, size in zip(where, shape, strict=True) if isinstance(p, Dim) and size > 1]
    return len(set(loops)) < len(loops)


@dataclass
class Body:
    """Computes what values of a block are, each once and only if it is asked for.

    Parameters
    ----------
    draft : Draft
    loops : tuple of str
        The index variables.
    operations : mapping of Value to Operation
        What defines the values of the block.
    operands : mapping of Value to (Value, AffineMap)
        By argument of the block, the value outside and where it is read.
    place : Location
    """

    draft: Draft
    loops: tuple[str, ...]
    operations: dict[Value, Operation]
    operands: dict[Value, tuple[Value, AffineMap]]
    place: Location
    _done: dict[Value, Meant] = field(default_factory=dict[Value, Meant])

    def meaning(self, value: Value) -> Meant:
        """Return what a value is."""
        if value not in self._done:
            self._done[value] = self._meaning(value)
        return self._done[value]

    def _meaning(self, value: Value) -> Meant:
        if value in self.operands:
            outside, where = self.operands[value]
            return self.read(outside, where)
        if value not in self.operations:
            return self.read(value, ())
        return self._compute(self.operations[value])

    # Operands

    def read(self, value: Value, where: AffineMap) -> Meant:
        """Return an element of a value outside, at the loops or at places that they give."""
        match self.draft.values.get(value):
            case Known() as known:
                return self._grid(known, where)
            case Named(name):
                shape = self.draft.types[name].shape
                if any(map(_is_computed, where, shape)) or _is_diagonal(where, shape):
                    return self._gather(name, [self._place_grid(place) for place in where])
                return self._stored(name, self._indices(where, shape))
            case Deferred() as deferred:
                sizes = [self.draft.sizes[index] for index in deferred.indices]
                return self.draft.written_out(deferred, self._indices(where, tuple(sizes)))
            case Blank():
                raise refused(
                    self.place, "reads what 'tensor.empty' leaves undefined: fill it first"
                )
            case None:
                raise refused(self.place, "reads a value from outside of the function")

    def _stored(self, name: str, indices: tuple[str, ...]) -> Meant:
        access = Access(name, indices)
        return Stored(access) if self.draft.types[name].element == "i1" else access

    def _indices(self, where: AffineMap, shape: tuple[int, ...]) -> tuple[str, ...]:
        indices: list[str] = []
        for place, size in zip(where, shape, strict=True):
            match place:
                case Dim(loop) if self.loops[loop] not in indices:
                    indices.append(self.loops[loop])
                case Dim(loop) if size != 1:
                    raise refused(
                        self.place,
                        f"reads the diagonal of a mask (d{loop} twice): take it beforehand",
                    )
                case _:
                    indices.append(self.draft.index(1))
        return tuple(indices)

    def _grid(self, known: Known, where: AffineMap) -> Grid:
        count = len(self.loops)
        dims = [place.position for place in where if isinstance(place, Dim)]
        if len(dims) == len(set(dims)) and not any(isinstance(p, Arithmetic) for p in where):
            for mode, (place, size) in enumerate(zip(where, known.array.shape, strict=True)):
                if isinstance(place, Fixed):
                    self._check_inside(mode, size, np.asarray(place.value))
            fixed = tuple(p.value if isinstance(p, Fixed) else slice(None) for p in where)
            array = np.transpose(known.array[fixed], np.argsort(dims))
            sizes = iter(array.shape)
            shape = [next(sizes) if loop in dims else 1 for loop in range(count)]
            whole = not any(map(_is_computed, where, known.array.shape))
            indices = self._indices(where, known.array.shape) if whole else ()
            return Grid(array.reshape(shape), known.element, (known, indices) if whole else None)
        places = [self._place_grid(place) for place in where]
        for mode, (place, size) in enumerate(zip(places, known.array.shape, strict=True)):
            self._check_inside(mode, size, place)
        return Grid(known.array[tuple(np.broadcast_arrays(*places))], known.element)

    def _place_grid(self, place: Affine) -> Array:
        """Return what an affine expression is at every iteration."""
        count = len(self.loops)
        axes = [
            np.arange(self.draft.sizes[loop]).reshape(
                [-1 if a == axis else 1 for a in range(count)]
            )
            for axis, loop in enumerate(self.loops)
        ]
        array = np.asarray(evaluate(place, axes))
        return array.reshape(array.shape or (1,) * count)

    def _check_inside(self, mode: int, size: int, place: Array) -> None:
        if place.min(initial=0) < 0 or place.max(initial=-1) >= size:
            raise refused(self.place, f"reads mode {mode}, of size {size}, outside of it")

    def _gather(self, name: str, places: list[Array]) -> Expr:
        """Return the elements of a tensor at constant places, by products that select them.

        Windows of convolutions and unfolded tensors are read so: a mode is summed over with a
        constant that has one 1 for every place.
        """
        kind = self.draft.types[name]
        if kind.element == "i1":
            raise refused(self.place, "reads a mask at computed places: use numbers instead")
        indices: list[str] = []
        chosen: list[Expr] = []
        for mode, (place, size) in enumerate(zip(places, kind.shape, strict=True)):
            self._check_inside(mode, size, place)
            varying = [axis for axis, count in enumerate(place.shape) if count != 1]
            flat = place.reshape([place.shape[axis] for axis in varying])
            whole = len(varying) == 1 and np.array_equal(flat, np.arange(size))
            if whole and self.loops[varying[0]] not in indices:
                indices.append(self.loops[varying[0]])
                continue
            indices.append(self.draft.index(size))
            if size != 1:
                one = (flat[..., None] == np.arange(size)).astype(dtype_of(kind.element))
                selected = (*(self.loops[axis] for axis in varying), indices[-1])
                chosen.append(Access(self.draft.constant(one, kind.element), selected))
        product = chain("mul", [Access(name, tuple(indices)), *chosen])
        inner = tuple(access.indices[-1] for access in chosen if isinstance(access, Access))
        return Fold("sum", inner, product) if inner else product

    # Operations

    def _compute(self, operation: Operation) -> Meant:
        name, place = operation.name, operation.location
        match name:
            case "linalg.index":
                loop = int(operation.attributes["dim"])
                shape = [1] * len(self.loops)
                shape[loop] = -1
                return Grid(np.arange(self.draft.sizes[self.loops[loop]]).reshape(shape), "index")
            case "arith.constant":
                array = np.asarray(operation.attributes["value"])
                element = type_of(operation.results[0], place).element
                return Grid(array.astype(dtype_of(element)).reshape([1] * len(self.loops)), element)
            case _:
                pass
        if name not in NUMPY and name not in CASTS and name not in ("arith.cmpf", "arith.cmpi"):
            if name == "tensor.extract":
                return self._extract(operation)
            raise refused(place, f"'{name}' has no meaning in the body of a linalg operation")
        operands = [self._operand(operand, place) for operand in operation.operands]
        boolean = type_of(operation.results[0], place).element == "i1"
        grids = [operand for operand in operands if isinstance(operand, Grid)]
        if len(grids) == len(operands):
            shape = np.broadcast_shapes(*(grid.array.shape for grid in grids))
            if math.prod(shape) <= LARGEST or name not in SYMBOLIC:
                return self._fold(operation, grids)
        if name == "arith.select":
            return self._select(operation, operands)
        if name in ("arith.cmpf", "arith.cmpi"):
            return self._compare(operation, operands)
        if name in CASTS:
            return self._cast(operation, operands[0])
        if boolean:
            return self._logic(operation, operands)
        if name not in SYMBOLIC:
            raise refused(
                place, f"'{name}' is computed of constants only: there is no hardware for it"
            )
        algebra = Algebra(self.draft, place)
        return SYMBOLIC[name](algebra, *(self.expression(operand, place) for operand in operands))

    def _operand(self, value: Value, place: Location) -> Meant:
        """Return an operand; a mask that was cast is a number."""
        meant = self.meaning(value)
        if isinstance(meant, Condition) and type_of(value, place).element != "i1":
            return self.expression(meant, place)
        return meant

    def _fold(self, operation: Operation, operands: list[Grid]) -> Grid:
        """Compute with constants, and round to the type of the result."""
        element = type_of(operation.results[0], operation.location).element
        arrays = [in_float64(operand.array) for operand in operands]
        name = operation.name
        with np.errstate(all="ignore"):
            if name in ("arith.cmpf", "arith.cmpi"):
                names = FLOAT_COMPARES if name == "arith.cmpf" else INT_COMPARES
                found = compare(names[int(operation.attributes["predicate"])], *arrays)
            elif name not in CASTS:
                found = NUMPY[name](*arrays)
            elif name in ("arith.sitofp", "arith.extsi") and operands[0].element == "i1":
                found = -arrays[0].astype(np.int64)
            elif name == "arith.trunci" and element == "i1":
                found = arrays[0] & 1
            else:
                found = arrays[0]
            return Grid(np.asarray(found).astype(dtype_of(element)), element)

    def _select(self, operation: Operation, operands: list[Meant]) -> Meant:
        place = operation.location
        condition = self.condition(operands[0], place)
        if isinstance(condition, Truth):
            return operands[1] if condition.value else operands[2]
        if type_of(operation.results[0], place).element == "i1":
            yes, no = (self.condition(operand, place) for operand in operands[1:])
            return either(both(condition, yes), both(opposite(condition), no))
        yes, no = (self.expression(operand, place) for operand in operands[1:])
        return Selection(self.draft, place).select(condition, yes, no)

    def _compare(self, operation: Operation, operands: list[Meant]) -> Condition:
        place = operation.location
        names = FLOAT_COMPARES if operation.name == "arith.cmpf" else INT_COMPARES
        name = names[int(operation.attributes["predicate"])]
        selection = Selection(self.draft, place)
        if type_of(operation.operands[0], place).element == "i1":
            left, right = (self.condition(operand, place) for operand in operands)
            if name not in ("eq", "ne"):
                raise refused(
                    place, f"'{operation.name}' compares conditions by '{name}': use eq or ne"
                )
            unlike = selection.exclusive(left, right)
            return unlike if name == "ne" else opposite(unlike)
        if name in ("true", "false"):
            return Truth(name == "true")
        left, right = (self.expression(operand, place) for operand in operands)
        if left == right and name in ("ord", "uno", "oeq", "une"):
            found = selection.is_nan(left)
            return found if name in ("uno", "une") else opposite(found)
        if name in ("ord", "uno"):
            raise refused(place, f"'{operation.name}' {NO_NAN}")
        op = name if name in ("eq", "ne") else name[1:]
        return selection.compare(op, left, right)

    def _cast(self, operation: Operation, operand: Meant) -> Meant:
        place = operation.location
        element = type_of(operation.results[0], place).element
        if isinstance(operand, Condition):
            found = Selection(self.draft, place).number(operand)
            signed = operation.name in ("arith.sitofp", "arith.extsi")
            return Algebra(self.draft, place).neg(found) if signed else found
        assert not isinstance(operand, Grid)
        if operation.name == "arith.trunci" and element == "i1":
            return Selection(self.draft, place).compare("ne", operand, ZERO)
        if operation.name in SAME:
            return operand
        raise refused(place, f"'{operation.name}' is computed of constants only: it rounds")

    def _logic(self, operation: Operation, operands: list[Meant]) -> Condition:
        place = operation.location
        left, right = (self.condition(operand, place) for operand in operands[:2])
        match operation.name:
            case "arith.andi" | "arith.muli" | "arith.minui":
                return both(left, right)
            case "arith.ori" | "arith.maxui":
                return either(left, right)
            case "arith.xori":
                return Selection(self.draft, place).exclusive(left, right)
            case _:
                raise refused(
                    place, f"'{operation.name}' computes with conditions: use and, or, xor"
                )

    def _extract(self, operation: Operation) -> Meant:
        source, *places = operation.operands
        place = operation.location
        found = [self.meaning(index) for index in places]
        known = self.draft.values.get(source)
        grids = [index.array for index in found if isinstance(index, Grid)]
        if not found:
            return self.read(source, ())
        if isinstance(known, Known) and len(grids) == len(found):
            return Grid(known.array[tuple(np.broadcast_arrays(*grids))], known.element)
        if isinstance(known, Named) and len(grids) == len(found):
            return self._gather(known.name, grids)
        raise refused(
            place,
            "'tensor.extract' reads elements at computed places: multiply by a matrix that "
            "selects them",
        )

    # Between the kinds of values

    def expression(self, meant: Meant, place: Location) -> Expr:
        """Return a value as an expression; a condition as 0 or 1."""
        if isinstance(meant, Grid):
            scalar = splat(meant.array)
            return self._access(meant) if scalar is None else constant(scalar)
        if isinstance(meant, Condition):
            return Selection(self.draft, place).number(meant)
        return meant

    def condition(self, meant: Meant, place: Location) -> Condition:
        """Return a value of type i1 as a condition."""
        if isinstance(meant, Grid):
            scalar = splat(meant.array)
            return Stored(self._access(meant)) if scalar is None else Truth(bool(scalar))
        if isinstance(meant, Condition):
            return meant
        return Selection(self.draft, place).compare("ne", meant, ZERO)

    def _access(self, grid: Grid) -> Access:
        """Name a constant."""
        if grid.origin is not None:
            known, indices = grid.origin
            return Access(self.draft.constant(known.array, known.element), indices)
        varying = [loop for loop, size in enumerate(grid.array.shape) if size != 1]
        array = grid.array.reshape([grid.array.shape[loop] for loop in varying])
        name = self.draft.constant(array, grid.element)
        return Access(name, tuple(self.loops[loop] for loop in varying))
