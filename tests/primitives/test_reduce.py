import random

from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params
from tests.strategies import random_nested


def reduce(rank: int, streams: list[object], depth: int | None = None) -> Bench:
    return bench("reduce", {}, {"val": Port(("val/val",), rank, streams)}, depth=depth)


@vector_params("reduce_sum")
def test_vector(vector: Vector) -> None:
    rank = vector["rank"]
    it = reduce(rank, [bundle(vector["inputs"], ["val"], rank)])
    assert_output(it.golden(), "out", vector, ["val"], rank - 1)
    check(it)


@random_cases(25)
def test_random(rng: random.Random) -> None:
    rank = rng.randint(1, 4)

    def leaf(rng: random.Random) -> tuple[int]:
        return (rng.choice((rng.randint(-9, 9), 2**31 - 1)),)

    streams = [random_nested(rng, rank, leaf) for _ in range(rng.randint(1, 2))]
    check(reduce(rank, streams, depth=rng.choice((None, 2, 5))))


def test_room_is_needed_only_where_a_fiber_ends() -> None:
    run = check(reduce(1, [[(1,), (2,), (3,)], [(4,), (5,)]]))
    assert run.traces["to_out.in"].issue.tolist() == [3, 5]
    assert run.traces["to_out.in"].nested() == [(6,), (9,)]
    assert run.unit("it").firings == 5
