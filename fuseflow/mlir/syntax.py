"""Operations, blocks and affine maps of MLIR as plain data, so that one file needs its bindings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fuseflow.mlir.module import Array, Location, TensorType


@dataclass(frozen=True)
class Dim:
    """A loop of an affine map, from 0."""

    position: int

    def __str__(self) -> str:
        return f"d{self.position}"


@dataclass(frozen=True)
class Fixed:
    """A number in an affine map."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Arithmetic:
    """``left op right`` in an affine map; the operation is as MLIR writes it."""

    op: str
    left: "Affine"
    right: "Affine"

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


Affine: TypeAlias = Dim | Fixed | Arithmetic
AffineMap: TypeAlias = tuple[Affine, ...]


def evaluate(affine: Affine, loops: list[Array]) -> Array | int:
    """Return what an affine expression is at the values of the loops."""
    match affine:
        case Dim(position):
            return loops[position]
        case Fixed(value):
            return value
        case Arithmetic(op, left, right):
            a, b = evaluate(left, loops), evaluate(right, loops)
            match op:
                case "+":
                    return a + b
                case "*":
                    return a * b
                case "mod":
                    return a % b
                case "floordiv":
                    return a // b
                case _:
                    return -(-a // b)


@dataclass(frozen=True)
class OtherType:
    """A type that has no meaning here.

    Attributes
    ----------
    text : str
        As MLIR writes it.
    why : str
    """

    text: str
    why: str


@dataclass(frozen=True, eq=False)
class Value:
    """What an operation gives or a block is given; each is itself only. A scalar has rank 0."""

    type: TensorType | OtherType


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation.

    Attributes
    ----------
    name : str
        With its dialect: ``linalg.generic``.
    operands, results : tuple of Value
    attributes : mapping of str to object
        Numbers, strings, lists of them, affine maps and arrays; what is none of these, as text.
    blocks : tuple of Block
        Of all its regions.
    location : Location
    """

    name: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: Mapping[str, Any]
    blocks: tuple["Block", ...]
    location: Location


@dataclass(frozen=True, eq=False)
class Block:
    """Operations in order; the last is the terminator."""

    arguments: tuple[Value, ...]
    operations: tuple[Operation, ...]


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a module.

    Attributes
    ----------
    name : str
    blocks : tuple of Block
    location : Location
    """

    name: str
    blocks: tuple[Block, ...]
    location: Location = field(default=Location())
