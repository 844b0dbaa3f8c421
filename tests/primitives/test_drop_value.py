import random

from fuseflow.samml.tokens import Nested
from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params
from tests.strategies import map_leaves, random_nested


def drop_value(rank: int, crds: list[Nested], vals: list[Nested], fill: int = 0) -> Bench:
    ports = {"crd": Port(("crd/crd",), rank, crds), "val": Port(("val/val",), rank, vals)}
    return bench("drop_value", {"fill": fill}, ports)


@vector_params("drop_value")
def test_vector(vector: Vector) -> None:
    rank, inputs = vector["rank"], vector["inputs"]
    crds, vals = ([bundle(inputs, [name], rank)] for name in ("crd", "val"))
    it = drop_value(rank, crds, vals, vector["params"]["fill"])
    assert_output(it.golden(), "out", vector, ["crd", "val"], rank)
    check(it)


@random_cases(50)
def test_random(rng: random.Random) -> None:
    rank, fill = rng.randint(1, 3), rng.choice((0, -4))
    share = rng.choice((0.1, 0.5, 0.9, 1.0))
    crds = [random_nested(rng, rank, lambda rng: (rng.randrange(9),)) for _ in range(2)]
    vals = [
        map_leaves(crd, rank, lambda _: (fill if rng.random() < share else rng.randint(1, 9),))
        for crd in crds
    ]
    check(drop_value(rank, crds, vals, fill), seeds=range(4))


def test_the_last_survivor_takes_the_close() -> None:
    crds, vals = [(0,), (1,), (2,)], [(5,), (0,), (0,)]
    run = check(drop_value(1, [crds], [vals]))
    # Held from 1; the dropped last token in 3 completes it; out in 4.
    assert run.traces["to_out.in"].tokens() == [((0, 5), 0, 1)]
    assert run.traces["to_out.in"].issue.tolist() == [4]
