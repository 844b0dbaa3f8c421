"""Operations that stand for several statements: softmax and layer normalisation.

They are written out when a program is read, so that every later step sees Einsums alone.
"""

import math
from collections.abc import Callable

from fuseflow.compiler.expr import Access, Binary, Constant, Expr, Fold, Statement, Unary
from fuseflow.samml.errors import ParseError
from fuseflow.samml.values import Number, number

GROUPS = ("softmax", "layernorm")

Naming = Callable[[str], str]
"""From a suffix such as ``max`` to the name of a tensor that a group adds."""


def fresh(wanted: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, numbered where it must be, and take it."""
    name, count = wanted, 0
    while name in taken:
        count += 1
        name = f"{wanted}{count}"
    taken.add(name)
    return name


def softmax(
    target: Access, indices: tuple[str, ...], body: Expr, naming: Naming
) -> list[Statement]:
    """Write a softmax out: exponentials of what lies below the maximum, over their sum.

    Parameters
    ----------
    target : Access
    indices : tuple of str
        The variables that are normalised over; the target has them.
    body : Expr
    naming : callable

    Raises
    ------
    ParseError
        The target lacks one of the indices, or a statement is not well formed.
    """
    rest = _rest("softmax", target, indices)
    first, scores = _stored(target, body, naming)
    top = Access(naming("max"), rest)
    powers = Access(naming("exp"), target.indices)
    total = Access(naming("sum"), rest)
    return [
        *first,
        Statement(top, Fold("max", indices, scores)),
        Statement(powers, Unary("exp", Binary("sub", scores, top))),
        Statement(total, Fold("sum", indices, powers)),
        Statement(target, Binary("div", powers, total)),
    ]


def layernorm(
    target: Access,
    indices: tuple[str, ...],
    body: Expr,
    size: Number,
    eps: Number,
    naming: Naming,
) -> list[Statement]:
    """Write a layer normalisation out: mean 0 and variance 1 over some of the indices.

    Parameters
    ----------
    target : Access
    indices : tuple of str
        The variables that are normalised over; the target has them.
    body : Expr
    size : number
        How many elements are normalised over: the hardware knows sizes at run time only.
    eps : number
        What is added to the variance.
    naming : callable

    Raises
    ------
    ParseError
        The target lacks one of the indices, size or eps are out of range, or a statement is not
        well formed.
    """
    rest = _rest("layernorm", target, indices)
    if not (0 < size < math.inf and 0 <= eps < math.inf):
        raise ParseError(
            f"layernorm of size {size} and eps {eps}: give the number of elements that it "
            "normalises over, and an eps of 0 or more"
        )
    first, values = _stored(target, body, naming)
    share = Constant(number(1 / size))
    mean = Access(naming("mean"), rest)
    centred = Access(naming("centred"), target.indices)
    variance = Access(naming("var"), rest)
    square = Binary("mul", centred, centred)
    scale = Unary("rsqrt", Binary("add", variance, Constant(eps)))
    return [
        *first,
        Statement(mean, Binary("mul", Fold("sum", indices, values), share)),
        Statement(centred, Binary("sub", values, mean)),
        Statement(variance, Binary("mul", Fold("sum", indices, square), share)),
        Statement(target, Binary("mul", centred, scale)),
    ]


def _rest(group: str, target: Access, indices: tuple[str, ...]) -> tuple[str, ...]:
    for index in indices:
        if index not in target.indices:
            raise ParseError(
                f"{group} over '{index}', which its result '{target}' lacks: it keeps every index"
            )
    return tuple(index for index in target.indices if index not in indices)


def _stored(target: Access, body: Expr, naming: Naming) -> tuple[list[Statement], Access]:
    """Return the tensor that a group reads, and the statement that computes it, if any."""
    if isinstance(body, Access) and body.indices == target.indices:
        return [], body
    computed = Access(naming("in"), target.indices)
    return [Statement(computed, body)], computed
