import random

from fuseflow.samml.formats import Format
from fuseflow.samml.graph import TensorDecl
from fuseflow.samml.image import TensorImage
from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.strategies import random_nested

VALS = [5, -7, 2**31 - 1, -(2**31), 0]


def array(rank: int, streams: list[object]) -> Bench:
    declared = TensorDecl("T", "input", Format.parse("dense"), (8,), (8,), fill=-3)
    image = TensorImage((len(VALS),), (None,), (None,), VALS)
    return bench(
        "array", {"tensor": "T"}, {"ref": Port(("ref/ref",), rank, streams)}, [(declared, image)]
    )


@random_cases(20)
def test_random(rng: random.Random) -> None:
    rank = rng.randrange(4)
    refs = (None, *range(len(VALS)))
    check(array(rank, [random_nested(rng, rank, lambda rng: (rng.choice(refs),))]))


def test_null_gives_the_fill_after_two_cycles() -> None:
    run = check(array(1, [[(1,), (None,), (3,)]]))
    assert run.traces["to_out.in"].nested() == [[(-7,), (-3,), (-(2**31),)]]
    assert run.traces["to_out.in"].issue.tolist() == [1, 2, 3]
    assert run.traces["to_out.in"].pop.tolist() == [3, 4, 5]


def test_a_ref_outside_the_array_raises_the_range_flag() -> None:
    assert check(array(0, [(len(VALS),)])).flags.range
