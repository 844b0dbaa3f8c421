"""What every compiler step reads: a statement with the formats, fills and type of its tensors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fuseflow.compiler.expr import Access, Expr, Statement, constants
from fuseflow.compiler.fills import annihilates, background, rounded
from fuseflow.compiler.sums import with_sums
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import LARGEST_RANK, Format, LevelKind
from fuseflow.samml.graph import Extent
from fuseflow.samml.values import INT32, Number, ValueType


@dataclass(frozen=True)
class Problem:
    """A statement and what it is compiled for.

    Attributes
    ----------
    statement : Statement
    formats : mapping of str to Format
        One per tensor of the statement.
    fills : mapping of str to number
        Of operands; 0 where one is not named.
    value : ValueType
    keep_explicit : bool
        Whether a compressed result may store entries that equal its fill.

    Raises
    ------
    LoweringError
        A format is missing or has another rank than its tensor, a rank is not supported, or a
        constant is no value of the type.
    """

    statement: Statement
    formats: Mapping[str, Format]
    fills: Mapping[str, Number] = field(default_factory=dict[str, Number])
    value: ValueType = INT32
    keep_explicit: bool = False

    def __post_init__(self) -> None:
        for constant in constants(self.statement.value):
            self._check_constant(constant)
        for access in (self.statement.target, *self.statement.operands):
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
        if not value.is_float and not value.holds(constant):
            raise LoweringError(
                f"constant {constant} is no value of {value.name}: use a value type that "
                "holds it (--type fp32)"
            )

    @cached_property
    def _fills(self) -> dict[str, Number]:
        """Fills of the operands that may lack a point."""
        return {
            access.tensor: self.fills.get(access.tensor, 0)
            for access in self.statement.operands
            if LevelKind.COMPRESSED in self.formats[access.tensor].levels
        }

    def background(self, expr: Expr) -> Number | None:
        """Return the value of an expression where no operand stores an entry."""
        return background(expr, self._fills, self.value)

    def decides(self, op: str, expr: Expr) -> bool:
        """Whether an operand decides the result of an operation where it stores nothing."""
        return annihilates(op, self.value, self.background(expr))

    @cached_property
    def result_fill(self) -> Number:
        """The value of a result entry at which no operand stores anything; or else 0."""
        return self.background(with_sums(self.statement)) or 0

    @property
    def target(self) -> Access:
        """The result's access."""
        return self.statement.target

    def storage(self, access: Access) -> tuple[str, ...]:
        """Return an access's index variables by storage level, outermost first."""
        return tuple(access.indices[mode] for mode in self.formats[access.tensor].order)

    def kind(self, access: Access, level: int) -> LevelKind:
        """Return how a storage level of an access is stored."""
        return self.formats[access.tensor].levels[level]

    def result_kind(self, index: str) -> LevelKind:
        """Return how the result stores the level of one of its index variables."""
        return self.kind(self.target, self.storage(self.target).index(index))

    def extent(self, index: str) -> Extent:
        """Return a run-time size of an index variable: that of the first operand that has it."""
        for access in self.statement.operands:
            if index in access.indices:
                return Extent(access.tensor, access.indices.index(index))
        raise AssertionError(f"index {index} occurs in no operand")
