"""The algebra of fill values: what an expression is where nothing is stored (DESIGN section 4).

A compressed operand has a fill, so an expression of such operands has a *background*: its value
at a point at which none stores an entry.  An operand *annihilates* an operation where its fill
decides the result alone; the compiler then visits only that operand's coordinates.
"""

import math
import operator
from collections.abc import Mapping
from functools import partial
from typing import Any

from fuseflow.compiler.expr import Access, Binary, Constant, Expr, Fold, Unary
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.values import Number, ValueType, number

_OPERATIONS: dict[str, Any] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": max,
    "min": min,
    "neg": operator.neg,
    "abs": abs,
    "relu": partial(max, 0),
}


def rounded(value: Number, kind: ValueType) -> Number:
    """Return a number as a value type holds it."""
    return number(kind.decode(kind.encode(value)))


def apply(op: str, kind: ValueType, *operands: Number) -> Number:
    """Return what an operation of the value type gives for fills and constants.

    Raises
    ------
    LoweringError
        That is no number, such as 0 * inf, or overflows.
    """
    exact = _OPERATIONS[op](*operands)
    value = exact if math.isnan(exact) else rounded(exact, kind)
    overflows = math.isinf(value) and not any(map(math.isinf, operands))
    if math.isnan(value) or overflows or not (kind.is_float or value == exact):
        raise LoweringError(
            f"{op} of {' and '.join(map(str, operands))}, where nothing is stored, is "
            f"{exact}, no {kind.name}: give one operand another fill"
        )
    return value


def annihilates(op: str, kind: ValueType, fill: Number | None) -> bool:
    """Whether an operand's fill decides the result of an operation, whatever the other is."""
    decides = {"mul": 0, "max": kind.high, "min": kind.low}.get(op)
    return decides is not None and fill == decides


def background(expr: Expr, fills: Mapping[str, Number], kind: ValueType) -> Number | None:
    """Return the value of an expression at a point where no operand stores an entry.

    Parameters
    ----------
    expr : Expr
    fills : mapping of str to number
        Of the operands that may lack a point; one that stores every point has none.
    kind : ValueType

    Returns
    -------
    number or None
        None where there is no such point: some operand is everywhere, or a fold visits every
        point as its body's background is not its identity.

    Raises
    ------
    LoweringError
        The fills give no number.
    """
    match expr:
        case Access(tensor):
            return fills.get(tensor)
        case Constant(value):
            return rounded(value, kind)
        case Unary(op, operand):
            inner = background(operand, fills, kind)
            return None if inner is None else apply(op, kind, inner)
        case Binary(op, left, right):
            sides = [background(side, fills, kind) for side in (left, right)]
            known = [side for side in sides if side is not None]
            if len(known) == 2:
                return apply(op, kind, *known)
            return next((side for side in known if annihilates(op, kind, side)), None)
        case Fold(op, _, body):
            identity = kind.identity(op)
            return identity if background(body, fills, kind) == identity else None
