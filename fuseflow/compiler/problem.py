"""What every compiler step reads: a statement in normal form with the formats of its tensors."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fuseflow.compiler.expr import Access, Product, Statement, products
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.graph import Extent


@dataclass(frozen=True)
class Problem:
    """A statement and the formats that it is compiled for.

    Attributes
    ----------
    statement : Statement
    formats : mapping of str to Format
        One per tensor of the statement.

    Raises
    ------
    LoweringError
        A format is missing or has another rank than its tensor.
    """

    statement: Statement
    formats: Mapping[str, Format]

    def __post_init__(self) -> None:
        for access in (self.statement.target, *self.statement.operands):
            form = self.formats.get(access.tensor)
            if form is None:
                raise LoweringError(f"tensor '{access.tensor}' has no format")
            if form.rank != len(access.indices):
                raise LoweringError(
                    f"'{access}' has rank {len(access.indices)}, its format {form} has rank "
                    f"{form.rank}: give a format with one letter per index"
                )

    @cached_property
    def terms(self) -> tuple[Product, ...]:
        """The signed products that are summed."""
        return products(self.statement.value)

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
