"""What is judged wrong, and what cannot be judged."""

import math

import numpy as np
import pytest

from fuseflow.compiler import Truth, evaluate, parse
from fuseflow.judge import judge
from fuseflow.samml.errors import VerificationError
from fuseflow.samml.formats import Format
from fuseflow.samml.image import TensorImage
from fuseflow.samml.values import FP32
from fuseflow.tensor import Tensor


def verdict(found: list[float], truth: list[float], bound: list[float]) -> object:
    words = [FP32.encode(each) for each in found]
    image = TensorImage((len(found),), (None,), (None,), words)
    result = Tensor.from_image("x", image, Format.parse("d"), value=FP32, computed=True)
    return judge(
        result, Truth(np.array(truth), np.array(bound)), overflow=False, blame="look into it"
    )


def test_what_is_no_number_is_wrong_where_a_number_should_be() -> None:
    with pytest.raises(VerificationError, match=r"'x' is inf away .* at \(1,\)"):
        verdict([1, math.nan], [1, 2], [0, 0.5])


def test_a_bound_that_is_infinite_hides_no_other_entry() -> None:
    assert verdict([math.nan, 2], [5, 2.25], [math.inf, 0.5]) == (math.inf, math.inf)
    with pytest.raises(VerificationError, match=r"'x' is 1\.0 away"):
        verdict([math.nan, 2], [5, 3], [math.inf, 0.5])


def test_the_truth_does_not_know_what_comes_of_a_pole() -> None:
    a, b = np.array([1 / 3, 1 / 3]), np.array([3.0, 1])
    for text in (
        "x(i) = log(a(i) * b(i) - 1)",
        "x(i) = rsqrt(a(i) * b(i) - 1)",
        "x(i) = reciprocal(a(i) * b(i) - 1)",
        "x(i) = b(i) / (a(i) * b(i) - 1)",
    ):
        found = evaluate(parse(text), {"a": a, "b": b}, FP32)
        assert found is not None
        assert np.isnan(found.value[0]), text
    exact = evaluate(parse("x(i) = log(a(i) - a(i))"), {"a": a}, FP32)
    assert exact is not None
