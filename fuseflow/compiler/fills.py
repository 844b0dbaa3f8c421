"""The algebra of fill values: what an expression is where nothing is stored (DESIGN section 4).

Every operand has a fill, so every expression has a *background*: its value at a point at which
no operand stores an entry.  An operand *annihilates* an operation where its fill decides the
result alone; the compiler then visits only that operand's coordinates.
"""

import math
import operator
from collections.abc import Callable, Mapping

from fuseflow.compiler.expr import BINARY, Access, Binary, Constant, Expr, Fold, Unary
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.values import Number, ValueType, number

_BINARY: dict[str, Callable[[Number, Number], Number]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": max,
    "min": min,
}
_UNARY: dict[str, Callable[[Number], Number]] = {
    "neg": operator.neg,
    "abs": abs,
    "relu": lambda value: max(value, 0),
}
_ANNIHILATOR: dict[str, Number] = {"mul": 0, "max": math.inf, "min": -math.inf}


def rounded(value: Number, kind: ValueType) -> Number:
    """Return a number as a value type holds it."""
    return number(kind.decode(kind.encode(value)))


def apply(op: str, kind: ValueType, left: Number, right: Number) -> Number:
    """Return what a binary operation of the value type gives.

    Raises
    ------
    LoweringError
        That is no number, such as 0 * inf.
    """
    value = _BINARY[op](left, right)
    if math.isnan(value):
        raise LoweringError(
            f"{BINARY[op]} of {left} and {right}, where nothing is stored, is no number: give one "
            "operand another fill"
        )
    return rounded(value, kind)


def apply_unary(op: str, kind: ValueType, value: Number) -> Number:
    """Return what a unary operation of the value type gives."""
    return rounded(_UNARY[op](value), kind)


def annihilates(op: str, kind: ValueType, fill: Number) -> bool:
    """Whether an operand's fill decides the result of an operation, whatever the other is."""
    decides = _ANNIHILATOR.get(op)
    if decides in (math.inf, -math.inf):
        return fill == (kind.high if decides > 0 else kind.low)
    return decides is not None and fill == decides


def background(expr: Expr, fills: Mapping[str, Number], kind: ValueType) -> Number:
    """Return the value of an expression at a point where no operand stores an entry.

    A fold over a background that is not its identity has none: it visits every point
    (`is_complete`), so 0 stands for it.
    """
    match expr:
        case Access(tensor):
            return fills.get(tensor, 0)
        case Constant(value):
            return rounded(value, kind)
        case Unary(op, operand):
            return apply_unary(op, kind, background(operand, fills, kind))
        case Binary(op, left, right):
            return apply(op, kind, background(left, fills, kind), background(right, fills, kind))
        case Fold(op):
            return 0 if is_complete(expr, fills, kind) else kind.identity(op)


def is_complete(fold: Fold, fills: Mapping[str, Number], kind: ValueType) -> bool:
    """Whether a fold must visit every point: its body's background is not its identity."""
    return background(fold.body, fills, kind) != kind.identity(fold.op)
