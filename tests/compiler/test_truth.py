"""The float64 truth against plain loops."""

import numpy as np
import pytest

from fuseflow.compiler import evaluate, parse
from fuseflow.samml.errors import TensorError


def test_a_reduction_belongs_to_its_term() -> None:
    b, c, d = np.array([1.0, 2]), np.array([[1.0, 2, 3], [4, 5, 6]]), np.array([1.0, 0, 2])
    value = evaluate(parse("x(i) = b(i) - C(i,j) * d(j)"), {"b": b, "C": c, "d": d})
    np.testing.assert_array_equal(value, b - c @ d)


def test_missing_indices_broadcast() -> None:
    t, b = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    value = evaluate(parse("X(j,i) = T(i,j) + b(j) + c"), {"T": t, "b": b, "c": np.array(7)})
    np.testing.assert_array_equal(value, (t + b + 7).T)


def test_repeated_tensors() -> None:
    a = np.array([[1, -2], [3, 4]])
    value = evaluate(parse("X(i,j) = A(i,k) * A(k,j) + A(i,j) * A(i,j)"), {"A": a})
    np.testing.assert_array_equal(value, a @ a + a * a)


def test_refuses() -> None:
    statement = parse("x = a(i) * b(i)")
    with pytest.raises(TensorError, match="'b' is missing"):
        evaluate(statement, {"a": np.zeros(2)})
    with pytest.raises(TensorError, match=r"'b\(i\)' has rank 0"):
        evaluate(statement, {"a": np.zeros(2), "b": np.zeros(())})
    with pytest.raises(TensorError, match="size 3 in 'b"):
        evaluate(statement, {"a": np.zeros(2), "b": np.zeros(3)})
