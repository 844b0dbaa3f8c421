"""The float64 truth against plain loops."""

import numpy as np
import pytest

from fuseflow.compiler import evaluate as evaluate_with_bound
from fuseflow.compiler import parse
from fuseflow.samml.errors import TensorError
from fuseflow.samml.values import BF16, FP16, FP32, INT32, ValueType


def evaluate(text: str, arrays: dict[str, np.ndarray], value: ValueType = FP32) -> np.ndarray:
    found = evaluate_with_bound(parse(text), arrays, value)
    assert found is not None
    return found.value


def test_a_reduction_belongs_to_its_term() -> None:
    b, c, d = np.array([1.0, 2]), np.array([[1.0, 2, 3], [4, 5, 6]]), np.array([1.0, 0, 2])
    value = evaluate("x(i) = b(i) - C(i,j) * d(j)", {"b": b, "C": c, "d": d})
    np.testing.assert_array_equal(value, b - c @ d)


def test_missing_indices_broadcast() -> None:
    t, b = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    value = evaluate("X(j,i) = T(i,j) + b(j) + c", {"T": t, "b": b, "c": np.array(7)})
    np.testing.assert_array_equal(value, (t + b + 7).T)


def test_repeated_tensors() -> None:
    a = np.array([[1, -2], [3, 4]])
    value = evaluate("X(i,j) = A(i,k) * A(k,j) + A(i,j) * A(i,j)", {"A": a})
    np.testing.assert_array_equal(value, a @ a + a * a)


def test_functions_and_folds() -> None:
    a, b = np.array([[1.0, -2], [-3, -4]]), np.array([1.0, 3])
    np.testing.assert_array_equal(evaluate("x(i) = max[j](A(i,j))", {"A": a}), [1, -3])
    np.testing.assert_array_equal(evaluate("x(i) = relu(A(i,j) * b(j))", {"A": a, "b": b}), [0, 0])
    np.testing.assert_array_equal(
        evaluate("x(i) = sum[j](relu(A(i,j) * b(j)))", {"A": a, "b": b}), [1, 0]
    )
    np.testing.assert_array_equal(evaluate("x = min(abs(a(i)), 2)", {"a": b}), 2)
    empty = np.zeros((2, 0))
    np.testing.assert_array_equal(evaluate("x(i) = max[j](A(i,j))", {"A": empty}), [-np.inf] * 2)
    low = evaluate("x(i) = max[j](A(i,j))", {"A": empty}, INT32)
    np.testing.assert_array_equal(low, [-(2**31)] * 2)


def test_the_bound_grows_with_every_rounding() -> None:
    unit = BF16.unit
    ones = np.ones(4)

    def bound(text: str, value: ValueType = BF16) -> float:
        arrays = dict.fromkeys("abc", ones)
        found = evaluate_with_bound(parse(text), arrays, value)
        assert found is not None
        return float(found.bound.max())

    assert bound("x(i) = a(i)") == 0
    assert unit <= bound("x(i) = a(i) * b(i)") <= 1.01 * unit
    assert 2 * unit <= bound("x(i) = a(i) * b(i) * c(i)") <= 2.1 * unit
    assert bound("x(i) = max(a(i), b(i))") == 0
    assert 3 * FP32.unit < bound("x = a(i)", FP32) < 20 * FP32.unit
    assert bound("x = a(i) * b(i)", INT32) == 0


def test_the_bound_knows_what_a_flushed_product_is_multiplied_by() -> None:
    arrays = {"a": np.full(4, 2.0**10), "b": np.full(4, 2.0**10), "c": np.full(4, 2.0**-12)}
    found = evaluate_with_bound(parse("x = a(i) * b(i) * c(i)"), arrays, FP16)
    assert found is not None
    assert found.value == 2**10
    assert 2 * FP16.unit * 2**10 < found.bound < 5 * FP16.unit * 2**10


def test_infinities_of_both_signs_are_no_number() -> None:
    a = np.array([[2e30, -1e30]])
    masks = {"A": a, "b": np.array([-np.inf])}
    assert np.isnan(evaluate("x = sum[i,j](A(i,j) * b(i))", masks))
    masks["A"] = np.abs(a)
    assert evaluate("x = sum[i,j](A(i,j) * b(i))", masks) == -np.inf


def test_what_may_round_to_0_times_infinity_is_no_number() -> None:
    arrays = {"a": np.array(1e-30), "b": np.array(np.inf)}
    assert np.isnan(evaluate("x = a * a * b", arrays))
    assert evaluate("x = a * b", arrays) == np.inf


def test_what_is_too_large_is_not_evaluated() -> None:
    a = np.ones((300, 300))
    statement = parse("X(i,j,k) = A(i,j) + B(j,k)")
    assert evaluate_with_bound(statement, {"A": a, "B": a}) is None


def test_refuses() -> None:
    statement = "x = a(i) * b(i)"
    with pytest.raises(TensorError, match="'b' is missing"):
        evaluate(statement, {"a": np.zeros(2)})
    with pytest.raises(TensorError, match=r"'b\(i\)' has rank 0"):
        evaluate(statement, {"a": np.zeros(2), "b": np.zeros(())})
    with pytest.raises(TensorError, match="size 3 in 'b"):
        evaluate(statement, {"a": np.zeros(2), "b": np.zeros(3)})
