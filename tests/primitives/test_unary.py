import random
from typing import Any

import numpy as np
import pytest

from fuseflow.samml.catalog import ELEMENTARY
from fuseflow.samml.evaluate import evaluate
from fuseflow.samml.functions import latency
from fuseflow.samml.values import BF16, FP32, INT8, INT32, Number, ValueType
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
CASES = [(op, value) for value in TYPES for op in (*OPS, *(ELEMENTARY if value.is_float else ()))]
OFFSET = -3
"""What affine adds in these tests."""


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
    """Return what the specification says of every word."""
    found = [evaluate(op, value, word) for word in a.tolist()]
    return np.array([word for word, _ in found], np.int64), any(large for _, large in found)


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
    a = random_words(value, 5_000 if op in ELEMENTARY else 100_000, seed=3)
    constant = -1.3359375 if value.is_float else -77
    words, overflow = expected(op, value, a, constant)
    params = {"op": op, "constant": constant, "offset": OFFSET}
    it = dense_bench(value, {"a": a}, [("unary", "", params)])
    check_dense(it, words, overflow=overflow)


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
        ("sqrt", "-0", -0.0, False),
        ("sqrt", "-1", float("nan"), False),
        ("sqrt", "inf", float("inf"), False),
        ("sqrt", "2.25", 1.5, False),
        ("reciprocal", "0", float("inf"), False),
        ("reciprocal", "-0", float("-inf"), False),
        ("reciprocal", "-inf", -0.0, False),
        ("reciprocal", "-4", -0.25, False),
        ("reciprocal", "3e38", 0.0, False),
        ("log", "0", float("-inf"), False),
        ("log", "-1e-39", float("-inf"), False),
        ("log", "-1", float("nan"), False),
        ("log", "-inf", float("nan"), False),
        ("log", "inf", float("inf"), False),
        ("log", "1", 0.0, False),
        ("sigmoid", "-inf", 0.0, False),
        ("sigmoid", "inf", 1.0, False),
        ("sigmoid", "-0", 0.5, False),
        ("sigmoid", "-1e38", 0.0, False),
        ("sigmoid", "1e38", 1.0, False),
        ("sigmoid", "nan", float("nan"), False),
        ("tanh", "-inf", -1.0, False),
        ("tanh", "inf", 1.0, False),
        ("tanh", "-0", -0.0, False),
        ("tanh", "-11", -1.0, False),
        ("tanh", "1e-30", 1e-30, False),
        ("gelu", "-inf", -0.0, False),
        ("gelu", "inf", float("inf"), False),
        ("gelu", "-0", -0.0, False),
        ("gelu", "-100", -0.0, False),
        ("gelu", "1e38", 1e38, False),
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
            cycles = {"shift": add, "scale": multiply, "affine": multiply + add}.get(op, 1)
            assert check(unary(op, 0, [(1,)], value, constant=1)).cycles == 1 + cycles + 1
    for value in FLOATS:
        for op in ELEMENTARY:
            assert check(unary(op, 0, [(1,)], value)).cycles == 1 + latency(op, value) + 1
