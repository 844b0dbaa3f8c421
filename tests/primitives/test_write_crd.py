import random

from tests.sim_models.harness import check, random_cases
from tests.sim_models.vectors import Vector, bundle, vector_params
from tests.sim_models.writers import writer_bench
from tests.strategies import map_leaves, random_nested


@vector_params("write_crd")
def test_vector(vector: Vector) -> None:
    rank = vector["rank"]
    crds = bundle(vector["inputs"], ["crd"], rank)
    it = writer_bench(rank, [crds], [map_leaves(crds, rank, lambda _: (1,))])
    run = check(it)
    assert run.outputs["X"].segs[-1] == vector["outputs"]["seg"]
    assert run.outputs["X"].crds[-1] == vector["outputs"]["crd"]


@random_cases(20)
def test_random(rng: random.Random) -> None:
    rank = rng.randint(1, 3)
    crds = [random_nested(rng, rank, lambda rng: (rng.randrange(9),)) for _ in range(2)]
    vals = [map_leaves(crd, rank, lambda _: (rng.randint(-9, 9),)) for crd in crds]
    check(writer_bench(rank, crds, vals))


def test_an_overrun_raises_the_capacity_flag_and_still_ends() -> None:
    crds, vals = [(0,), (1,), (2,)], [(5,), (6,), (7,)]
    run = check(writer_bench(1, [crds], [vals], positions=2))
    assert run.flags.capacity
    assert run.outputs["X"].crds == ([0, 1],)
    assert run.cycles == 4
