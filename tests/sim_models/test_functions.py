"""Elementary functions are close to what they approximate, in both models the same words."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from fuseflow.samml.catalog import ELEMENTARY
from fuseflow.samml.evaluate import evaluate
from fuseflow.samml.functions import GELU_ERROR, GELU_STEEP, ulps
from fuseflow.samml.values import BF16, FP16, ValueType
from sim_models.arithmetic import apply, numbers, words
from sim_models.storage import Flags
from tests.hw import reference
from tests.sim_models.dense import check_dense, dense_bench
from tests.sim_models.points import operands
from tests.sim_models.words import FLOATS, Words, edge_words

EXACT: dict[str, Callable[[Any], Any]] = {
    "reciprocal": lambda x: 1 / x,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "sigmoid": special.expit,
    "tanh": np.tanh,
    "gelu": lambda x: np.where(x == -np.inf, -0.0, x * special.ndtr(x)),
    "log": np.log,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
"""In float64, whose last places are below 2^-28 of those of fp32."""

POINTS = 1_000_000
"""Operands in fp32, beside the edges."""

CASES = [pytest.param(op, value, id=f"{op}-{value.name}") for op in ELEMENTARY for value in FLOATS]


def points(op: str, value: ValueType) -> Words:
    return operands(value, POINTS, np.random.default_rng(list(map(ord, op))))


def computed(op: str, value: ValueType, a: Words) -> tuple[Words, bool]:
    flags = Flags()
    found = words(value, apply(op, value, flags, numbers(value, a)))
    return found, flags.overflow


@pytest.mark.parametrize(("op", "value"), CASES)
def test_close_to_the_exact_function(op: str, value: ValueType) -> None:
    a = points(op, value)
    found = numbers(value, computed(op, value, a)[0])
    with np.errstate(all="ignore"):
        x = numbers(value, a)
        exact = EXACT[op](x)
        places = np.maximum(np.frexp(exact)[1] - 1, 1 - value.bias) - value.fraction
        bound = np.ldexp(ulps(op, value), places)
        if op == "gelu":
            bound += np.where(x < GELU_STEEP, GELU_ERROR * -x, 0)
        close = np.abs(found - exact) <= bound
        same = (found == exact) & (np.signbit(found) == np.signbit(exact))
        same |= np.isnan(found) & np.isnan(exact)
        # What nearly leaves the range of the type may leave it, and what leaves it must.
        flushed = (found == 0) & (np.abs(exact) < value.smallest + bound)
        flushed &= np.signbit(found) == np.signbit(exact)
        overflown = np.isinf(found) & (np.abs(exact) > value.largest - bound)
        overflown &= np.signbit(found) == np.signbit(exact)
    special_ends = np.isnan(exact) | np.isinf(exact) & np.isinf(x) | (x == 0)
    right = np.where(special_ends, same, close & np.isfinite(found) | flushed | overflown)
    wrong = np.flatnonzero(~right)
    shown = [f"{op}({x[k]!r}) = {found[k]!r}, not {exact[k]!r}" for k in wrong[:4]]
    assert not len(wrong), f"{len(wrong)} of {len(a)}: {shown}"


@pytest.mark.parametrize(("op", "value"), CASES)
def test_the_models_give_the_words_of_the_specification(op: str, value: ValueType) -> None:
    a = points(op, value)
    found, overflow = computed(op, value, a)
    check_dense(dense_bench(value, {"a": a}, [("unary", "", {"op": op})]), found, overflow=overflow)
    some = np.unique(np.linspace(0, len(a) - 1, 4000).astype(int))
    some = np.concatenate([some, np.arange(3000)])
    expected = [evaluate(op, value, word) for word in a[some].tolist()]
    assert found[some].tolist() == [word for word, _ in expected]
    assert computed(op, value, a[some])[1] == any(large for _, large in expected)


def all_quotients() -> tuple[Words, Words]:
    """Return every pair of significands of bf16, at all differences where quotients end."""
    parts = np.arange(1 << 7)
    a, b = (each.ravel() for each in np.meshgrid(parts, parts))
    # Biased exponents: quotients in the middle, near the largest, near the smallest, and 1.
    exponents = [(127, 127), (254, 127), (254, 128), (1, 127), (1, 128), (128, 254), (1, 254)]
    pairs = [(a | over << 7, b | under << 7) for over, under in exponents]
    edges = np.array(edge_words(BF16))
    pairs.append(tuple(each.ravel() for each in np.meshgrid(edges, edges)))
    left, right = (np.concatenate(each) for each in zip(*pairs, strict=True))
    return np.concatenate([left, left | 1 << 15]), np.concatenate([right, right])


def test_every_quotient_of_significands() -> None:
    """Of both models; the reference is NumPy's float64, rounded to bf16 by another path."""
    a, b = all_quotients()
    found, overflow = reference.apply("div", BF16, a, b)
    assert overflow.any()
    check_dense(dense_bench(BF16, {"a": a, "b": b}, [("alu", "", {"op": "div"})]), found,
                overflow=True)  # fmt: skip
    some = np.arange(0, len(a), 17)
    pairs = zip(a[some].tolist(), b[some].tolist(), strict=True)
    expected = [evaluate("div", BF16, *pair) for pair in pairs]
    assert expected == list(zip(found[some].tolist(), overflow[some].tolist(), strict=True))


@pytest.mark.parametrize("value", [BF16, FP16], ids=lambda value: value.name)
def test_quotients_of_the_specification_are_rounded_once(value: ValueType) -> None:
    rng = np.random.default_rng(value.bits)
    a, b = rng.integers(0, 1 << value.bits, (2, 20_000))
    a[:1024], b[:1024] = np.array(np.meshgrid(*2 * [edge_words(value)[:32]])).reshape(2, -1)
    flags = Flags()
    found = words(value, apply("div", value, flags, numbers(value, a), numbers(value, b)))
    expected = [evaluate("div", value, *pair) for pair in zip(a.tolist(), b.tolist(), strict=True)]
    assert found.tolist() == [word for word, _ in expected]
    assert flags.overflow
    assert any(large for _, large in expected)
