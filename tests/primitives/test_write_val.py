import random

import pytest

from fuseflow.samml.values import ValueType
from tests.sim_models.harness import check, random_cases
from tests.sim_models.words import TYPES, edge_words, random_word
from tests.sim_models.writers import writer_bench
from tests.strategies import map_leaves, random_nested


def test_a_scalar_is_one_word() -> None:
    run = check(writer_bench(0, [], [(-7,)]))
    assert run.outputs["X"].vals == [-7]
    assert run.outputs["X"].shape == ()


@random_cases(20)
def test_random(rng: random.Random) -> None:
    rank, value = rng.randint(1, 3), rng.choice(TYPES)
    vals = random_nested(rng, rank, lambda rng: (random_word(rng, value),))
    crds = map_leaves(vals, rank, lambda _: (rng.randrange(99),))
    run = check(writer_bench(rank, [crds], [vals], value=value))
    assert run.unit("wv").firings == run.unit("wc").firings


@pytest.mark.parametrize("value", TYPES, ids=lambda value: value.name)
def test_words_are_stored_as_they_are(value: ValueType) -> None:
    words = edge_words(value)
    pairs = [(word,) for word in words]
    run = check(writer_bench(1, [[(k,) for k in range(len(words))]], [pairs], value=value))
    assert run.outputs["X"].vals == words
