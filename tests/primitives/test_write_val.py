import random

from tests.sim_models.harness import check, random_cases
from tests.sim_models.writers import writer_bench
from tests.strategies import random_nested


def test_a_scalar_is_one_word() -> None:
    run = check(writer_bench(0, [], [(-7,)]))
    assert run.outputs["X"].vals == [-7]
    assert run.outputs["X"].shape == ()


@random_cases(10)
def test_random(rng: random.Random) -> None:
    rank = rng.randint(1, 3)
    pairs = random_nested(rng, rank, lambda rng: (rng.randint(-(2**31), 2**31 - 1),))
    run = check(writer_bench(rank, [pairs], [pairs]))
    assert run.unit("wv").firings == run.unit("wc").firings
