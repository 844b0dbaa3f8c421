"""Closed forms of how much work a statement is, from its operands alone (DESIGN section 7)."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fuseflow.compiler.expr import Statement, products


def product_counts(
    statement: Statement, stored: Mapping[str, NDArray[np.bool_]]
) -> tuple[int, ...]:
    """Count the multiplications that each term of a statement needs.

    A point of the loop nest needs one where every factor stores an entry; a graph that has
    more firings at its innermost level iterates where it should have intersected.

    Parameters
    ----------
    statement : Statement
    stored : mapping of str to ndarray of bool
        Per operand, where its format stores an entry (everywhere, if dense).

    Returns
    -------
    tuple of int
        Per term, the points at which all of its factors are stored: for a matmul, the sum
        over k of nnz(B(:,k)) * nnz(C(k,:)).
    """
    counts: list[int] = []
    for term in products(statement.value):
        letter = {index: chr(ord("a") + k) for k, index in enumerate(term.indices)}
        inputs = ",".join(
            "".join(letter[index] for index in access.indices) for access in term.factors
        )
        operands = [stored[access.tensor].astype(np.int64) for access in term.factors]
        counts.append(int(np.einsum(f"{inputs}->", *operands, optimize=True)))
    return tuple(counts)
