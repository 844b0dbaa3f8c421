"""Closed forms of how much work a statement is, from its operands alone (DESIGN section 7)."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fuseflow.compiler.expr import Access, Constant, Expr, Fold, Statement, children, factors
from fuseflow.compiler.sums import with_sums


def product_counts(
    statement: Statement, stored: Mapping[str, NDArray[np.bool_]]
) -> tuple[int, ...]:
    """Count the multiplications that each product of a statement needs.

    A point of the loop nest needs one where every factor stores an entry, those outside of a sum
    included, as they mask it; a graph that has more firings at its innermost level iterates
    where it should have intersected.

    Parameters
    ----------
    statement : Statement
    stored : mapping of str to ndarray of bool
        Per operand, where its format stores an entry (everywhere, if dense).

    Returns
    -------
    tuple of int
        Per product of accesses and sums, the points at which all of its factors are stored: for
        a matmul, the sum over k of nnz(B(:,k)) * nnz(C(k,:)).
    """
    return tuple(_points(product, stored) for product in _products(with_sums(statement).value))


def _products(expr: Expr) -> list[list[Access]]:
    """Return the accesses of every product; a function's argument is one of its own."""
    direct: list[Access] = []
    apart: list[list[Access]] = []
    for part in factors(expr):
        match part:
            case Access():
                direct.append(part)
            case Constant():
                continue
            case Fold("sum", _, body):
                first, *rest = _products(body)
                direct += first
                apart += rest
            case _:
                apart += [product for child in children(part) for product in _products(child)]
    return [direct, *apart] if direct else apart


def _points(parts: list[Access], stored: Mapping[str, NDArray[np.bool_]]) -> int:
    names = dict.fromkeys(index for part in parts for index in part.indices)
    letter = {index: chr(ord("a") + k) for k, index in enumerate(names)}
    inputs = ",".join("".join(letter[index] for index in part.indices) for part in parts)
    operands = [stored[part.tensor].astype(np.int64) for part in parts]
    return int(np.einsum(f"{inputs}->", *operands, optimize=True))
