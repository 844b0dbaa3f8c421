"""Where sums stand that a statement does not write out.

An index variable that the result lacks is summed over the smallest product in which it occurs,
within each term of a sum: ``x(i) = b(i) - C(i,j) * d(j)`` sums over the product alone.  The
argument of a function is a place of its own: ``relu(B(i,k) * C(k,j))`` is the relu of the sum.
Factors that share no summed variable are summed apart and then multiplied.
"""

from collections.abc import Sequence

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
    chain,
    factors,
    free,
)


def with_sums(statement: Statement) -> Result:
    """Return a statement's result with every sum written as a fold."""
    summed = [index for index in free(statement.value) if index not in statement.target.indices]
    return Result(statement.target, _place(statement.value, set(summed)))


def _place(expr: Expr, summed: set[str]) -> Expr:
    """Sum an expression over those of the variables that it uses."""
    match expr:
        case Access() | Constant():
            return _fold(expr, summed)
        case Unary(op, operand):
            return Unary(op, _place(operand, summed))
        case Where(mask, body, fill):
            shared = summed & {*mask.indices}
            return _fold(Where(mask, _place(body, summed - shared), fill), shared)
        case Binary("mul"):
            return _product(factors(expr), summed)
        case Binary(("add" | "sub") as op, left, right):
            return Binary(op, _place(left, summed), _place(right, summed))
        case Binary(op, left, right):
            shared = summed & {*free(left)} & {*free(right)}
            sides = (_place(side, summed - shared) for side in (left, right))
            return _fold(Binary(op, *sides), shared)
        case Fold(op, indices, body):
            return Fold(op, indices, _place(body, summed))


def _fold(expr: Expr, summed: set[str]) -> Expr:
    indices = tuple(index for index in free(expr) if index in summed)
    return Fold("sum", indices, expr) if indices else expr


def _product(parts: Sequence[Expr], summed: set[str]) -> Expr:
    """Sum a product: each variable over the factors that it ties together."""
    alone = {index for index in summed if sum(index in free(part) for part in parts) == 1}
    groups: list[tuple[list[int], set[str]]] = []
    for number, part in enumerate(parts):
        mine = ({*free(part)} & summed) - _inside(part, alone)
        _merge(groups, [number], mine)
    placed: list[Expr] = []
    for members, ties in groups:
        body = chain("mul", [_place(parts[k], _inside(parts[k], alone - ties)) for k in members])
        placed.append(_fold(body, ties))
    return chain("mul", placed)


def _inside(part: Expr, alone: set[str]) -> set[str]:
    """Return the variables that are summed within a factor: in terms or a function of its own."""
    return set() if isinstance(part, Access | Constant) else alone & {*free(part)}


def _merge(groups: list[tuple[list[int], set[str]]], members: list[int], ties: set[str]) -> None:
    """Add a group; those that share a variable with it join it."""
    members, ties = list(members), set(ties)
    for group in [group for group in groups if group[1] & ties]:
        groups.remove(group)
        members, ties = [*group[0], *members], ties | group[1]
    groups.append((sorted(members), ties))
    groups.sort(key=lambda group: group[0][0])
