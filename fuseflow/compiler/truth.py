"""The truth that results are judged against: dense evaluation in float64 (DESIGN section 4).

Beside every value stands how far a result of the graph's arithmetic may be from it: a running
error analysis in which each operation adds its rounding, a sum of n terms that of n - 1
additions whatever their order, and errors of operands propagate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
    accesses,
    factors,
)
from fuseflow.compiler.fills import rounded
from fuseflow.compiler.smooth import SMOOTH, spread
from fuseflow.compiler.sums import with_sums
from fuseflow.samml.errors import TensorError
from fuseflow.samml.functions import ulps
from fuseflow.samml.values import FP32, Number, ValueType

Reals: TypeAlias = NDArray[np.float64]

DENSE_LIMIT = 1 << 24
"""Most elements of an array that is evaluated; beyond, only the golden meaning judges."""

_BINARY: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "max": np.maximum, "min": np.minimum,
}  # fmt: skip
_UNARY: dict[str, Any] = {"neg": np.negative, "abs": np.abs, "relu": partial(np.maximum, 0.0)}


@dataclass(frozen=True, eq=False)
class Truth:
    """A dense evaluation.

    Attributes
    ----------
    value : ndarray of float64
    bound : ndarray of float64
        Largest distance that rounding explains; 0 for integers.
    """

    value: Reals
    bound: Reals


def evaluate(
    result: Result | Statement,
    arrays: Mapping[str, NDArray[Any] | Truth],
    value: ValueType = FP32,
    fills: Mapping[str, Number] | None = None,
) -> Truth | None:
    """Evaluate a result on dense arrays with fills in place.

    Parameters
    ----------
    result : Result or Statement
        A result as a plan has placed it: the bound is for the sums that it forms.
    arrays : mapping of str to ndarray or Truth
        One per operand, in mode order; what was computed before, with its bound.
    value : ValueType
        Whose arithmetic the bound is for.
    fills : mapping of str to number, optional
        Of masks: an entry equal to it is masked out; 0 by default.

    Returns
    -------
    Truth or None
        In the mode order of the target; None where some array exceeds `DENSE_LIMIT`.

    Raises
    ------
    TensorError
        An operand is missing, has another rank, or two disagree about an index's size.
    """
    if isinstance(result, Statement):
        result = with_sums(result)
    work = _Evaluation(value, arrays, fills or {}, _sizes(result, arrays))
    with np.errstate(all="ignore"):
        try:
            found = work.of(result.value)
        except _TooLargeError:
            return None
    return Truth(*(work.spread(part, found.indices, result.target.indices).copy()
                   for part in (found.value, found.bound)))  # fmt: skip


def _sizes(result: Result, arrays: Mapping[str, NDArray[Any] | Truth]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for access in accesses(result.value):
        array = arrays.get(access.tensor)
        if array is None:
            raise TensorError(f"operand '{access.tensor}' is missing")
        shape = array.value.shape if isinstance(array, Truth) else array.shape
        if len(shape) != len(access.indices):
            raise TensorError(f"operand '{access}' has rank {len(shape)}")
        for index, size in zip(access.indices, shape, strict=True):
            if sizes.setdefault(index, size) != size:
                raise TensorError(
                    f"index {index} has size {size} in '{access}' but {sizes[index]} elsewhere"
                )
    return sizes


class _TooLargeError(Exception):
    """An array exceeds `DENSE_LIMIT`."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A subexpression: its value and error bound over its free variables."""

    indices: tuple[str, ...]
    value: Reals
    bound: Reals


@dataclass(frozen=True)
class _Evaluation:
    kind: ValueType
    arrays: Mapping[str, NDArray[Any] | Truth]
    fills: Mapping[str, Number]
    sizes: Mapping[str, int]
    known: dict[int, _Part] = field(default_factory=dict[int, _Part])

    def of(self, expr: Expr) -> _Part:
        if id(expr) not in self.known:
            self.known[id(expr)] = self._of(expr)
        return self.known[id(expr)]

    def _of(self, expr: Expr) -> _Part:
        match expr:
            case Access(tensor, indices):
                self._check(indices)
                array = self.arrays[tensor]
                if isinstance(array, Truth):
                    return _Part(indices, array.value, array.bound)
                return _Part(indices, np.asarray(array, np.float64), np.zeros(array.shape))
            case Constant(number):
                return _Part((), np.array(float(rounded(number, self.kind))), np.zeros(()))
            case Unary(op, operand) if op in SMOOTH:
                return self._function(op, self.of(operand))
            case Unary(op, operand):
                inner = self.of(operand)
                return _Part(inner.indices, _UNARY[op](inner.value), inner.bound)
            case Where(mask, body, fill):
                return self._where(mask, self.of(body), fill)
            case Binary(op, left, right):
                return self._binary(op, self.of(left), self.of(right))
            case Fold("sum", indices, body):
                return self._sum([self.of(part) for part in factors(body)], indices)
            case Fold(op, indices, body):
                return self._extreme(op, self.of(body), indices)

    def _function(self, op: str, inner: _Part) -> _Part:
        error = spread(op, inner.value, inner.bound)
        value = SMOOTH[op](inner.value)
        # At a pole that the graph may have missed, anything may have come.
        value = np.where(np.isinf(value) & np.isinf(error), np.nan, value)
        return _Part(inner.indices, value, self._rounding(value, error, 2 * ulps(op, self.kind)))

    def _where(self, mask: Access, body: _Part, fill: Number) -> _Part:
        found = self.of(mask)
        indices = tuple(dict.fromkeys((*found.indices, *body.indices)))
        self._check(indices)
        kept = self.spread(found.value, found.indices, indices) != self.fills.get(mask.tensor, 0)
        value, bound = (
            self.spread(part, body.indices, indices) for part in (body.value, body.bound)
        )
        elsewhere = float(rounded(fill, self.kind))
        return _Part(indices, np.where(kept, value, elsewhere), np.where(kept, bound, 0.0))

    def _check(self, indices: tuple[str, ...]) -> None:
        if prod(self.sizes[index] for index in indices) > DENSE_LIMIT:
            raise _TooLargeError

    def spread(self, array: Reals, have: tuple[str, ...], want: tuple[str, ...]) -> Reals:
        """Bring an array to more variables, or another order of them."""
        axes = [have.index(index) for index in want if index in have]
        missing = tuple(k for k, index in enumerate(want) if index not in have)
        shape = tuple(self.sizes[index] for index in want)
        return np.broadcast_to(np.expand_dims(np.transpose(array, axes), missing), shape)

    def _rounding(self, value: Reals, error: Reals, roundings: Any = 1) -> Reals:
        """Return an error after roundings of a value, or flushes of what is too small."""
        if not self.kind.is_float:
            return np.zeros_like(value)
        unit = roundings * self.kind.unit
        grown = error + (np.abs(value) + error) * unit / (1 - unit) + roundings * self.kind.smallest
        return np.where(np.isfinite(value), grown, 0.0)

    def _binary(self, op: str, a: _Part, b: _Part) -> _Part:
        indices = tuple(dict.fromkeys((*a.indices, *b.indices)))
        self._check(indices)
        x, y = (self.spread(part.value, part.indices, indices) for part in (a, b))
        dx, dy = (self.spread(part.bound, part.indices, indices) for part in (a, b))
        value = _BINARY[op](x, y)
        if op in ("max", "min"):
            return _Part(indices, value, np.maximum(dx, dy))
        error = dx + dy
        if op == "mul":
            error = np.abs(x) * dy + np.abs(y) * dx + dx * dy
        if op == "div":
            error = (dx + np.abs(value) * dy) / np.maximum(np.abs(y) - dy, 0.0)
            error = np.where((dx == 0) & (dy == 0), 0.0, error)
        if op == "mul":
            # The graph may have rounded to 0 what is infinitely multiplied here.
            doubt = (np.abs(x) <= dx) & np.isinf(y) | (np.abs(y) <= dy) & np.isinf(x)
            value = np.where(doubt, np.nan, value)
        if op == "div":
            value = np.where(np.isinf(value) & (np.abs(y) <= dy) & (dy > 0), np.nan, value)
        return _Part(indices, value, self._rounding(value, error))

    def _extreme(self, op: str, body: _Part, indices: tuple[str, ...]) -> _Part:
        axes = tuple(body.indices.index(index) for index in indices)
        left = tuple(index for index in body.indices if index not in indices)
        value = _BINARY[op].reduce(body.value, axis=axes, initial=self.kind.identity(op))
        return _Part(left, value, np.max(body.bound, axis=axes, initial=0.0))

    def _sum(self, parts: list[_Part], indices: tuple[str, ...]) -> _Part:
        """Sum a product: the magnitudes bound every partial sum, in any order."""
        if len(parts) > 1 and not all(np.isfinite(part.value).all() for part in parts):
            # einsum factors sums out, and may so miss that inf meets -inf.
            return self._sum([reduce(partial(self._binary, "mul"), parts)], indices)
        everything = tuple(dict.fromkeys(index for part in parts for index in part.indices))
        left = tuple(index for index in everything if index not in indices)
        self._check(left)
        if len(parts) > 2:
            self._check(everything)
        value = self._einsum([part.value for part in parts], parts, left)
        if not self.kind.is_float:
            return _Part(left, value, np.zeros_like(value))
        sizes = [np.abs(part.value) + part.bound for part in parts]
        most = self._einsum(sizes, parts, left)
        least = self._einsum([np.abs(part.value) for part in parts], parts, left)
        terms = self._einsum([(size != 0).astype(np.float64) for size in sizes], parts, left)
        unit = (len(parts) - 1) * self.kind.unit + np.maximum(terms - 1, 0) * self.kind.wide.unit
        # What is flushed may then be multiplied by all but the two factors that it came from.
        largest = sorted(max(1.0, float(size.max(initial=0.0))) for size in sizes)
        tiny = terms * (len(parts) - 1) * self.kind.smallest * prod(largest[2:])
        error = most - least + most * unit / (1 - unit) + tiny + terms * self.kind.wide.smallest
        return _Part(left, value, self._rounding(value, np.where(np.isfinite(value), error, 0.0)))

    def _einsum(self, arrays: list[Reals], parts: list[_Part], left: tuple[str, ...]) -> Reals:
        letter = {
            index: chr(ord("a") + k)
            for k, index in enumerate(dict.fromkeys(i for part in parts for i in part.indices))
        }
        inputs = ",".join("".join(letter[index] for index in part.indices) for part in parts)
        output = "".join(letter[index] for index in left)
        return np.asarray(np.einsum(f"{inputs}->{output}", *arrays, optimize=True))
