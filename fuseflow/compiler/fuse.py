"""Fusing statements: every intermediate becomes a part of the results that need it.

An intermediate is never stored inside a region (DESIGN section 5.3).  Its value stands where it is
read, under the reader's index variables; what is read twice under the same variables is one part,
which is computed once.  A private variable of a statement keeps its name where no reader means
something else by it: then a row that two readers iterate alike is one stream.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeAlias, cast

from networkx.utils import UnionFind  # pyright: ignore[reportMissingTypeStubs]

from fuseflow.compiler.expr import (
    Access,
    Expr,
    Fold,
    Result,
    Rewriter,
    Statement,
    Where,
    walk,
)
from fuseflow.compiler.sums import with_sums
from fuseflow.samml.errors import LoweringError

MOST_LOOPS = 32
"""Index variables of the largest region: what is read under other variables is computed again."""

Place: TypeAlias = "tuple[str, int] | tuple[int, str]"
"""A mode of a tensor, or an index variable of a statement."""


@dataclass(frozen=True)
class Fused:
    """Statements fused.

    Attributes
    ----------
    results : tuple of Result
        What is stored, in terms of the region's inputs.
    origin : dict of str to str
        The name that every index variable has in its statement.
    users : dict of Access to str
        The statement that reads or stores an access.
    """

    results: tuple[Result, ...]
    origin: dict[str, str]
    users: dict[Access, str]


def fuse(
    statements: Sequence[Statement],
    stored: Collection[str],
    *,
    distinct: bool = False,
    apart: Mapping[tuple[str, str], int] | None = None,
) -> Fused:
    """Express the stored results of statements in terms of their inputs.

    Parameters
    ----------
    statements : sequence of Statement
        In the order of the program.
    stored : collection of str
        Targets that are stored; the others are intermediates.
    distinct : bool
        Give every private variable a name of its own.
    apart : mapping of (str, str) to int, optional
        How many names to pass over for private variables, by target and name, so that they do
        not share the loops of those names.

    Raises
    ------
    LoweringError
        A mask is an intermediate.
    """
    fusion = _Fusion(statements, distinct=distinct, apart=apart or {})
    return Fused(fusion.results(stored), fusion.origin, fusion.users)


class _Fusion:
    def __init__(
        self,
        statements: Sequence[Statement],
        *,
        distinct: bool,
        apart: Mapping[tuple[str, str], int],
    ) -> None:
        self.statements = {each.target.tensor: each for each in statements}
        for statement in statements:
            self._check_masks(statement)
        self.distinct = distinct
        self.apart = apart
        self.values = {name: with_sums(each).value for name, each in self.statements.items()}
        self.sizes = _equal_sizes(self.statements.values())
        self.meaning: dict[str, Place] = {}
        self.instances: dict[Access, Expr] = {}
        self.origin: dict[str, str] = {}
        self.users: dict[Access, str] = {}

    def _check_masks(self, statement: Statement) -> None:
        for part in walk(statement.value):
            if isinstance(part, Where) and part.mask.tensor in self.statements:
                raise LoweringError(
                    f"'{statement}' selects by '{part.mask}', which its region computes: split "
                    f"the region before '{statement.target.tensor}', so that the mask is stored"
                )

    def results(self, stored: Collection[str]) -> tuple[Result, ...]:
        names = [name for name in self.statements if name in stored]
        targets: list[Access] = []
        for name in names:
            target = self.statements[name].target
            given = self._rename(name, target.indices, {})
            targets.append(Access(name, tuple(given[index] for index in target.indices)))
        return tuple(Result(target, self._instance(target)) for target in targets)

    def _instance(self, access: Access) -> Expr:
        """Return a statement's value under the index variables of an access."""
        if access not in self.instances:
            statement = self.statements[access.tensor]
            given = dict(zip(statement.target.indices, access.indices, strict=True))
            private = [i for i in statement.indices if i not in statement.target.indices]
            given |= self._rename(access.tensor, private, given)
            change = partial(self._change, given=given, user=access)
            self.instances[access] = Rewriter(change)(self.values[access.tensor])
        return self.instances[access]

    def _change(self, part: Expr, given: dict[str, str], user: Access) -> Expr:
        match part:
            case Access(tensor, indices):
                access = Access(tensor, tuple(given[index] for index in indices))
                if tensor in self.statements:
                    return self._instance(access)
                self.users.setdefault(access, user.tensor)
                return access
            case Fold(op, indices, body):
                return Fold(op, tuple(given[index] for index in indices), body, str(user))
            case _:
                return part

    def _rename(self, name: str, indices: Sequence[str], given: dict[str, str]) -> dict[str, str]:
        """Name index variables so that equal names mean equal sizes, and none is captured."""
        renamed: dict[str, str] = {}
        for index in indices:
            size = self.sizes[name, index]
            chosen = next(
                each
                for each in islice(_candidates(index), self.apart.get((name, index), 0), None)
                if each not in {*given.values(), *renamed.values()}
                and not (self.distinct and each in self.meaning)
                and self.meaning.get(each, size) == size
            )
            self.meaning[chosen] = size
            if len(self.meaning) > MOST_LOOPS:
                raise LoweringError(
                    f"fused, '{name}' would be computed anew for all that read it, in more than "
                    f"{MOST_LOOPS} nested loops: split the region behind '{name}', so that it is "
                    "stored"
                )
            self.origin.setdefault(chosen, index)
            renamed[index] = chosen
        return renamed


def _equal_sizes(statements: Iterable[Statement]) -> Any:
    """Return the modes and index variables that have one size, as a disjoint-set forest."""
    forest = cast(Any, UnionFind)()
    for statement in statements:
        for access in (statement.target, *statement.operands):
            for mode, index in enumerate(access.indices):
                forest.union((access.tensor, mode), (statement.target.tensor, index))
    return forest


def _candidates(index: str) -> Iterator[str]:
    yield index
    number = 2
    while True:
        yield f"{index}_{number}"
        number += 1
