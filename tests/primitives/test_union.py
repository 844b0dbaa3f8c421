import random

import pytest

from fuseflow.samml.values import ValueType
from tests.primitives.test_intersect import steps
from tests.sim_models.harness import check, random_cases
from tests.sim_models.joins import join_bench, random_sides
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params
from tests.sim_models.words import TYPES


@vector_params("union")
def test_vector(vector: Vector) -> None:
    rank, inputs = vector["rank"], vector["inputs"]
    left, right = (bundle(inputs, [f"crd{k}", f"ref{k}"], rank) for k in (0, 1))
    it = join_bench("union", {}, rank, [left], [right])
    assert_output(it.golden(), "out", vector, ["crd", "ref0", "ref1"], rank)
    check(it)


@vector_params("union_val")
def test_vector_of_values(vector: Vector) -> None:
    rank, inputs = vector["rank"], vector["inputs"]
    left, right = (bundle(inputs, [f"crd{k}", f"val{k}"], rank) for k in (0, 1))
    fills = dict.fromkeys(("left", "right"), vector["params"]["fill"])
    it = join_bench("union", fills, rank, [left], [right], kind="val")
    assert_output(it.golden(), "out", vector, ["crd", "val0", "val1"], rank)
    check(it)


@random_cases(40)
def test_random(rng: random.Random) -> None:
    rank, kind, value = rng.randint(1, 4), rng.choice(("ref", "val", "sum")), rng.choice(TYPES)
    pairs = [random_sides(rng, rank) for _ in range(rng.randint(1, 2))]
    params = {side: rng.choice((0, -5, value.low)) for side in ("left", "right")}
    lefts, rights = [a for a, _ in pairs], [b for _, b in pairs]
    it = join_bench("union", params, rank, lefts, rights, kind, value)
    run = check(it, seeds=range(4))
    assert run.unit("it").firings == sum(steps(rank, a, b) for a, b in pairs)
    assert run.unit("it").firings == run.edge("to_out.in").tokens


@pytest.mark.parametrize("kind", ["val", "sum"])
@pytest.mark.parametrize("value", TYPES, ids=lambda value: value.name)
def test_each_side_has_its_own_fill(value: ValueType, kind: str) -> None:
    # Words pass as they are: a subnormal is no arithmetic result.
    left, right = [(0, 1), (2, 3)], [(1, 5), (2, 7)]
    params = {"left": 1, "right": value.low}
    run = check(join_bench("union", params, 1, [left], [right], kind, value))
    of = value.wide if kind == "sum" else value
    one, low = of.encode(1), of.encode(value.low)
    assert run.traces["to_out.in"].nested() == [[(0, 1, low), (1, one, 5), (2, 3, 7)]]


def test_timing_of_every_step() -> None:
    left, right = [(1, 0)], [(0, 0), (1, 1), (3, 2)]
    run = check(join_bench("union", {}, 1, [left], [right]))
    assert run.traces["to_out.in"].issue.tolist() == [1, 2, 3]
    assert run.traces["it.left"].pop.tolist() == [2]
    assert run.traces["to_out.in"].nested() == [[(0, None, 0), (1, 0, 1), (3, None, 2)]]


def test_an_empty_side_is_popped_by_the_first_step() -> None:
    run = check(join_bench("union", {}, 1, [[]], [[(0, 0), (1, 1)]]))
    assert run.traces["it.left"].pop.tolist() == [1]
    assert run.traces["it.right"].pop.tolist() == [1, 2]
