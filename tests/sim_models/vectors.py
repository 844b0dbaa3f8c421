"""Reading the reference vectors into benches."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fuseflow.samml.tokens import Nested, Token, decode
from sim_models.golden import GoldenResult
from tests.shared_data import vectors
from tests.strategies import zip_leaves

Vector = dict[str, Any]


def vector_params(primitive: str) -> Any:
    """Return a parametrization over the vectors of one primitive; a skip where there are none."""
    found = [vector for vector in vectors("tokens.json") if vector["primitive"] == primitive]
    if not found:
        absent = pytest.mark.skip(reason="vectors/tokens.json is not present")
        return pytest.mark.parametrize("vector", [pytest.param({}, marks=absent)])
    return pytest.mark.parametrize("vector", found, ids=range(len(found)))


def stream(tokens: Sequence[Sequence[Any]], rank: int) -> Nested:
    """Decode a vector's tokens; a null ref becomes None."""
    return decode([Token(None if p == "null" else p, e, c) for p, e, c in tokens], rank)


def bundle(side: Mapping[str, Any], names: Sequence[str], rank: int) -> Nested:
    """Return aligned streams of a vector as one whose leaves are tuples."""
    return zip_leaves(rank, *(stream(side[name], rank) for name in names))


def assert_output(
    golden: GoldenResult, output: str, vector: Vector, names: Sequence[str], rank: int
) -> None:
    """Compare one output of the node under test with a vector."""
    (nested,) = golden.streams["it", output]
    assert nested == bundle(vector["outputs"], names, rank)
