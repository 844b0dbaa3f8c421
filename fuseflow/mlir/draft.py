"""What has been read of a function so far: its values by what they mean, and the steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from fuseflow.compiler.expr import Access, Constant, Expr, Unary, walk
from fuseflow.mlir.conditions import Condition, renamed, renamed_condition
from fuseflow.mlir.errors import refused
from fuseflow.mlir.module import (
    Array,
    Complement,
    Compute,
    Concat,
    Location,
    Reshape,
    Slice,
    Step,
    TensorType,
)
from fuseflow.mlir.syntax import OtherType, Value
from fuseflow.samml.values import number

ERF = "erf"
"""The operation of one operand that stands for ``erf(x / sqrt 2)`` until it is part of a gelu."""

UNUSUAL = ("index", "i16", "ui8")


@dataclass(frozen=True, eq=False)
class Known:
    """A constant."""

    array: Array
    element: str


@dataclass(frozen=True)
class Blank:
    """What ``tensor.empty`` gives: a shape."""


@dataclass(frozen=True)
class Named:
    """An argument or the target of a step."""

    name: str


@dataclass(frozen=True)
class Deferred:
    """What is not a step of its own but written out wherever it is read.

    Attributes
    ----------
    indices : tuple of str
        By mode.
    body : Expr or Condition
    """

    indices: tuple[str, ...]
    body: Expr | Condition


Groups: TypeAlias = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
Meaning: TypeAlias = Known | Blank | Named | Deferred


@dataclass
class Draft:
    """The tables of the function that is being read."""

    values: dict[Value, Meaning] = field(default_factory=dict[Value, Meaning])
    types: dict[str, TensorType] = field(default_factory=dict[str, TensorType])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    steps: dict[str, Step] = field(default_factory=dict[str, Step])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    arguments: list[str] = field(default_factory=list[str])
    _constant_names: dict[int, tuple[Array, str]] = field(
        default_factory=dict[int, tuple[Array, str]]
    )
    _masks: dict[str, str] = field(default_factory=dict[str, str])
    _complements: dict[str, str] = field(default_factory=dict[str, str])

    def index(self, size: int) -> str:
        """Return a new index variable."""
        name = f"i{len(self.sizes)}"
        self.sizes[name] = size
        return name

    def fresh(self, index: str) -> str:
        """Return a new index variable of the size of another."""
        return self.index(self.sizes[index])

    def argument(self, value: Value, location: Location) -> None:
        """Enter an argument of the function."""
        kind = type_of(value, location)
        if kind.element in UNUSUAL:
            raise refused(
                location, f"an argument has elements of type {kind.element}: use f32 or i32"
            )
        name = f"arg{len(self.arguments)}"
        self.arguments.append(name)
        self.types[name] = kind
        self.values[value] = Named(name)

    def constant(self, array: Array, element: str) -> str:
        """Return the name of a constant; of one array it is always the same."""
        if id(array) not in self._constant_names:
            name = f"c{len(self.constants)}"
            self.constants[name] = array
            self.types[name] = TensorType(array.shape, element)
            self._constant_names[id(array)] = array, name
        return self._constant_names[id(array)][1]

    def target(self, kind: TensorType) -> str:
        """Return the name of a new value."""
        name = f"v{len(self.steps)}"
        self.types[name] = kind
        return name

    def compute(
        self, indices: Sequence[str], value: Expr, kind: TensorType, location: Location
    ) -> Named:
        """Add an Einsum."""
        if any(isinstance(part, Unary) and part.op == ERF for part in walk(value)):
            raise refused(
                location,
                "'math.erf' is computed as a part of gelu only: 0.5 * x * (1 + erf(x / sqrt(2)))",
            )
        target = self.target(kind)
        self.steps[target] = Compute(target, tuple(indices), value, location)
        return Named(target)

    def add(self, step: Reshape | Slice | Concat | Complement) -> Named:
        """Add a step whose target has been named."""
        self.steps[step.target] = step
        return Named(step.target)

    def written_out(self, meaning: Deferred, indices: Sequence[str]) -> Expr | Condition:
        """Return what a deferred value is at index variables."""
        names = dict(zip(meaning.indices, indices, strict=True))
        if isinstance(meaning.body, Condition):
            return renamed_condition(meaning.body, names, self.fresh)
        return renamed(meaning.body, names, self.fresh)

    def seen_through(self, expr: Expr) -> Expr:
        """Return the value of the step that an access reads, through modes of size 1."""
        while isinstance(expr, Access):
            match self.steps.get(expr.tensor):
                case Compute(_, indices, value):
                    names = dict(zip(indices, expr.indices, strict=True))
                    expr = renamed(value, names, self.fresh)
                    if not isinstance(value, Access):
                        return expr
                case Reshape(_, source, groups):
                    through = self._through(expr, source, groups)
                    if through is None:
                        return expr
                    expr = through
                case _:
                    return expr
        return expr

    def _through(
        self,
        access: Access,
        source: str,
        groups: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...],
    ) -> Access | None:
        kind = self.types[source]
        indices = [""] * kind.rank
        for sources, targets in groups:
            wide = [mode for mode in sources if kind.shape[mode] != 1]
            index = [
                access.indices[mode] for mode in targets if self.sizes[access.indices[mode]] != 1
            ]
            if len(wide) > 1 or len(index) != len(wide):
                return None
            for mode in sources:
                indices[mode] = index[0] if mode in wide else self.index(1)
        return Access(source, tuple(indices))

    def is_input(self, name: str) -> bool:
        """Whether a value is an argument or a constant, or a view of one."""
        match self.steps.get(name):
            case None:
                return True
            case Reshape(_, source) | Slice(_, source) | Complement(_, source):
                return self.is_input(source)
            case Compute(_, _, Access(source)):
                return self.is_input(source)
            case _:
                return False

    def complement(self, mask: Access, location: Location) -> Access:
        """Return the mask of where another is zero."""
        name = mask.tensor
        if name not in self._complements:
            kind = replace(self.types[name], element="i1", encoding=None)
            if name in self.constants:
                made = self.constant(self.constants[name] == 0, "i1")
            else:
                made = self.target(kind)
                self.add(Complement(made, name, location))
            self._complements[name] = made
            self._complements[made] = name
        return Access(self._complements[name], mask.indices)

    def mask_of(self, constant: str, kept: Array) -> str:
        """Return the constant mask of a constant: the same for every use of it."""
        if constant not in self._masks:
            self._masks[constant] = self.constant(kept, "i1")
        return self._masks[constant]

    def single(self, access: Access) -> Expr:
        """Return a number in place of a constant that is the same everywhere."""
        array = self.constants.get(access.tensor)
        scalar = None if array is None else splat(array)
        return access if scalar is None else Constant(number(float(scalar)))


def type_of(value: Value, location: Location) -> TensorType:
    """Return the type of a value.

    Raises
    ------
    MlirError
        It has none that could be computed with.
    """
    if isinstance(value.type, OtherType):
        raise refused(location, f"a value of type {value.type.text}: {value.type.why}")
    return value.type


def splat(array: Array) -> float | None:
    """Return the number that all elements of an array are, if they are one."""
    if array.size == 0:
        return None
    first = array.flat[0]
    if any(array.strides) and not np.all(array == first):
        return None
    return float(first)


def used_names(steps: Mapping[str, Step], results: Sequence[str]) -> set[str]:
    """Return the values that results need, themselves included."""
    needed: set[str] = set()
    rest = list(results)
    while rest:
        name = rest.pop()
        if name not in needed:
            needed.add(name)
            if name in steps:
                rest.extend(sources(steps[name]))
    return needed


def sources(step: Step) -> tuple[str, ...]:
    """Return the values that a step reads."""
    match step:
        case Compute(_, _, value):
            return tuple(part.tensor for part in walk(value) if isinstance(part, Access))
        case Concat(_, several):
            return several
        case Reshape(_, source) | Slice(_, source) | Complement(_, source):
            return (source,)
