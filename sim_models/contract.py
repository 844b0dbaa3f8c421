"""Sums of products without streams of products: what the golden folds give, compiled.

The sums are those of `sim_models.arithmetic.Fold`, addition for addition: in order, or in lanes
whose sums combine pair by pair. Floating point is formed in fp32, whatever the value type: its
operands are exact there. A float32 addition rounds as the golden one does, and where it gives a
subnormal it is exact, so that flushing it afterwards is the same; a product is formed in float64,
which holds it, and flushed before it is rounded. Where a sum is not finite something may have
overflowed on the way, which only the golden meaning tells: `Overflowing`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from fuseflow.samml.values import FP32, ValueType
from sim_models.functions import Numbers
from sim_models.ragged import Words

SMALLEST = np.float32(FP32.smallest)
LANES = FP32.lanes


class OverflowingError(Exception):
    """A sum is not finite: only the golden meaning knows what overflowed."""


def row_sums(a: Numbers, b: Numbers, starts: Words, kind: ValueType) -> tuple[Numbers, bool]:
    """Sum the products of rows of factors in order, for every column.

    Parameters
    ----------
    a : ndarray, (elements, 1 or columns)
    b : ndarray, (elements, columns)
        Products are those of `a`'s element ``starts[r, 0] + n`` and `b`'s ``starts[r, 1] + n``.
    starts : ndarray of int64, (rows, 3)
        Of every row, where its elements begin in `a` and `b`, and their number.
    kind : ValueType
        Of products and sums.

    Returns
    -------
    ndarray, (rows, columns)
        int64 or float64; -0 where a row of floating point has no element.
    bool
        Whether an integer wrapped.

    Raises
    ------
    OverflowingError
        A sum of floating point is not finite.
    """
    if not kind.is_float:
        return _compiled(_integer_row_sums)(a, b, starts, kind.bits)
    found = _compiled(_row_sums)(
        a.astype(np.float32, copy=False), b.astype(np.float32, copy=False), starts
    )
    return _finite(found), False


def dots(a: Numbers, b: Numbers, starts: Words, kind: ValueType) -> tuple[Numbers, bool]:
    """Sum the products of rows of factors in the lanes of a reduce.

    Parameters
    ----------
    a, b : ndarray, (elements,)
    starts : ndarray of int64, (rows, 3)
    kind : ValueType
        See `row_sums`.

    Returns
    -------
    ndarray, (rows,)
    bool
        See `row_sums`.

    Raises
    ------
    OverflowingError
        A sum of floating point is not finite.
    """
    if not kind.is_float:
        found, wrapped = row_sums(a[:, np.newaxis], b[:, np.newaxis], starts, kind)
        return found[:, 0], wrapped
    assert kind.lanes == LANES
    found = _compiled(_dots)(
        a.astype(np.float32, copy=False), b.astype(np.float32, copy=False), starts
    )
    return _finite(found), False


def _finite(found: Any) -> Numbers:
    if not np.isfinite(found).all():
        raise OverflowingError
    return found.astype(np.float64)


def _row_sums(a: Any, b: Any, starts: Any) -> Any:
    rows, columns, apart = starts.shape[0], b.shape[1], a.shape[1] > 1
    sums = np.full((rows, columns), np.float32(-0.0), np.float32)
    for row in range(rows):
        of_a, of_b, count = starts[row]
        sum_ = sums[row]
        for n in range(count):
            factors = b[of_b + n]
            first = np.float64(a[of_a + n, 0])
            for k in range(columns):
                if apart:
                    first = np.float64(a[of_a + n, k])
                exact = first * np.float64(factors[k])
                small = abs(exact) < np.float64(SMALLEST)
                added = sum_[k] + np.float32(np.copysign(0.0, exact) if small else exact)
                zero = np.copysign(np.float32(0.0), added)
                sum_[k] = zero if abs(added) < SMALLEST else added
    return sums


def _dots(a: Any, b: Any, starts: Any) -> Any:
    rows = starts.shape[0]
    found = np.empty(rows, np.float32)
    lanes = np.empty(LANES, np.float32)
    for row in range(rows):
        of_a, of_b, count = starts[row]
        lanes[:] = np.float32(-0.0)
        # The oldest of the last sums comes first.
        shift = (LANES - count % LANES) % LANES if count >= LANES else 0
        for n in range(count):
            exact = np.float64(a[of_a + n]) * np.float64(b[of_b + n])
            small = abs(exact) < np.float64(SMALLEST)
            lane = (n + shift) % LANES
            added = lanes[lane] + np.float32(np.copysign(0.0, exact) if small else exact)
            zero = np.copysign(np.float32(0.0), added)
            lanes[lane] = zero if abs(added) < SMALLEST else added
        apart = 1
        while apart < LANES:
            for k in range(0, LANES, 2 * apart):
                added = lanes[k] + lanes[k + apart]
                zero = np.copysign(np.float32(0.0), added)
                lanes[k] = zero if abs(added) < SMALLEST else added
            apart *= 2
        found[row] = lanes[0]
    return found


def _integer_row_sums(a: Any, b: Any, starts: Any, bits: int) -> Any:
    rows, columns, apart = starts.shape[0], b.shape[1], a.shape[1] > 1
    sums = np.zeros((rows, columns), np.int64)
    top, span, wrapped = np.int64(1) << (bits - 1), np.int64(1) << bits, False
    for row in range(rows):
        of_a, of_b, count = starts[row]
        for n in range(count):
            for k in range(columns):
                exact = a[of_a + n, k if apart else 0] * b[of_b + n, k]
                product = ((exact + top) & (span - 1)) - top
                added = sums[row, k] + product
                sums[row, k] = ((added + top) & (span - 1)) - top
                wrapped |= product != exact or sums[row, k] != added
    return sums, wrapped


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function, once per machine."""
    from sim_models.cycle.jit import compile_function

    return compile_function(function)
