import random
from typing import Any

import numpy as np
import pytest

from fuseflow.samml.values import BF16, FP16, FP32, INT8, INT32, Number, ValueType
from tests.sim_models.dense import check_dense, dense_bench
from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.words import (
    FLOATS,
    TYPES,
    Words,
    apply,
    edge_words,
    fiber,
    numbers,
    patterns,
    random_word,
    random_words,
    wrap,
)
from tests.strategies import random_nested

OPS = ("neg", "abs", "relu", "scale", "shift", "affine", "max", "min")
ELEMENTARY = ("exp", "rsqrt")
CASES = [(op, value) for value in TYPES for op in (*OPS, *(ELEMENTARY if value.is_float else ()))]
OFFSET = -3
"""What affine adds in these tests."""
STEEP = 700
"""Beyond it exp leaves float64 too, and every value type."""


def name_of(part: ValueType | str) -> str:
    return part.name if isinstance(part, ValueType) else part


each_case = pytest.mark.parametrize(("op", "value"), CASES, ids=name_of)


def unary(
    op: str, rank: int, streams: list[object], value: ValueType = INT32, constant: Number = 0
) -> Bench:
    params = {"op": op, "constant": constant, "offset": OFFSET}
    return bench("unary", params, {"a": Port(("a/val",), rank, streams)}, value=value)


def expected(op: str, value: ValueType, a: Words, constant: Number) -> tuple[Words, bool]:
    if op in ("neg", "abs"):
        change: Any = np.negative if op == "neg" else np.abs
        if not value.is_float:
            return wrap(value, change(a))
        with np.errstate(all="ignore"):
            native = change(numbers(value, a))
            return patterns(value, native, native.astype(np.float64))
    if op in ELEMENTARY:
        return elementary(op, value, a)
    if op == "affine":
        products, large = expected("scale", value, a, constant)
        sums, larger = expected("shift", value, products, OFFSET)
        return sums, large or larger
    binary = {"relu": "max", "scale": "mul", "shift": "add"}.get(op, op)
    second = value.encode(0 if op == "relu" else constant)
    return apply(binary, value, a, np.full_like(a, second))


def elementary(op: str, value: ValueType, a: Words) -> tuple[Words, bool]:
    """Return the correctly rounded words: NumPy's float64 is closer than any tie among them."""
    with np.errstate(all="ignore"):
        x = numbers(value, a).astype(np.float64)
        if op == "exp":
            exact = np.exp(np.where(np.isinf(x), x, np.clip(x, -STEEP, STEEP)))
        else:
            exact = 1 / np.sqrt(x)
    words = np.array([value.encode(number) for number in exact.tolist()], np.int64)
    infinite = np.isin(words, [value.encode(np.inf), value.encode(-np.inf)])
    return words, bool(np.any(infinite & np.isfinite(exact)))


def constants(value: ValueType) -> list[Number]:
    some: list[Number] = [0, -1, 3, value.high, value.low]
    return [*some, -0.0, 0.375, value.largest, value.smallest] if value.is_float else some


@each_case
def test_every_edge_word(op: str, value: ValueType) -> None:
    a = np.array(edge_words(value), np.int64)
    for constant in constants(value):
        words, overflow = expected(op, value, a, constant)
        run = check(unary(op, 1, [fiber(a)], value, constant), seeds=(1,))
        assert run.traces["to_out.in"].nested() == [fiber(words)]
        assert run.flags.overflow == overflow


@each_case
def test_many_random_words(op: str, value: ValueType) -> None:
    a = random_words(value, 100_000, seed=3)
    constant = -1.3359375 if value.is_float else -77
    words, overflow = expected(op, value, a, constant)
    params = {"op": op, "constant": constant, "offset": OFFSET}
    it = dense_bench(value, {"a": a}, [("unary", "", params)])
    check_dense(it, words, overflow=overflow)


@pytest.mark.parametrize("op", ELEMENTARY)
@pytest.mark.parametrize("value", [BF16, FP16], ids=name_of)
def test_every_word_of_16_bits(op: str, value: ValueType) -> None:
    a = np.arange(1 << 16)
    words, overflow = elementary(op, value, a)
    check_dense(dense_bench(value, {"a": a}, [("unary", "", {"op": op})]), words, overflow=overflow)


def test_exp_of_every_size() -> None:
    """Powers whose results are spread over the whole range of fp32, and around its two ends."""
    rng = np.random.default_rng(5)
    ends = np.log([FP32.smallest, FP32.largest])[:, None] + rng.normal(0, 1e-5, (2, 10_000))
    powers = np.concatenate([rng.uniform(-90, 90, 50_000), ends.ravel()]).astype(np.float32)
    a = powers.view(np.uint32).astype(np.int64)
    words, overflow = elementary("exp", FP32, a)
    assert overflow
    check_dense(dense_bench(FP32, {"a": a}, [("unary", "", {"op": "exp"})]), words, overflow=True)


@pytest.mark.parametrize(
    ("op", "number", "result", "overflow"),
    [
        ("exp", "-inf", 0.0, False),
        ("exp", "inf", float("inf"), False),
        ("exp", "nan", float("nan"), False),
        ("exp", "-0", 1.0, False),
        ("exp", "-1e38", 0.0, False),
        ("exp", "88.8", float("inf"), True),
        ("exp", "1e38", float("inf"), True),
        ("rsqrt", "0", float("inf"), False),
        ("rsqrt", "-0", float("-inf"), False),
        ("rsqrt", "-1e-39", float("-inf"), False),
        ("rsqrt", "-1", float("nan"), False),
        ("rsqrt", "-inf", float("nan"), False),
        ("rsqrt", "inf", 0.0, False),
        ("rsqrt", "0.25", 2.0, False),
    ],
)
def test_ends_of_elementary_functions(
    op: str, number: str, result: float, *, overflow: bool
) -> None:
    run = check(unary(op, 0, [(FP32.encode(float(number)),)], FP32))
    assert run.traces["to_out.in"].nested() == [(FP32.encode(result),)]
    assert run.flags.overflow == overflow


@random_cases(20)
def test_random(rng: random.Random) -> None:
    rank, value = rng.randrange(4), rng.choice(TYPES)
    streams = [random_nested(rng, rank, lambda rng: (random_word(rng, value),)) for _ in range(2)]
    op = rng.choice((*OPS, *ELEMENTARY) if value.is_float else OPS)
    check(unary(op, rank, streams, value, rng.choice(constants(value))))


def test_the_lowest_integer_has_no_negative() -> None:
    for op in ("neg", "abs"):
        run = check(unary(op, 0, [(-128,)], INT8))
        assert run.traces["to_out.in"].nested() == [(-128,)]
        assert run.flags.overflow


def test_signs_of_zero() -> None:
    minus, plus = FP32.encode(-0.0), FP32.encode(0.0)
    for op, result in (("neg", plus), ("abs", plus), ("relu", plus), ("scale", minus)):
        run = check(unary(op, 0, [(minus,)], FP32, constant=1))
        assert run.traces["to_out.in"].nested() == [(result,)]


def test_latencies() -> None:
    for value, add, multiply in ((FP32, 4, 4), (BF16, 4, 3), (INT8, 1, 2)):
        for op in OPS:
            latency = {"shift": add, "scale": multiply, "affine": multiply + add}.get(op, 1)
            assert check(unary(op, 0, [(1,)], value, constant=1)).cycles == 1 + latency + 1
    for value in FLOATS:
        for op, latency in (("exp", value.exponential), ("rsqrt", value.root)):
            assert check(unary(op, 0, [(1,)], value)).cycles == 1 + latency + 1
