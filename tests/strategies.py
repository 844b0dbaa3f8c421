"""Hypothesis strategies and seeded generators of nested streams."""

import random
from collections.abc import Callable
from typing import Any

from fuseflow.samml.tokens import Nested

Leaf = Callable[[random.Random], Any]


def random_nested(
    rng: random.Random, rank: int, leaf: Leaf, *, widest: int = 4, empty: float = 0.25
) -> Nested:
    """Return a random nested list whose fibers are often empty."""
    if rank == 0:
        return leaf(rng)
    count = 0 if rng.random() < empty else rng.randint(1, widest)
    return [random_nested(rng, rank - 1, leaf, widest=widest, empty=empty) for _ in range(count)]


def random_fibers(rng: random.Random, rank: int, fiber: Leaf, *, widest: int = 4) -> Nested:
    """Return a random nested list of rank `rank` whose innermost fibers `fiber` makes."""
    if rank == 1:
        return fiber(rng)
    count = 0 if rng.random() < 0.2 else rng.randint(1, widest)
    return [random_fibers(rng, rank - 1, fiber, widest=widest) for _ in range(count)]


def random_coordinates(rng: random.Random, size: int, *, share: float | None = None) -> list[int]:
    """Return ascending coordinates below `size`; often none, few, or all."""
    share = rng.choice((0.0, 0.2, 0.5, 1.0)) if share is None else share
    return [crd for crd in range(size) if rng.random() < share]


def map_leaves(nested: Nested, rank: int, function: Callable[[Any], Any]) -> Nested:
    """Apply a function to every leaf."""
    if rank == 0:
        return function(nested)
    return [map_leaves(child, rank - 1, function) for child in nested]


def truncate(nested: Nested, rank: int, depth: int, leaf: Callable[[], Any]) -> Nested:
    """Cut a stream off below its outermost `depth` levels, with fresh leaves there."""
    if depth == 0:
        return leaf()
    return [truncate(child, rank - 1, depth - 1, leaf) for child in nested]


def zip_leaves(rank: int, *streams: Nested) -> Nested:
    """Return aligned streams as one whose leaves are tuples."""
    if rank == 0:
        return tuple(streams)
    return [zip_leaves(rank - 1, *children) for children in zip(*streams, strict=True)]
