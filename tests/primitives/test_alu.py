import random

import numpy as np
import pytest

from fuseflow.samml.functions import latency
from fuseflow.samml.values import FP32, INT32, ValueType
from tests.sim_models.dense import check_dense, dense_bench
from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.words import (
    FLOATS,
    TYPES,
    Words,
    apply,
    convert,
    edge_pairs,
    fiber,
    random_pairs,
    random_word,
)
from tests.strategies import map_leaves, random_nested

OPS = ("add", "sub", "mul", "max", "min", "wide")
CASES = [(op, value) for value in TYPES for op in OPS] + [("div", value) for value in FLOATS]


def name_of(part: ValueType | str) -> str:
    return part.name if isinstance(part, ValueType) else part


each_case = pytest.mark.parametrize(("op", "value"), CASES, ids=name_of)
each_narrow = pytest.mark.parametrize(
    ("op", "value"), [case for case in CASES if case[0] != "wide"], ids=name_of
)
each_type = pytest.mark.parametrize("value", TYPES, ids=lambda value: value.name)


def alu(
    op: str, rank: int, left: object, right: object, value: ValueType = INT32, *, relu: bool = False
) -> Bench:
    ports = {"a": Port(("a/val",), rank, [left]), "b": Port(("b/val",), rank, [right])}
    params = {"op": "mul", "wide": True} if op == "wide" else {"op": op}
    return bench("alu", params | {"relu": relu}, ports, value=value)


def expected(op: str, value: ValueType, a: Words, b: Words) -> tuple[Words, bool]:
    if op != "wide":
        return apply(op, value, a, b)
    (x, _), (y, _) = (convert(value, value.wide, each) for each in (a, b))
    return apply("mul", value.wide, x, y)


@each_case
def test_every_pair_of_edge_words(op: str, value: ValueType) -> None:
    a, b = edge_pairs(value)
    words, overflow = expected(op, value, a, b)
    run = check(alu(op, 1, fiber(a), fiber(b), value))
    assert run.traces["to_out.in"].nested() == [fiber(words)]
    assert run.flags.overflow == overflow


@each_narrow
def test_many_pairs_of_random_words(op: str, value: ValueType) -> None:
    a, b = random_pairs(value, 100_000, seed=7)
    words, overflow = expected(op, value, a, b)
    it = dense_bench(value, {"a": a, "b": b}, [("alu", "", {"op": op})])
    check_dense(it, words, overflow=overflow)


@each_type
def test_many_wide_products_summed_alone(value: ValueType) -> None:
    a, b = random_pairs(value, 100_000, seed=8)
    products, overflow = expected("wide", value, a, b)
    sums, lost = convert(value.wide, value, products)
    steps = [("alu", "", {"op": "mul", "wide": True}), ("reduce", "val", {})]
    it = dense_bench(value, {"a": a[:, None], "b": b[:, None]}, steps)
    check_dense(it, sums, overflow=overflow or lost)


@each_narrow
def test_relu_behind_an_operation(op: str, value: ValueType) -> None:
    a, b = (
        np.concatenate(pair)
        for pair in zip(edge_pairs(value), random_pairs(value, 5_000, 9), strict=True)
    )
    words, overflow = expected(op, value, a, b)
    words, _ = apply("max", value, words, np.zeros_like(words))
    steps = [("alu", "", {"op": op, "relu": True})]
    check_dense(dense_bench(value, {"a": a, "b": b}, steps), words, overflow=overflow)


@pytest.mark.parametrize(
    ("op", "a", "b", "overflow"),
    [
        ("add", 3e38, 3e38, True),
        ("mul", -1e30, 1e30, True),
        ("mul", 1e30, 1e-30, False),
        ("add", float("inf"), 3e38, False),
        ("sub", float("inf"), float("inf"), False),
        ("mul", float("inf"), 0.0, False),
        ("div", 1e30, 1e-30, True),
        ("div", 1e-30, 1e30, False),
        ("div", 1.0, 0.0, False),
        ("div", 0.0, 0.0, False),
    ],
)
def test_overflow_of_finite_results_only(op: str, a: float, b: float, *, overflow: bool) -> None:
    words = (FP32.encode(number) for number in (a, b))
    run = check(alu(op, 0, *((word,) for word in words), FP32))
    assert run.flags.overflow == overflow


@random_cases(40)
def test_random(rng: random.Random) -> None:
    rank, value = rng.randrange(4), rng.choice(TYPES)
    left = random_nested(rng, rank, lambda rng: (random_word(rng, value),))
    right = map_leaves(left, rank, lambda _: (random_word(rng, value),))
    op = rng.choice((*OPS, "div") if value.is_float else OPS)
    check(alu(op, rank, left, right, value, relu=op != "wide" and rng.random() < 0.3))


def test_division_by_zero() -> None:
    numbers = [(1.0, 0.0, "inf"), (1.0, -0.0, "-inf"), (-1.0, 0.0, "-inf"), (0.0, -0.0, "nan"),
               (float("inf"), -0.0, "-inf"), (-0.0, 3.0, "-0"), (1.0, float("-inf"), "-0"),
               (float("inf"), float("inf"), "nan"), (-3.0, 1e-39, "-inf")]  # fmt: skip
    left, right = ([(FP32.encode(pair[k]),) for pair in numbers] for k in (0, 1))
    run = check(alu("div", 1, left, right, FP32))
    results = [[(FP32.encode(float(text)),) for _, _, text in numbers]]
    assert run.traces["to_out.in"].nested() == results
    assert not run.flags.overflow


@each_type
def test_latencies(value: ValueType) -> None:
    one = value.encode(1)
    for op, cycles in (("add", value.adder), ("mul", value.multiplier), ("max", 1)):
        for relu in (False, True):
            run = check(alu(op, 0, (one,), (one,), value, relu=relu))
            assert run.cycles == 1 + cycles + 1
    if value.is_float:
        assert check(alu("div", 0, (one,), (one,), value)).cycles == 1 + latency("div", value) + 1
