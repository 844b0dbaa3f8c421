import random

import numpy as np
import pytest

from fuseflow.samml.errors import SimulationError
from fuseflow.samml.values import BF16, FP16, FP32, INT8, INT32, ValueType
from tests.sim_models.dense import check_dense, dense_bench
from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params
from tests.sim_models.words import (
    FLOATS,
    FOLDS,
    TYPES,
    Words,
    apply,
    convert,
    edge_words,
    fiber,
    folded,
    random_pairs,
    random_word,
    random_words,
)
from tests.strategies import map_leaves, random_nested

each_type = pytest.mark.parametrize("value", TYPES, ids=lambda value: value.name)
each_fold = pytest.mark.parametrize(("op", "kind", "wide"), FOLDS)


def reduce(
    rank: int,
    streams: list[object],
    depth: int | None = None,
    value: ValueType = INT32,
    kind: str = "val",
    op: str = "sum",
    *,
    wide: bool = False,
) -> Bench:
    ports = {"val": Port((f"val/{kind}",), rank, streams)}
    return bench("reduce", {"op": op, "wide": wide}, ports, depth=depth, value=value)


@vector_params("reduce_sum")
def test_vector(vector: Vector) -> None:
    rank = vector["rank"]
    it = reduce(rank, [bundle(vector["inputs"], ["val"], rank)])
    assert_output(it.golden(), "out", vector, ["val"], rank - 1)
    check(it)


def check_fibers(op: str, kind: str, value: ValueType, fibers: list[Words], *, wide: bool) -> None:
    stream = [fiber(words) for words in fibers]
    run = check(reduce(2, [stream], None, value, kind, op, wide=wide))
    results = [folded(op, value, kind, words, wide=wide) for words in fibers]
    assert run.traces["to_out.in"].nested() == [[(word,) for word, _ in results]]
    assert run.flags.overflow == any(overflow for _, overflow in results)


@each_type
@each_fold
def test_fibers_of_every_length(op: str, kind: str, value: ValueType, *, wide: bool) -> None:
    of = value.wide if kind == "sum" else value
    lengths = [*range(20), 63, 64, 65, 200]
    check_fibers(op, kind, value, [_around_1(of, n, seed=n) for n in lengths], wide=wide)


def _around_1(value: ValueType, count: int, seed: int) -> Words:
    """Return words with full significands whose sums stay in range but often cancel."""
    rng = np.random.default_rng(seed)
    if not value.is_float:
        return rng.integers(-3, 4, count)
    found = rng.normal(size=count) * 2.0 ** rng.integers(-6, 6, count)
    found[1::3] = -found[0::3][: len(found[1::3])] * (1 + 2.0**-6)
    return np.array([value.encode(number) for number in found.tolist()], np.int64)


@each_type
@each_fold
def test_fibers_of_any_words(op: str, kind: str, value: ValueType, *, wide: bool) -> None:
    of = value.wide if kind == "sum" else value
    fibers = [random_words(of, n, seed=n) for n in range(30)]
    # Alone, a word still passes the rounding.
    fibers += [np.array([word], np.int64) for word in edge_words(of)]
    check_fibers(op, kind, value, fibers, wide=wide)


@pytest.mark.parametrize("value", [BF16, FP16, INT8], ids=lambda value: value.name)
def test_a_total_is_rounded_once(value: ValueType) -> None:
    words = random_words(value.wide, 20_000, seed=5)
    if value.is_float:
        # Around every exponent of the narrow type, so that few totals flush or overflow.
        low, high = (FP32.encode(number) for number in (value.smallest / 4, value.largest))
        words = low + words % (high + (1 << 23) - low) | words & 1 << 31
    narrow, overflow = convert(value.wide, value, words)
    run = check(reduce(2, [[[(word,)] for word in words.tolist()]], value=value, kind="sum"), ())
    assert run.traces["to_out.in"].nested() == [fiber(narrow)]
    assert run.flags.overflow == overflow


@pytest.mark.parametrize("value", FLOATS, ids=lambda value: value.name)
@pytest.mark.parametrize("width", [1, 7, 23])
def test_many_sums(value: ValueType, width: int) -> None:
    words = random_words(value, 4_000 * width, seed=width).reshape(-1, width)
    results = [folded("sum", value, "val", row) for row in words]
    it = dense_bench(value, {"val": words}, [("reduce", "", {})])
    totals = np.array([word for word, _ in results], np.int64)
    check_dense(it, totals, overflow=any(overflow for _, overflow in results))


@random_cases(50)
def test_random(rng: random.Random) -> None:
    rank, value = rng.randint(1, 4), rng.choice(TYPES)
    op, kind, wide = rng.choice(FOLDS)
    of = value.wide if kind == "sum" else value

    def leaf(rng: random.Random) -> tuple[int]:
        return (random_word(rng, of),)

    streams = [
        random_nested(rng, rank, leaf, widest=rng.choice((4, 12))) for _ in range(rng.randint(1, 2))
    ]
    shallow = None if op == "sum" and value.is_float else rng.choice((None, 2, 5))
    check(reduce(rank, streams, shallow, value, kind, op, wide=wide))


def products(
    rank: int, left: list[object], right: list[object], value: ValueType = INT32, **params: object
) -> Bench:
    ports = {"a": Port(("a/val",), rank, left), "b": Port(("b/val",), rank, right)}
    return bench("reduce", {"multiply": True, **params}, ports, value=value)


@each_type
@pytest.mark.parametrize(
    ("op", "wide"), [("sum", False), ("sum", True), ("max", False), ("min", False)]
)
def test_products_of_fibers(op: str, value: ValueType, *, wide: bool) -> None:
    kind, to = ("sum", value.wide) if op == "sum" else ("val", value)
    fibers = [random_pairs(value, n, seed=n) for n in [*range(20), 63, 64, 65, 200]]
    fibers += [(_around_1(value, n, seed=n), _around_1(value, n, seed=n + 1)) for n in range(30)]
    results: list[tuple[int, bool]] = []
    for pair in fibers:
        a, b = (convert(value, to, words)[0] for words in pair)
        terms, lost = apply("mul", to, a, b)
        total, overflow = folded(op, value, kind, terms, wide=wide)
        results.append((total, overflow or lost))
    left, right = ([fiber(pair[side]) for pair in fibers] for side in (0, 1))
    run = check(products(2, [left], [right], value, op=op, wide=wide))
    assert run.traces["to_out.in"].nested() == [[(word,) for word, _ in results]]
    assert run.flags.overflow == any(overflow for _, overflow in results)


@random_cases(50)
def test_random_products(rng: random.Random) -> None:
    rank, value, op = rng.randint(1, 4), rng.choice(TYPES), rng.choice(("sum", "max", "min"))

    def leaf(_: object = None) -> tuple[int]:
        return (random_word(rng, value),)

    left = [
        random_nested(rng, rank, leaf, widest=rng.choice((4, 12))) for _ in range(rng.randint(1, 2))
    ]
    right = [map_leaves(nested, rank, leaf) for nested in left]
    wide = op == "sum" and rng.random() < 0.5
    check(products(rank, left, right, value, op=op, wide=wide))


@each_type
def test_products_come_as_late_as_behind_a_multiplier(value: ValueType) -> None:
    one = value.encode(1)
    for op in ("sum", "max"):
        alone = check(reduce(1, [[(one,)]], value=value, op=op)).cycles
        assert check(products(1, [[(one,)]], [[(one,)]], value, op=op)).cycles == (
            alone + value.multiplier
        )


def test_factors_that_do_not_belong_together() -> None:
    it = products(1, [[(1,), (2,)]], [[(1,)]])
    with pytest.raises(SimulationError, match="unit 'it': its input streams"):
        it.run()
    with pytest.raises(SimulationError, match="node 'it': its input streams"):
        it.golden()


def test_room_is_needed_only_where_a_fiber_ends() -> None:
    run = check(reduce(1, [[(1,), (2,), (3,)], [(4,), (5,)]]))
    assert run.traces["to_out.in"].issue.tolist() == [3, 5]
    assert run.traces["to_out.in"].nested() == [(6,), (9,)]
    assert run.unit("it").firings == 5


def test_a_sum_of_floating_point_takes_lanes_and_rounds() -> None:
    one = FP32.encode(1)
    run = check(reduce(1, [[(one,), (one,)], [(one,)], []], value=FP32))
    assert run.traces["it.val"].pop.tolist() == [1, 2, 3, 4]
    assert run.traces["to_out.in"].issue.tolist() == [2, 3, 4]
    assert run.traces["to_out.in"].pop.tolist() == [22, 23, 24]
    assert run.traces["to_out.in"].nested() == [(FP32.encode(number),) for number in (2, 1, 0)]
    # Maxima need neither.
    assert check(reduce(1, [[(one,)]], value=FP32, op="max")).cycles == 3


def test_pairs_are_taken_from_the_oldest_lane_on() -> None:
    # 2^24 absorbs each 1 added to it, but not their sum. Element 8 makes lane 0 the youngest,
    # so that lanes 1 and 2 are a pair.
    numbers = [2.0**24, 1, 1, 0, 0, 0, 0, 0, 0]
    run = check(reduce(1, [[(FP32.encode(number),) for number in numbers]], value=FP32))
    assert run.traces["to_out.in"].nested() == [(FP32.encode(2.0**24 + 2),)]


def test_only_sums_that_are_formed_raise_the_flag() -> None:
    numbers = [-3e38, 0, 2e38, 0, 2e38, 0, -3e38, 0]
    run = check(reduce(1, [[(FP32.encode(number),) for number in numbers]], value=FP32))
    assert not run.flags.overflow
    run = check(reduce(1, [[(FP32.encode(number),) for number in sorted(numbers)]], value=FP32))
    assert run.flags.overflow
