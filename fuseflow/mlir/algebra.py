"""Expressions as they are built: known functions are recognized, additive masks select."""

import math
from dataclasses import dataclass

import numpy as np

from fuseflow.compiler.expr import (
    Access,
    Binary,
    Constant,
    Expr,
    Fold,
    Unary,
    Where,
    chain,
    factors,
)
from fuseflow.mlir.draft import ERF, Draft
from fuseflow.mlir.errors import refused
from fuseflow.mlir.lowest import LOWEST
from fuseflow.mlir.module import Location
from fuseflow.samml.values import number

HIGHEST_POWER = 8
"""The highest whole power that is written as a product."""

ZERO, ONE = Constant(0), Constant(1)


@dataclass(frozen=True)
class Algebra:
    """Builds the expressions of one operation of the module.

    Parameters
    ----------
    draft : Draft
    location : Location
        Of the operation, for what is refused.
    """

    draft: Draft
    location: Location

    def add(self, left: Expr, right: Expr) -> Expr:
        """Return a sum, or the selection that an additive mask stands for."""
        for one, other in ((left, right), (right, left)):
            if other == ZERO:
                return one
            mask = self._additive(other)
            if mask is not None:
                return Where(mask.mask, one, mask.fill)
        return Binary("add", left, right)

    def _additive(self, expr: Expr) -> Where | None:
        """Return a mask with 0 inside and a lowest fill, if the expression is one."""
        match self.draft.seen_through(expr):
            case Where(_, Constant(0), fill) as where if fill <= LOWEST:
                return where
            case Access(tensor, indices) if tensor in self.draft.constants:
                array = self.draft.constants[tensor]
            case _:
                return None
        if array.dtype.kind in "biu" or array.ndim == 0:
            return None
        wide = array.astype(np.float64)
        kept = wide == 0
        hidden = np.unique(wide[~kept])
        if not kept.any() or not hidden.size or not hidden.max() <= LOWEST:
            return None
        # Numbers that differ are equally hidden, unless a row has nothing else.
        if hidden.size > 1 and not kept.any(axis=-1).all():
            return None
        fill = number(float(hidden[0]))
        return Where(Access(self.draft.mask_of(tensor, kept), indices), ZERO, fill)

    def sub(self, left: Expr, right: Expr) -> Expr:
        """Return a difference."""
        if right == ZERO:
            return left
        return self.neg(right) if left == ZERO else Binary("sub", left, right)

    def mul(self, left: Expr, right: Expr) -> Expr:
        """Return a product, or the gelu that it is."""
        for one, other in ((left, right), (right, left)):
            if other == ONE:
                return one
        return (
            self._gelu(left, right)
            or self._multiple(left, right)
            or self._multiple(right, left)
            or Binary("mul", left, right)
        )

    def _gelu(self, left: Expr, right: Expr) -> Expr | None:
        """Recognize ``x * (1 + erf(x / sqrt 2))``, twice the gelu, among the factors."""
        parts = [*factors(left), *factors(right)]
        for part in parts:
            match part:
                case Binary("add", Unary("erf", inner), Constant(1)):
                    pass
                case Binary("add", Constant(1), Unary("erf", inner)):
                    pass
                case _:
                    continue
            rest = [
                factor
                for other in parts
                if other is not part
                for factor in self._scaled(other, inner)
            ]
            if inner not in rest:
                continue
            rest.remove(inner)
            scale = 2.0
            for other in rest:
                scale *= float(other.number) if isinstance(other, Constant) else 1.0
            others: list[Expr] = [other for other in rest if not isinstance(other, Constant)]
            others += [] if scale == 1 else [Constant(number(scale))]
            return chain("mul", [Unary("gelu", inner), *others])
        return None

    def _scaled(self, expr: Expr, inner: Expr) -> tuple[Expr, ...]:
        """Return the factors of a multiple of an operand that another step computes."""
        found = factors(self.draft.seen_through(expr))
        multiple = inner in found and len(found) == 2
        return found if multiple and any(isinstance(f, Constant) for f in found) else (expr,)

    def _multiple(self, left: Expr, right: Expr) -> Expr | None:
        """Return a multiple of a multiple of a gelu, whose constants were steps apart."""
        match left, self.draft.seen_through(right):
            case Constant(a), Binary("mul", Unary("gelu") as found, Constant(b)):
                return self.mul(found, Constant(number(float(a) * float(b))))
            case _:
                return None

    def div(self, left: Expr, right: Expr) -> Expr:
        """Return a quotient; of 1, a reciprocal or the function that it is."""
        if right == ONE:
            return left
        if left != ONE:
            return Binary("div", left, right)
        logistic = self._logistic(right)
        if logistic is not None:
            return Unary("sigmoid", logistic)
        match right:
            case Unary("sqrt", inner):
                return Unary("rsqrt", inner)
            case _:
                return Unary("reciprocal", right)

    def _logistic(self, expr: Expr) -> Expr | None:
        """Return the operand of ``1 + exp(-x)``."""
        see = self.draft.seen_through
        match see(expr):
            case Binary("add", Constant(1), inner) | Binary("add", inner, Constant(1)):
                pass
            case _:
                return None
        match see(inner):
            case Unary("exp", power):
                pass
            case _:
                return None
        match see(power):
            case Unary("neg", operand):
                return operand
            case _:
                return None

    def neg(self, operand: Expr) -> Expr:
        """Return the negative."""
        match operand:
            case Unary("neg", inner):
                return inner
            case Constant(value):
                return Constant(-value)
            case _:
                return Unary("neg", operand)

    def maximum(self, left: Expr, right: Expr) -> Expr:
        """Return the larger of two, or a relu."""
        for one, other in ((left, right), (right, left)):
            if other == ZERO:
                return Unary("relu", one)
        return Binary("max", left, right)

    def minimum(self, left: Expr, right: Expr) -> Expr:
        """Return the smaller of two."""
        return Binary("min", left, right)

    def erf(self, operand: Expr) -> Expr:
        """Return the error function of ``x / sqrt 2``, by its x."""
        match self.draft.seen_through(operand):
            case Binary("div", inner, Constant(value)) if _near(value, math.sqrt(2)):
                return Unary(ERF, inner)
            case Binary("mul", inner, Constant(value)) if _near(value, math.sqrt(0.5)):
                return Unary(ERF, inner)
            case Binary("mul", Constant(value), inner) if _near(value, math.sqrt(0.5)):
                return Unary(ERF, inner)
            case _:
                raise refused(
                    self.location,
                    "'math.erf' is computed as a part of gelu only: "
                    "0.5 * x * (1 + erf(x / sqrt(2)))",
                )

    def power(self, base: Expr, exponent: Expr) -> Expr:
        """Return a power with a constant exponent: a half, a whole number or its negative."""
        if isinstance(exponent, Constant):
            value = float(exponent.number)
            if value == -0.5:
                return Unary("rsqrt", base)
            if value < 0:
                return self.div(ONE, self.power(base, Constant(number(-value))))
            whole, rest = divmod(value, 1)
            if rest in (0, 0.5) and 0 < value <= HIGHEST_POWER:
                parts: list[Expr] = [base] * int(whole)
                return chain("mul", parts + ([Unary("sqrt", base)] if rest else []))
        raise refused(
            self.location,
            f"the power '{exponent}' has no hardware: use multiples of 0.5 up to {HIGHEST_POWER}",
        )

    def fold(self, op: str, indices: tuple[str, ...], body: Expr) -> Expr:
        """Return a fold; over what the body does not vary with, it is the body or a multiple."""
        used = body.indices if isinstance(body, Access) else body.open
        inner = tuple(index for index in indices if index in used)
        times = math.prod(self.draft.sizes[index] for index in indices if index not in used)
        value: Expr = Fold(op, inner, body) if inner else body
        return self.mul(value, Constant(times)) if op == "sum" else value


def _near(value: float, wanted: float) -> bool:
    return math.isclose(value, wanted, rel_tol=1e-3)
