"""Expressions under other names."""

from collections.abc import Mapping

from fuseflow.compiler.expr import Access, Expr, Fold, Rewriter


def renamed(
    expr: Expr, indices: Mapping[str, str] | None = None, tensors: Mapping[str, str] | None = None
) -> Expr:
    """Return an expression under other index variables and tensors, bound variables included.

    Parameters
    ----------
    expr : Expr
    indices, tensors : mapping of str to str, optional
        New names; what has none keeps its own.
    """
    variables, names = indices or {}, tensors or {}

    def change(part: Expr) -> Expr:
        match part:
            case Access(tensor, inner):
                moved = tuple(variables.get(index, index) for index in inner)
                return Access(names.get(tensor, tensor), moved)
            case Fold(op, inner, body, owner):
                return Fold(op, tuple(variables.get(index, index) for index in inner), body, owner)
            case _:
                return part

    return Rewriter(change)(expr)
