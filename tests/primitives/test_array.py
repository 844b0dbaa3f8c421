import random

import pytest

from fuseflow.samml.formats import Format
from fuseflow.samml.graph import TensorDecl
from fuseflow.samml.image import TensorImage
from fuseflow.samml.values import INT32, Number, ValueType
from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.words import TYPES, edge_words
from tests.strategies import random_nested

VALS = [5, -7, 2**31 - 1, -(2**31), 0]


def array(
    rank: int,
    streams: list[object],
    vals: list[int] = VALS,
    value: ValueType = INT32,
    fill: Number = -3,
) -> Bench:
    declared = TensorDecl("T", "input", Format.parse("dense"), (64,), (64,), fill=fill)
    image = TensorImage((len(vals),), (None,), (None,), vals)
    ports = {"ref": Port(("ref/ref",), rank, streams)}
    return bench("array", {"tensor": "T"}, ports, [(declared, image)], value=value)


@random_cases(20)
def test_random(rng: random.Random) -> None:
    rank, value = rng.randrange(4), rng.choice(TYPES)
    vals = edge_words(value)
    refs = (None, *range(len(vals)))
    streams = [random_nested(rng, rank, lambda rng: (rng.choice(refs),))]
    check(array(rank, streams, vals, value, rng.choice((-3, value.low))))


@pytest.mark.parametrize("value", TYPES, ids=lambda value: value.name)
def test_words_pass_as_they_are(value: ValueType) -> None:
    vals = edge_words(value)
    refs = [(None,), *((k,) for k in range(len(vals)))]
    run = check(array(1, [refs], vals, value, fill=value.low))
    words = [value.encode(value.low), *vals]
    assert run.traces["to_out.in"].nested() == [[(word,) for word in words]]


def test_null_gives_the_fill_after_two_cycles() -> None:
    run = check(array(1, [[(1,), (None,), (3,)]]))
    assert run.traces["to_out.in"].nested() == [[(-7,), (-3,), (-(2**31),)]]
    assert run.traces["to_out.in"].issue.tolist() == [1, 2, 3]
    assert run.traces["to_out.in"].pop.tolist() == [3, 4, 5]


def test_a_ref_outside_the_array_raises_the_range_flag() -> None:
    assert check(array(0, [(len(VALS),)])).flags.range
