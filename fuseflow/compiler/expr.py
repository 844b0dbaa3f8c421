"""The statement AST: one Einsum as an expression of tensor accesses, constants and folds.

Fused statements share parts, so an expression is a graph: walks visit a shared part once, and
nothing compares or hashes whole expressions.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import is_
from typing import TypeAlias

from fuseflow.samml.errors import ParseError
from fuseflow.samml.values import Number

BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "max": "max", "min": "min"}
UNARY = (
    "neg", "abs", "relu",
    "exp", "log", "sigmoid", "tanh", "gelu", "sqrt", "rsqrt", "reciprocal",
)  # fmt: skip
FOLDS = ("sum", "max", "min")


@dataclass(frozen=True)
class Access:
    """A tensor read or written at index variables, in mode order; a scalar has none."""

    tensor: str
    indices: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.tensor}({','.join(self.indices)})" if self.indices else self.tensor


class _Compound:
    """A part that has operands."""

    @cached_property
    def open(self) -> tuple[str, ...]:
        """Its free index variables; see `free`."""
        assert isinstance(self, Constant | Unary | Binary | Fold | Where)
        inner = dict.fromkeys(index for child in children(self) for index in free(child))
        bound = self.indices if isinstance(self, Fold) else ()
        return tuple(index for index in inner if index not in bound)


@dataclass(frozen=True)
class Constant(_Compound):
    """A number of the program."""

    number: Number

    def __str__(self) -> str:
        # Only `where` has a word for infinity: elsewhere it is a number that is too large.
        return str(self.number).replace("inf", "1e999")


@dataclass(frozen=True)
class Unary(_Compound):
    """A function of one operand, one of `UNARY`."""

    op: str
    operand: "Expr"

    def __str__(self) -> str:
        if self.op != "neg":
            return f"{self.op}({self.operand})"
        return f"-{_factor(self.operand, ())}"


@dataclass(frozen=True)
class Binary(_Compound):
    """Two operands under one of the operations of `BINARY`."""

    op: str
    left: "Expr"
    right: "Expr"

    def __str__(self) -> str:
        sign = BINARY[self.op]
        if self.op in ("max", "min"):
            return f"{sign}({', '.join(map(str, _arguments(self.op, self)))})"
        if self.op in ("mul", "div"):
            return f"{_factor(self.left, ('mul', 'div'))} {sign} {_factor(self.right, ())}"
        return f"{self.left} {sign} {_factor(self.right, ('mul', 'div', 'max', 'min'))}"


def _arguments(op: str, expr: "Expr") -> tuple["Expr", ...]:
    """Return the operands of a chain of one operation that leans to the left."""
    match expr:
        case Binary(inner, left, right) if inner == op:
            return (*_arguments(op, left), right)
        case _:
            return (expr,)


def _factor(expr: "Expr", bare: tuple[str, ...]) -> str:
    """Print an operand, in parentheses unless its operation binds tighter."""
    loose = isinstance(expr, Binary) and expr.op not in (*bare, "max", "min")
    return f"({expr})" if loose else str(expr)


@dataclass(frozen=True)
class Fold(_Compound):
    """The sum, maximum or minimum of an expression over index variables.

    `owner` is the access whose statement has it, once statements are fused.
    """

    op: str
    indices: tuple[str, ...]
    body: "Expr"
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.op}[{','.join(self.indices)}]({self.body})"


@dataclass(frozen=True)
class Where(_Compound):
    """An expression where a mask stores an entry, and a fill elsewhere."""

    mask: Access
    body: "Expr"
    fill: Number

    def __str__(self) -> str:
        return f"where({self.mask}, {self.body}, {self.fill})"


Expr: TypeAlias = Access | Constant | Unary | Binary | Fold | Where


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of an expression, left to right."""
    match expr:
        case Access() | Constant():
            return ()
        case Binary(_, left, right):
            return (left, right)
        case Unary(_, operand):
            return (operand,)
        case Fold(_, _, body):
            return (body,)
        case Where(mask, body):
            return (mask, body)


def with_children(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return an expression whose operands are changed: itself, if none of them is."""
    before = children(expr)
    after = tuple(map(change, before))
    if all(map(is_, before, after)):
        return expr
    match expr, after:
        case Unary(op), (operand,):
            return Unary(op, operand)
        case Binary(op), (left, right):
            return Binary(op, left, right)
        case Fold(op, indices, _, owner), (body,):
            return Fold(op, indices, body, owner)
        case Where(_, _, fill), (Access() as mask, body):
            return Where(mask, body, fill)
        case _:
            raise AssertionError("a mask stays a stored tensor")


def walk(*exprs: Expr) -> Iterator[Expr]:
    """Yield expressions and all their parts once, outer ones first, left to right."""
    seen: set[int] = set()
    rest = list(reversed(exprs))
    while rest:
        expr = rest.pop()
        if id(expr) not in seen:
            seen.add(id(expr))
            yield expr
            rest.extend(reversed(children(expr)))


class Rewriter:
    """Rewrites an expression bottom up, every shared part once."""

    def __init__(self, change: Callable[[Expr], Expr]) -> None:
        self.change = change
        self._done: dict[int, tuple[Expr, Expr]] = {}

    def __call__(self, expr: Expr) -> Expr:
        """Return the expression with its operands rewritten, then changed itself."""
        if id(expr) not in self._done:
            self._done[id(expr)] = expr, self.change(with_children(expr, self))
        return self._done[id(expr)][1]


def accesses(*exprs: Expr) -> Iterator[Access]:
    """Yield every access of expressions, left to right."""
    return (part for part in walk(*exprs) if isinstance(part, Access))


def masks_of(results: "Iterable[Result]") -> set[str]:
    """Return the tensors by which results select entries."""
    parts = walk(*(result.value for result in results))
    return {part.mask.tensor for part in parts if isinstance(part, Where)}


def constants(expr: Expr) -> Iterator[Number]:
    """Yield every constant of an expression, left to right."""
    return (part.number for part in walk(expr) if isinstance(part, Constant))


def folds(expr: Expr) -> Iterator[Fold]:
    """Yield every fold of an expression, outer ones first."""
    return (part for part in walk(expr) if isinstance(part, Fold))


def free(expr: Expr) -> tuple[str, ...]:
    """Return the index variables that an expression leaves open, in order of appearance."""
    return expr.indices if isinstance(expr, Access) else expr.open


MOST_FACTORS = 150
"""Factors of the longest product that is looked at as one: shared parts can make it endless."""


def factors(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of a chain of products, left to right; a longer one is its own."""
    found: list[Expr] = []
    rest = [expr]
    while rest:
        part = rest.pop()
        match part:
            case Binary("mul", left, right):
                rest += [right, left]
            case _:
                found.append(part)
        if len(found) + len(rest) > MOST_FACTORS:
            return (expr,)
    return tuple(found)


def chain(op: str, parts: list[Expr]) -> Expr:
    """Combine one or more expressions under one operation, left to right."""
    first, *rest = parts
    for part in rest:
        first = Binary(op, first, part)
    return first


@dataclass(frozen=True)
class Result:
    """What a graph stores: a tensor, and its value with every sum written as a fold.

    Attributes
    ----------
    target : Access
    value : Expr
        Its free variables are those of the target.
    """

    target: Access
    value: Expr


@dataclass(frozen=True)
class Statement:
    """One Einsum, ``target = value``.

    An index variable that neither the target nor a fold has is summed over the smallest
    product in which it occurs (`fuseflow.compiler.sums`).

    Raises
    ------
    ParseError
        An access repeats an index, a tensor is used with two ranks, the target reads
        itself, one of its indices occurs in no operand, or a fold's index is used outside.
    """

    target: Access
    value: Expr

    def __post_init__(self) -> None:
        operands = self.operands
        if not operands:
            raise ParseError(f"'{self}' reads no tensor: nothing is left to compute")
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
        self._check_folds()

    def _check_folds(self) -> None:
        bound: set[str] = set()
        outside = {*self.target.indices, *free(self.value)}
        for fold in folds(self.value):
            for index in fold.indices:
                if index not in free(fold.body):
                    raise ParseError(f"'{fold}' folds index '{index}', which it does not use")
                if index in bound or index in outside:
                    raise ParseError(
                        f"index '{index}' of '{fold}' is also used outside: give it its own name"
                    )
            bound.update(fold.indices)

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
