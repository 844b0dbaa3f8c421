import random
from typing import Any

import numpy as np
import pytest

from fuseflow.samml.values import BF16, FP32, INT8, INT32, Number, ValueType
from tests.sim_models.dense import check_dense, dense_bench
from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.words import (
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

OPS = ("neg", "abs", "relu", "scale", "shift", "max", "min")
each_op = pytest.mark.parametrize("op", OPS)
each_type = pytest.mark.parametrize("value", TYPES, ids=lambda value: value.name)


def unary(
    op: str, rank: int, streams: list[object], value: ValueType = INT32, constant: Number = 0
) -> Bench:
    params = {"op": op, "constant": constant}
    return bench("unary", params, {"a": Port(("a/val",), rank, streams)}, value=value)


def expected(op: str, value: ValueType, a: Words, constant: Number) -> tuple[Words, bool]:
    if op in ("neg", "abs"):
        change: Any = np.negative if op == "neg" else np.abs
        if not value.is_float:
            return wrap(value, change(a))
        with np.errstate(all="ignore"):
            native = change(numbers(value, a))
            return patterns(value, native, native.astype(np.float64), native)
    binary = {"relu": "max", "scale": "mul", "shift": "add"}.get(op, op)
    second = value.encode(0 if op == "relu" else constant)
    return apply(binary, value, a, np.full_like(a, second))


def constants(value: ValueType) -> list[Number]:
    some: list[Number] = [0, -1, 3, value.high, value.low]
    return [*some, -0.0, 0.375, value.largest, value.smallest] if value.is_float else some


@each_op
@each_type
def test_every_edge_word(op: str, value: ValueType) -> None:
    a = np.array(edge_words(value), np.int64)
    for constant in constants(value):
        words, overflow = expected(op, value, a, constant)
        run = check(unary(op, 1, [fiber(a)], value, constant), seeds=(1,))
        assert run.traces["to_out.in"].nested() == [fiber(words)]
        assert run.flags.overflow == overflow


@each_op
@each_type
def test_many_random_words(op: str, value: ValueType) -> None:
    a = random_words(value, 100_000, seed=3)
    constant = -1.3359375 if value.is_float else -77
    words, overflow = expected(op, value, a, constant)
    it = dense_bench(value, {"a": a}, [("unary", "", {"op": op, "constant": constant})])
    check_dense(it, words, overflow=overflow)


@random_cases(20)
def test_random(rng: random.Random) -> None:
    rank, value = rng.randrange(4), rng.choice(TYPES)
    streams = [random_nested(rng, rank, lambda rng: (random_word(rng, value),)) for _ in range(2)]
    check(unary(rng.choice(OPS), rank, streams, value, rng.choice(constants(value))))


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
            latency = {"shift": add, "scale": multiply}.get(op, 1)
            assert check(unary(op, 0, [(1,)], value, constant=1)).cycles == 1 + latency + 1
