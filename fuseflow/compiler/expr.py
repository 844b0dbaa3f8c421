"""The statement AST: one Einsum as sums, differences and products of tensor accesses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from fuseflow.samml.errors import LoweringError, ParseError

MOST_TERMS = 64
"""Most terms of a product of sums that is multiplied out."""


@dataclass(frozen=True)
class Access:
    """A tensor read or written at index variables, in mode order; a scalar has none."""

    tensor: str
    indices: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.tensor}({','.join(self.indices)})" if self.indices else self.tensor


@dataclass(frozen=True)
class Add:
    """The sum of two expressions."""

    left: "Expr"
    right: "Expr"

    def __str__(self) -> str:
        right = f"({self.right})" if isinstance(self.right, Add | Sub) else str(self.right)
        return f"{self.left} + {right}"


@dataclass(frozen=True)
class Sub:
    """The difference of two expressions."""

    left: "Expr"
    right: "Expr"

    def __str__(self) -> str:
        right = f"({self.right})" if isinstance(self.right, Add | Sub) else str(self.right)
        return f"{self.left} - {right}"


@dataclass(frozen=True)
class Mul:
    """The product of two expressions."""

    left: "Expr"
    right: "Expr"

    def __str__(self) -> str:
        left = f"({self.left})" if isinstance(self.left, Add | Sub) else str(self.left)
        right = str(self.right) if isinstance(self.right, Access) else f"({self.right})"
        return f"{left} * {right}"


Expr: TypeAlias = "Access | Add | Sub | Mul"


def accesses(expr: Expr) -> Iterator[Access]:
    """Yield every access of an expression, left to right."""
    match expr:
        case Access():
            yield expr
        case Add(left, right) | Sub(left, right) | Mul(left, right):
            yield from accesses(left)
            yield from accesses(right)


@dataclass(frozen=True)
class Statement:
    """One Einsum, ``target = value``.

    Index variables that the target lacks are summed, each over the product in which it
    occurs.

    Raises
    ------
    ParseError
        An access repeats an index, a tensor is used with two ranks, the target reads
        itself, or one of its indices occurs in no operand.
    """

    target: Access
    value: Expr

    def __post_init__(self) -> None:
        operands = tuple(accesses(self.value))
        ranks: dict[str, Access] = {}
        for access in (self.target, *operands):
            for index in access.indices:
                if access.indices.count(index) > 1:
                    raise ParseError(
                        f"'{access}' uses index '{index}' twice: take the diagonal beforehand"
                    )
            first = ranks.setdefault(access.tensor, access)
            if len(first.indices) != len(access.indices):
                raise ParseError(f"'{first}' and '{access}' use one tensor with two ranks")
        known = {index for access in operands for index in access.indices}
        for index in self.target.indices:
            if index not in known:
                raise ParseError(
                    f"index '{index}' of result '{self.target}' occurs in no operand: "
                    "its size is unknown"
                )
        if any(access.tensor == self.target.tensor for access in operands):
            raise ParseError(
                f"result '{self.target.tensor}' is also an operand: give the result its own name"
            )

    def __str__(self) -> str:
        return f"{self.target} = {self.value}"

    @property
    def operands(self) -> tuple[Access, ...]:
        """Every access of the right-hand side, left to right."""
        return tuple(accesses(self.value))

    @property
    def indices(self) -> tuple[str, ...]:
        """Every index variable, in order of first appearance, the target's first."""
        return tuple(
            dict.fromkeys(
                index for access in (self.target, *self.operands) for index in access.indices
            )
        )


@dataclass(frozen=True)
class Product:
    """One signed product of accesses: a term of a statement's normal form."""

    sign: int
    factors: tuple[Access, ...]

    @property
    def indices(self) -> tuple[str, ...]:
        """The index variables of its factors, in order of first appearance."""
        return tuple(dict.fromkeys(index for access in self.factors for index in access.indices))


def products(expr: Expr) -> tuple[Product, ...]:
    """Return the sum-of-products normal form: products are distributed over sums.

    The first term is always positive, as the grammar has no unary minus.
    """
    match expr:
        case Access():
            return (Product(1, (expr,)),)
        case Add(left, right):
            return products(left) + products(right)
        case Sub(left, right):
            return products(left) + tuple(
                Product(-term.sign, term.factors) for term in products(right)
            )
        case Mul(left, right):
            lefts, rights = products(left), products(right)
            if len(lefts) * len(rights) > MOST_TERMS:
                raise LoweringError(
                    f"the product has {len(lefts) * len(rights)} terms when it is multiplied out, "
                    f"the most is {MOST_TERMS}: write it as several statements"
                )
            return tuple(
                Product(a.sign * b.sign, a.factors + b.factors) for a in lefts for b in rights
            )
