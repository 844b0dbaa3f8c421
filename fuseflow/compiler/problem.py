"""What every compiler step reads: results with the formats, fills and type of their tensors."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fuseflow.compiler.expr import (
    Access,
    Binary,
    Constant,
    Expr,
    Fold,
    Result,
    Statement,
    Unary,
    Where,
    walk,
)
from fuseflow.compiler.fills import Background, rounded
from fuseflow.compiler.passes import Passes
from fuseflow.compiler.sums import with_sums
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import LARGEST_RANK, Format, LevelKind
from fuseflow.samml.functions import FLOATING
from fuseflow.samml.graph import Extent
from fuseflow.samml.values import INT32, Number, ValueType


@dataclass(frozen=True)
class Problem:
    """What one graph computes, and what it is compiled for.

    Attributes
    ----------
    results : tuple of Result
        What the graph stores; one statement, or several that are fused.
    formats : mapping of str to Format
        One per tensor that the graph reads or stores.
    fills : mapping of str to number
        Of operands; 0 where one is not named.
    value : ValueType
    keep_explicit : bool
        Whether a compressed result may store entries that equal its fill.
    users : mapping of Access to str
        Which statement of a fused region reads or stores an access.
    passes : Passes
    origin : mapping of str to str
        The name that an index variable of a fused region has in its statement.

    Raises
    ------
    LoweringError
        A format is missing or has another rank than its tensor, a rank is not supported, a
        constant or fill is no value of the type, or the type lacks an operation.
    """

    results: tuple[Result, ...]
    formats: Mapping[str, Format]
    fills: Mapping[str, Number] = field(default_factory=dict[str, Number])
    value: ValueType = INT32
    keep_explicit: bool = False
    users: Mapping[Access, str] = field(default_factory=dict[Access, str])
    passes: Passes = field(default_factory=Passes)
    origin: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, statement: Statement, formats: Mapping[str, Format], **options: Any) -> "Problem":
        """Return the problem of one statement."""
        return cls((with_sums(statement),), formats, **options)

    def __post_init__(self) -> None:
        for part in self.parts():
            match part:
                case Constant(constant):
                    self._check_constant(constant)
                case Where(mask, _, fill):
                    self._check_mask(mask, fill)
                case Unary(op) | Binary(op) if op in FLOATING and not self.value.is_float:
                    raise LoweringError(
                        f"{self.value.name} has no {op}: use a floating-point type (--type fp32)"
                    )
                case _:
                    pass
        for name, fill in self.fills.items():
            if not self.value.holds(fill):
                raise LoweringError(
                    f"fill {fill} of '{name}' is no value of {self.value.name}: use a value type "
                    "that holds it (--type)"
                )
        for access in (*self.operands, *self.targets):
            if len(access.indices) > LARGEST_RANK:
                raise LoweringError(
                    f"'{access}' has rank {len(access.indices)}, above the supported "
                    f"{LARGEST_RANK}: merge modes beforehand"
                )
            form = self.formats.get(access.tensor)
            if form is None:
                raise LoweringError(f"tensor '{access.tensor}' has no format")
            if form.rank != len(access.indices):
                raise LoweringError(
                    f"'{access}' has rank {len(access.indices)}, its format {form} has rank "
                    f"{form.rank}: give a format with one letter per index"
                )

    def _check_constant(self, constant: Number) -> None:
        """Check that a constant is a whole number of an integer type, or rounds to a finite one."""
        value = self.value
        if value.is_float and not math.isfinite(rounded(constant, value)):
            raise LoweringError(
                f"constant {constant} is beyond {value.largest:.6g}, the largest value of "
                f"{value.name}: scale the operands instead, or use a wider type (--type)"
            )
        self._check_held("constant", constant)

    def _check_held(self, what: str, number: Number) -> None:
        if not self.value.is_float and not self.value.holds(number):
            raise LoweringError(
                f"{what} {number} is no value of {self.value.name}: use a value type that "
                "holds it (--type fp32)"
            )

    def _check_mask(self, mask: Access, fill: Number) -> None:
        self._check_held("fill", fill)
        form = self.formats.get(mask.tensor)
        if form is not None and LevelKind.COMPRESSED not in form.levels:
            raise LoweringError(
                f"mask '{mask}' is stored as {form}, which has every entry: store it in a format "
                "with a compressed level"
            )

    def parts(self) -> Iterator[Expr]:
        """Yield every part of every result's value, once."""
        return walk(*(result.value for result in self.results))

    @cached_property
    def operands(self) -> tuple[Access, ...]:
        """Every access that is read, in order of appearance, each once."""
        return tuple(dict.fromkeys(part for part in self.parts() if isinstance(part, Access)))

    @property
    def targets(self) -> tuple[Access, ...]:
        """Every access that is stored."""
        return tuple(result.target for result in self.results)

    @cached_property
    def indices(self) -> tuple[str, ...]:
        """Every index variable, in order of first appearance, the first target's first."""
        return tuple(
            dict.fromkeys(
                index for access in (*self.targets, *self.operands) for index in access.indices
            )
        )

    def __str__(self) -> str:
        return "; ".join(str(target) for target in self.targets)

    @cached_property
    def background(self) -> Background:
        """The values of expressions where no operand stores an entry."""
        return Background(
            {
                access.tensor: self.fills.get(access.tensor, 0)
                for access in self.operands
                if LevelKind.COMPRESSED in self.formats[access.tensor].levels
            },
            self.value,
        )

    def result_fill(self, result: Result) -> Number:
        """Return the value of a result's entries at which no operand stores anything.

        Where there is none, that of a fold over nothing, or else 0.
        """
        found = self.background(result.value)
        if found is None and isinstance(result.value, Fold):
            return self.value.identity(result.value.op)
        return found or 0

    def storage(self, access: Access) -> tuple[str, ...]:
        """Return an access's index variables by storage level, outermost first."""
        return tuple(access.indices[mode] for mode in self.formats[access.tensor].order)

    def kind(self, access: Access, level: int) -> LevelKind:
        """Return how a storage level of an access is stored."""
        return self.formats[access.tensor].levels[level]

    def dense(self, result: Result) -> set[str]:
        """Return the index variables whose level the result stores densely."""
        return {
            index
            for level, index in enumerate(self.storage(result.target))
            if self.kind(result.target, level) is LevelKind.DENSE
        }

    def extent(self, index: str) -> Extent:
        """Return a run-time size of an index variable: that of the first operand that has it."""
        for access in self.operands:
            if index in access.indices:
                return Extent(access.tensor, access.indices.index(index))
        raise AssertionError(f"index {index} occurs in no operand")
