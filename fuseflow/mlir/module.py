"""A module of linalg on tensors as this compiler sees it: index expressions and views.

The reader (`fuseflow.mlir.read`) makes one of the text of a module; `fuseflow.mlir.link` makes a
program of Einsums of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fuseflow.compiler.expr import Expr
from fuseflow.samml.formats import Format

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Location:
    """Where an operation comes from; it prints as ``file:line:column``.

    Attributes
    ----------
    file : str
        Empty where it is unknown.
    line, column : int
        From 1; 0 where they are unknown.
    scope : str
        The part of a model that it belongs to, such as ``layers.0.attention``: a name that the
        location of the operation has. It is not printed.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    scope: str = ""

    def __str__(self) -> str:
        known = [self.file or "unknown location", *filter(None, (self.line, self.column))]
        return ":".join(map(str, known))


@dataclass(frozen=True)
class Encoding:
    """How a tensor of the module is stored: ``#sparse_tensor.encoding``.

    Attributes
    ----------
    format : Format
        Of the tensor whose modes are split into blocks: of rank 4 for blocks of a matrix. Its mode
        order counts the split modes: the outer part of mode 0, its inner part if any, and so on.
    blocks : tuple of int
        By mode of the tensor, the size of the blocks that it is split into; 1 for none.
    """

    format: Format
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class TensorType:
    """The type of a value.

    Attributes
    ----------
    shape : tuple of int
    element : str
        As MLIR writes it: ``f32``, ``bf16``, ``i1``, ...
    encoding : Encoding or None
    """

    shape: tuple[int, ...]
    element: str
    encoding: Encoding | None = None

    @property
    def rank(self) -> int:
        """How many modes it has."""
        return len(self.shape)


@dataclass(frozen=True)
class Compute:
    """``target(indices) = value``, an Einsum over the whole shapes.

    An access of the value has one index variable a mode of its tensor, each a different one; an
    index that an affine map gives as 0, because the mode has size 1, is a variable of its own. The
    fill of `where` and constants are numbers. Every reduction is a `Fold`, none is implicit; and
    an index of the target need not occur in the value (a broadcast).

    Attributes
    ----------
    target : str
    indices : tuple of str
    value : Expr
    location : Location
    """

    target: str
    indices: tuple[str, ...]
    value: Expr
    location: Location = Location()


@dataclass(frozen=True)
class Reshape:
    """The same elements in row-major order, by groups of modes.

    Attributes
    ----------
    target, source : str
    groups : tuple of (tuple of int, tuple of int)
        Consecutive modes of the source, and the consecutive modes of the target that they become;
        one of the two may have none, where the sizes of the other are 1.
    location : Location
    """

    target: str
    source: str
    groups: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    location: Location = Location()


@dataclass(frozen=True)
class Slice:
    """A part of every mode.

    Attributes
    ----------
    target, source : str
    offsets, sizes, strides : tuple of int
        By mode; the target has the sizes.
    location : Location
    """

    target: str
    source: str
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    location: Location = Location()


@dataclass(frozen=True)
class Concat:
    """Tensors one behind the other along a mode.

    Attributes
    ----------
    target : str
    sources : tuple of str
    mode : int
    location : Location
    """

    target: str
    sources: tuple[str, ...]
    mode: int
    location: Location = Location()


@dataclass(frozen=True)
class Complement:
    """The mask of where another is not: 1 where the source is 0, and 0 elsewhere.

    Attributes
    ----------
    target, source : str
        The source is an argument or computed: a constant mask has a constant complement.
    location : Location
    """

    target: str
    source: str
    location: Location = Location()


Step: TypeAlias = Compute | Reshape | Slice | Concat | Complement


@dataclass(frozen=True)
class Module:
    """One function of a module.

    Attributes
    ----------
    name : str
    arguments, results : tuple of str
        Names of values: ``arg0``, and so on; an argument or constant may be a result, and a value
        that the function gives back twice stands there twice.
    types : mapping of str to TensorType
        Of every value: an argument, a constant or the target of a step.
    constants : mapping of str to ndarray
        What their elements are; of splats too, unless they are read as numbers.
    steps : tuple of Step
        Each reads what stands before it; none is without a reader or a result.
    """

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    types: Mapping[str, TensorType]
    constants: Mapping[str, Array] = field(default_factory=dict[str, np.ndarray])
    steps: tuple[Step, ...] = ()
