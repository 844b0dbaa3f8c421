import random

import numpy as np
import pytest

from fuseflow.samml.tokens import Nested
from fuseflow.samml.values import INT32, Number, ValueType
from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params
from tests.sim_models.words import TYPES, edge_words, numbers, random_word
from tests.strategies import map_leaves, random_nested


def drop_value(
    rank: int,
    crds: list[Nested],
    vals: list[Nested],
    fill: Number = 0,
    value: ValueType = INT32,
) -> Bench:
    ports = {"crd": Port(("crd/crd",), rank, crds), "val": Port(("val/val",), rank, vals)}
    return bench("drop_value", {"fill": fill}, ports, value=value)


@vector_params("drop_value")
def test_vector(vector: Vector) -> None:
    rank, inputs = vector["rank"], vector["inputs"]
    crds, vals = ([bundle(inputs, [name], rank)] for name in ("crd", "val"))
    it = drop_value(rank, crds, vals, vector["params"]["fill"])
    assert_output(it.golden(), "out", vector, ["crd", "val"], rank)
    check(it)


@random_cases(50)
def test_random(rng: random.Random) -> None:
    rank, value = rng.randint(1, 3), rng.choice(TYPES)
    fill = rng.choice((0, -4, value.low))
    share = rng.choice((0.1, 0.5, 0.9, 1.0))

    def word() -> int:
        return value.encode(fill) if rng.random() < share else random_word(rng, value)

    crds = [random_nested(rng, rank, lambda rng: (rng.randrange(9),)) for _ in range(2)]
    vals = [map_leaves(crd, rank, lambda _: (word(),)) for crd in crds]
    check(drop_value(rank, crds, vals, fill, value), seeds=range(4))


@pytest.mark.parametrize("value", TYPES, ids=lambda value: value.name)
def test_equal_means_equal_as_numbers(value: ValueType) -> None:
    words = edge_words(value)
    crds, vals = [(k,) for k in range(len(words))], [(word,) for word in words]
    for fill in (0, value.low):
        read = numbers(value, np.array(words)) if value.is_float else words
        left = [(k, word) for k, word in enumerate(words) if float(read[k]) != fill]
        run = check(drop_value(1, [crds], [vals], fill, value))
        assert run.traces["to_out.in"].nested() == [left]


def test_the_last_survivor_takes_the_close() -> None:
    crds, vals = [(0,), (1,), (2,)], [(5,), (0,), (0,)]
    run = check(drop_value(1, [crds], [vals]))
    # Held from 1; the dropped last token in 3 completes it; out in 4.
    assert run.traces["to_out.in"].tokens() == [((0, 5), 0, 1)]
    assert run.traces["to_out.in"].issue.tolist() == [4]
