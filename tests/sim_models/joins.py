"""Benches and random inputs of the joiners."""

import random
from collections.abc import Mapping
from typing import Any

from fuseflow.samml.tokens import Nested
from fuseflow.samml.values import INT32, ValueType
from tests.sim_models.harness import Bench, Port, bench
from tests.strategies import random_coordinates, random_nested


def join_bench(
    primitive: str,
    params: Mapping[str, Any],
    rank: int,
    lefts: list[Nested],
    rights: list[Nested],
    kind: str = "ref",
    value: ValueType = INT32,
) -> Bench:
    """Return a joiner whose sides carry a coordinate and one field more."""
    ports = {
        side: Port(("crd/crd", f"{kind}{number}/{kind}"), rank, streams)
        for number, side, streams in ((0, "left", lefts), (1, "right", rights))
    }
    return bench(primitive, params, ports, value=value)


def random_sides(rng: random.Random, rank: int) -> tuple[Nested, Nested]:
    """Return two streams alike but for their innermost fibers."""
    shape = random_nested(rng, rank - 1, lambda rng: rng.choice((0, 1, 2, 4, 7)))
    return _sides(rng, rank - 1, shape)


def _sides(rng: random.Random, rank: int, shape: Nested) -> tuple[Nested, Nested]:
    if rank:
        pairs = [_sides(rng, rank - 1, child) for child in shape]
        return [left for left, _ in pairs], [right for _, right in pairs]
    left = random_coordinates(rng, shape)
    # Often equal, disjoint, or equal in the last coordinate only.
    right = {
        "equal": left,
        "disjoint": [crd for crd in range(shape) if crd not in left],
        "any": random_coordinates(rng, shape),
        "last": left[-1:],
    }[rng.choice(("equal", "disjoint", "any", "any", "last"))]
    return [(crd, rng.randrange(9)) for crd in left], [(crd, rng.randrange(9)) for crd in right]
