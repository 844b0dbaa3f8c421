import random
from typing import Any

import numpy as np
import pytest

from fuseflow.samml.graph import Extent
from fuseflow.samml.tokens import Nested
from fuseflow.samml.values import BF16, FP32, INT8, INT32, ValueType
from tests.sim_models.harness import Bench, Port, bench, check, random_cases, size_tensor
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params
from tests.sim_models.words import (
    FOLDS,
    TYPES,
    apply,
    convert,
    edge_words,
    folded,
    random_word,
    random_words,
)
from tests.strategies import map_leaves, random_nested, truncate

SIZE = 8


def accumulate(
    rank: int,
    crds: list[Nested],
    vals: list[Nested],
    size: int = SIZE,
    value: ValueType = INT32,
    kind: str = "val",
    **more: Any,
) -> Bench:
    ports = {"crd": Port(("crd/crd",), rank, crds), "val": Port((f"val/{kind}",), rank, vals)}
    params = {"kept": 1, "size": (Extent("T", 0),)} | more
    return bench("accumulate", params, ports, [size_tensor("T", size)], value=value)


def accumulate2(
    rank: int,
    outers: list[Nested],
    crds: list[Nested],
    vals: list[Nested],
    value: ValueType = INT32,
    kind: str = "val",
    **more: Any,
) -> Bench:
    ports = {
        "outer": Port(("crd/crd",), rank - 1, outers),
        "crd": Port(("crd/crd",), rank, crds),
        "val": Port((f"val/{kind}",), rank, vals),
    }
    params = {"kept": 2, "size": (Extent("T", 0), Extent("T", 1))} | more
    return bench("accumulate", params, ports, [size_tensor("T", SIZE, SIZE)], value=value)


@vector_params("accumulate")
def test_vector(vector: Vector) -> None:
    rank, inputs = vector["rank"], vector["inputs"]
    it = accumulate(rank, *([bundle(inputs, [name], rank)] for name in ("crd", "val")))
    assert_output(it.golden(), "out", vector, ["crd", "val"], rank - 1)
    check(it)


@vector_params("accumulate2")
def test_vector_of_two_kept(vector: Vector) -> None:
    rank, inputs = vector["rank"], vector["inputs"]
    outers = bundle(inputs, ["outer"], rank - 1)
    crds, vals = (bundle(inputs, [name], rank) for name in ("crd", "val"))
    it = accumulate2(rank, [outers], [crds], [vals])
    assert_output(it.golden(), "out", vector, ["crd", "val"], rank - 1)
    (outer,) = it.golden().streams["it", "outer"]
    assert outer == bundle(vector["outputs"], ["outer"], rank - 2)
    check(it)


def options(rng: random.Random) -> dict[str, Any]:
    op, kind, wide = rng.choice(FOLDS)
    return {
        "value": rng.choice(TYPES),
        "op": op,
        "kind": kind,
        "wide": wide,
        "banks": rng.choice((1, 2, 4)),
        "adder": rng.choice((0, 1, 2, 5)),
    }


def random_leaf(rng: random.Random, options: dict[str, Any]) -> tuple[int]:
    value = options["value"]
    return (random_word(rng, value.wide if options["kind"] == "sum" else value),)


@random_cases(50)
def test_random(rng: random.Random) -> None:
    rank, size, more = rng.randint(2, 4), rng.choice((2, SIZE)), options(rng)
    crds = [random_nested(rng, rank, lambda rng: (rng.randrange(size),)) for _ in range(2)]
    vals = [map_leaves(crd, rank, lambda _: random_leaf(rng, more)) for crd in crds]
    mode = rng.choice(("sparse", "sparse", "dense"))
    check(accumulate(rank, crds, vals, size, mode=mode, **more))


@random_cases(40)
def test_random_of_two_kept(rng: random.Random) -> None:
    rank, more = rng.randint(3, 4), options(rng)
    crds = [random_nested(rng, rank, lambda rng: (rng.randrange(4),), widest=3) for _ in range(2)]
    vals = [map_leaves(crd, rank, lambda _: random_leaf(rng, more)) for crd in crds]
    outers = [truncate(crd, rank, rank - 1, lambda: (rng.randrange(3),)) for crd in crds]
    check(accumulate2(rank, outers, crds, vals, **more))


@pytest.mark.parametrize("value", TYPES, ids=lambda value: value.name)
@pytest.mark.parametrize(("op", "kind", "wide"), FOLDS)
@pytest.mark.parametrize("mode", ["sparse", "dense"])
def test_folds_in_order_of_arrival(
    op: str, kind: str, value: ValueType, mode: str, *, wide: bool
) -> None:
    rng = random.Random(5)
    of = value.wide if kind == "sum" else value
    words = [*edge_words(of), *random_words(of, 100, seed=1).tolist()]
    crds = [rng.randrange(2 * len(words)) for _ in words]
    size = 3 * len(words)
    rows = [[[(crd,) for crd in crds]]], [[[(word,) for word in words]]]
    run = check(accumulate(2, *rows, size, value, kind, op=op, mode=mode, wide=wide))
    at: dict[int, list[int]] = {crd: [] for crd in range(size) if mode == "dense" or crd in crds}
    for crd, word in zip(crds, words, strict=True):
        at[crd].append(word)
    results = [(crd, *in_order(op, value, kind, at[crd], wide=wide)) for crd in at]
    assert run.traces["to_out.in"].nested() == [[(crd, word) for crd, word, _ in results]]
    assert run.flags.overflow == any(overflow for *_, overflow in results)


def in_order(
    op: str, value: ValueType, kind: str, words: list[int], *, wide: bool
) -> tuple[int, bool]:
    """Fold the words of one coordinate; a sum of floating point in one lane."""
    if op != "sum" or not value.is_float or len(words) < 2:
        return folded(op, value, kind, np.array(words, np.int64), wide=wide)
    each = [np.array([word], np.int64) for word in words]
    if kind == "val":
        each = [convert(value, value.wide, word)[0] for word in each]
    total, flags = each[0], list[bool]()
    for word in each[1:]:
        total, overflow = apply("add", value.wide, total, word)
        flags.append(overflow)
    left, overflow = convert(value.wide, value.wide if wide else value, total)
    return int(left[0]), any((*flags, overflow))


def test_dense_mode_of_size_0() -> None:
    run = check(accumulate(2, [[[], []]], [[[], []]], size=0, mode="dense"))
    assert run.traces["to_out.in"].nested() == [[]]


def test_timing_of_one_row() -> None:
    run = check(accumulate(2, [[[(3,), (1,)]]], [[[(5,), (6,)]]]))
    assert run.traces["it.row"].issue.tolist() == [2]
    # C = 3 cycles to emit, whose own latency is 3.
    assert run.traces["to_out.in"].issue.tolist() == [5, 6]
    assert run.traces["to_out.in"].pop.tolist() == [8, 9]
    assert run.traces["to_out.in"].nested() == [[(1, 6), (3, 5)]]


def test_a_repeated_coordinate_waits_for_the_adder() -> None:
    crds, vals = [[(3,), (3,), (1,), (3,)]], [[(1,)] * 4]
    run = check(accumulate(2, [crds], [vals], adder=4))
    # Readable in 1, 2, ...; 3 again 4 cycles after 1; 1 follows; 3 again 4 cycles after 5.
    assert run.traces["it.crd"].pop.tolist() == [1, 5, 6, 9]
    assert run.unit("it.fill").coordinate == 3 + 2
    assert run.traces["it.row"].issue.tolist() == [9]
    assert run.traces["to_out.in"].issue.tolist()[0] == 9 + 5


@pytest.mark.parametrize(
    ("value", "op", "adder"), [(FP32, "sum", 4), (BF16, "max", 1), (INT8, "sum", 1)]
)
def test_the_hazard_is_that_of_the_fold(value: ValueType, op: str, adder: int) -> None:
    run = check(accumulate(2, [[[(3,), (3,)]]], [[[(0,), (0,)]]], value=value, op=op))
    assert run.traces["it.crd"].pop.tolist() == [1, 1 + adder]
    assert run.traces["to_out.in"].issue.tolist() == [1 + adder + max(3, adder + 1)]


def test_one_bank_serializes_rows() -> None:
    crds, vals = [[[(3,)]]] * 3, [[[(1,)]]] * 3
    one = check(accumulate(2, crds, vals, banks=1))
    # A row ends in t, is emitted and released in t + 3; the next begins in t + 4.
    assert one.traces["it.crd"].pop.tolist() == [1, 5, 9]
    assert one.unit("it.fill").bank > 0
    four = check(accumulate(2, crds, vals, banks=4))
    assert four.traces["it.crd"].pop.tolist() == [1, 2, 3]


def test_bank_of_a_large_size_emits_ascending() -> None:
    rng = random.Random(3)
    crds = [[(rng.randrange(5000),) for _ in range(300)] for _ in range(4)]
    vals = map_leaves(crds, 2, lambda _: (rng.randint(-9, 9),))
    check(accumulate(2, [crds], [vals], size=5000))
