import random

from fuseflow.samml.graph import Extent
from tests.sim_models.harness import Bench, Port, bench, check, random_cases, size_tensor
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params
from tests.strategies import map_leaves, random_nested


def locate(rank: int, size: int, crds: list[object], parents: list[object] | None) -> Bench:
    ports = {"crd": Port(("crd/crd",), rank, crds)}
    if parents is not None:
        ports["parent"] = Port(("parent/ref",), rank, parents)
    params = {"size": Extent("T", 0), "parent": parents is not None}
    return bench("locate", params, ports, [size_tensor("T", size)])


@vector_params("locate")
def test_vector(vector: Vector) -> None:
    rank, inputs = vector["rank"], vector["inputs"]
    crds, parents = (bundle(inputs, [name], rank) for name in ("crd", "parent"))
    it = locate(rank, vector["params"]["size"], [crds], [parents])
    assert_output(it.golden(), "out", vector, ["ref"], rank)
    check(it)


@random_cases(20)
def test_random(rng: random.Random) -> None:
    rank = rng.randrange(4)
    crds = random_nested(rng, rank, lambda rng: (rng.randrange(8),))
    parents = map_leaves(crds, rank, lambda _: (rng.choice((None, 0, 5)),))
    run = check(locate(rank, 8, [crds], [parents] if rng.random() < 0.7 else None))
    assert not run.flags.range


def test_a_coordinate_out_of_range_raises_the_flag() -> None:
    assert check(locate(1, 3, [[(1,), (3,)]], None)).flags.range
