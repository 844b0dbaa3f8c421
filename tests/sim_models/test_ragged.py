"""Nested lists as flat arrays."""

import random

import numpy as np
import pytest

from fuseflow.samml.errors import TokenError
from sim_models.ragged import Ragged, check_aligned, distinct, find
from tests.sim_models.harness import random_cases
from tests.strategies import random_nested


@random_cases(50)
def test_nested_lists_return(rng: random.Random) -> None:
    rank, width = rng.randrange(4), rng.randrange(3)

    def leaf(rng: random.Random) -> tuple[int | None, ...]:
        return tuple(rng.choice((None, 0, -(2**31), 2**32 - 1)) for _ in range(width))

    streams = [random_nested(rng, rank, leaf) for _ in range(rng.randrange(4))]
    flat = Ragged.of_nested(streams, rank, width)
    assert flat.nested() == streams
    assert (flat.rank, flat.streams) == (rank, len(streams))


@random_cases(50)
def test_keys_are_found_where_they_were_last(rng: random.Random) -> None:
    keys, among = ([rng.randrange(6) for _ in range(rng.randrange(6))] for _ in range(2))
    places = {key: place for place, key in enumerate(among)}
    found = find(np.array(keys, np.int64), np.array(among, np.int64))
    assert found.tolist() == [places.get(key, len(among)) for key in keys]
    assert distinct(np.array(among, np.int64)).tolist() == sorted(places)


def test_streams_must_be_alike_only_in_the_levels_that_are_asked_for() -> None:
    one, other = (Ragged.of_nested([[[(1,)], fiber]], 2, 1) for fiber in ([], [(2,), (3,)]))
    check_aligned(1, one, other)
    with pytest.raises(TokenError, match="a fiber of 0 elements meets one of 2"):
        check_aligned(2, one, other)
