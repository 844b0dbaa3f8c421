import random

from fuseflow.samml.graph import Extent
from tests.sim_models.harness import Bench, Port, bench, check, random_cases, size_tensor
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params
from tests.strategies import random_nested


def scan(rank: int, size: int, streams: list[object], *, bound: bool = True) -> Bench:
    params = {"index": "n", "size": Extent("T", 0), "bound": bound}
    port = Port(("ref/ref",) if bound else (), rank, streams)
    return bench("scan_dense", params, {"ref": port}, [size_tensor("T", size)])


@vector_params("scan_dense")
def test_vector(vector: Vector) -> None:
    rank = vector["rank"]
    it = scan(rank, vector["params"]["size"], [bundle(vector["inputs"], ["ref"], rank)])
    assert_output(it.golden(), "out", vector, ["crd", "ref"], rank + 1)
    check(it)


@random_cases(25)
def test_random(rng: random.Random) -> None:
    rank, bound = rng.randrange(3), rng.random() < 0.7

    def leaf(rng: random.Random) -> tuple[int | None, ...]:
        return (rng.choice((None, 0, 3, 7)),) if bound else ()

    streams = [random_nested(rng, rank, leaf) for _ in range(rng.randint(1, 2))]
    check(scan(rank, rng.choice((0, 1, 2, 5)), streams, bound=bound))


def test_timing_of_three_children() -> None:
    run = check(scan(1, 3, [[(0,), (2,)]]))
    # The source issues in 0 and 1; refs are readable one cycle later; a ref is popped by its
    # last child and the next ref's first child follows at once.
    assert run.traces["it.ref"].issue.tolist() == [0, 1]
    assert run.traces["it.ref"].pop.tolist() == [3, 6]
    assert run.traces["to_out.in"].issue.tolist() == [1, 2, 3, 4, 5, 6]
    assert run.traces["to_out.in"].close.tolist() == [0, 0, 1, 0, 0, 2]
    assert run.cycles == 8
