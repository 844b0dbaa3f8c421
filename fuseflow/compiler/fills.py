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

from fuseflow.compiler.expr import Access, Binary, Constant, Expr, Fold, Unary, Where
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.evaluate import evaluate
from fuseflow.samml.functions import FLOATING
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
    exact = _exact(op, kind, operands)
    value = exact if math.isnan(exact) else rounded(exact, kind)
    overflows = math.isinf(value) and not any(map(math.isinf, operands))
    if math.isnan(value) or overflows or not (kind.is_float or value == exact):
        raise LoweringError(
            f"{op} of {' and '.join(map(str, operands))}, where nothing is stored, is "
            f"{exact}, no {kind.name}: give one operand another fill"
        )
    return value


def _exact(op: str, kind: ValueType, operands: tuple[Number, ...]) -> Number:
    """Return a result before rounding; of a function that is not exact, what the units give."""
    if op not in FLOATING:
        return _OPERATIONS[op](*operands)
    word, _ = evaluate(op, kind, *map(kind.encode, operands))
    return kind.decode(word)


def annihilates(op: str, kind: ValueType, fill: Number | None, *, left: bool) -> bool:
    """Whether an operand's fill decides the result of an operation, whatever the other is.

    The other is finite, or a fill that decides as well: 0 * x and 0 / x are 0, -inf + x and
    -inf - x are -inf.
    """
    if fill is None:
        return False
    if op in ("add", "sub"):
        return kind.is_float and fill == -math.inf and (left or op == "add")
    decides = {"mul": 0, "max": kind.high, "min": kind.low, "div": 0 if left else None}.get(op)
    return decides is not None and fill == decides


class Background:
    """The values of expressions at points where no operand stores an entry.

    Parameters
    ----------
    fills : mapping of str to number
        Of the operands that may lack a point; one that stores every point has none.
    kind : ValueType
    """

    def __init__(self, fills: Mapping[str, Number], kind: ValueType) -> None:
        self.fills = fills
        self.kind = kind
        self._known: dict[int, tuple[Expr, Number | None]] = {}

    def __call__(self, expr: Expr) -> Number | None:
        """Return an expression's value there.

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
        if id(expr) not in self._known:
            self._known[id(expr)] = expr, self._of(expr)
        return self._known[id(expr)][1]

    def decides(self, op: str, operand: Expr, *, left: bool) -> bool:
        """Whether an operand decides the result of an operation where it stores nothing."""
        return annihilates(op, self.kind, self(operand), left=left)

    def _of(self, expr: Expr) -> Number | None:
        kind = self.kind
        match expr:
            case Access(tensor):
                return self.fills.get(tensor)
            case Constant(value):
                return rounded(value, kind)
            case Unary(op, operand):
                inner = self(operand)
                return None if inner is None else apply(op, kind, inner)
            case Binary(op, left, right):
                return self._binary(op, left, right)
            case Fold(op, ()):
                # It folds nothing and leaves out what equals the identity.
                return kind.identity(op)
            case Fold(op, _, body):
                identity = kind.identity(op)
                return identity if self(body) == identity else None
            case Where(mask, _, fill):
                return None if self(mask) is None else rounded(fill, kind)

    def _binary(self, op: str, left: Expr, right: Expr) -> Number | None:
        sides = self(left), self(right)
        decided = (
            side
            for side, expr, first in zip(sides, (left, right), (True, False), strict=True)
            if self.decides(op, expr, left=first)
        )
        a, b = sides
        if a is None or b is None or (op in ("sub", "div") and self.decides(op, left, left=True)):
            return next(decided, None)
        return apply(op, self.kind, a, b)
