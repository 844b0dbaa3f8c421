"""Seeded random cases for the bench of all primitives.

Coordinates come from a small range, so that rows meet the accumulate hazard, fibers are often
empty or wholly dropped, and values use the whole word, so that sums wrap and cancel.
"""

import random
from collections.abc import Callable
from typing import Any

from fuseflow.samml.image import TensorImage
from fuseflow.samml.tokens import Nested
from verif.primitives import RANK, Case, Setup

Leaf = Callable[[], Any]


def random_case(setup: Setup, rng: random.Random) -> Case:
    """Return up to three consecutive streams for every port of a setup."""
    # A run writes a result once.
    count = 1 if setup.stores else rng.randint(1, 3)
    image = _image(setup, rng)
    played = [_one(setup, rng, image) for _ in range(count)]
    return Case({port: [streams[port] for streams in played] for port in played[0]}, image)


def tree(rng: random.Random, rank: int, leaf: Leaf) -> Nested:
    """Return a random nested list; fibers are short and often empty."""
    if rank == 0:
        return leaf()
    length = rng.choice((0, 1, 1, 2, 3, 5) if rank > 1 else (0, 0, 1, 2, 3, 6))
    return [tree(rng, rank - 1, leaf) for _ in range(length)]


def relabel(nested: Nested, rank: int, leaf: Leaf) -> Nested:
    """Return a nested list of the same shape, cut off at a rank, with new leaves."""
    return leaf() if rank == 0 else [relabel(child, rank - 1, leaf) for child in nested]


def _one(setup: Setup, rng: random.Random, image: TensorImage | None) -> dict[str, Nested]:
    word = lambda: (_word(rng),)  # noqa: E731
    crd = lambda: (rng.randrange(6),)  # noqa: E731
    match setup.primitive:
        case "scan_dense" | "scan_compressed" | "array":
            assert image is not None
            parents = len(image.vals) if setup.primitive == "array" else image.shape[0]
            blank = not setup.feeds["ref"].fields
            return {"ref": tree(rng, RANK, lambda: () if blank else (_ref(rng, parents),))}
        case "locate":
            assert image is not None
            size = image.shape[0]
            base = tree(rng, RANK, lambda: (rng.randrange(size),))
            return _aligned(setup, base, {"parent": lambda: (_ref(rng, 16),)}, first="crd")
        case "repeat":
            signal = tree(rng, RANK, tuple)
            field = setup.feeds["x"].fields[0]
            leaf = word if field.endswith("val") else (lambda: (_ref(rng, 64),))
            return {"x": relabel(signal, RANK - 1, leaf), "signal": signal}
        case "intersect" | "union":
            outer = tree(rng, RANK - 1, tuple)
            passenger = setup.feeds["left"].fields[1]
            extra = (lambda: _word(rng)) if passenger.endswith("val") else (lambda: _ref(rng, 64))
            return {
                side: relabel(outer, RANK - 1, lambda: _sorted_fiber(rng, extra))
                for side in setup.feeds
            }
        case "alu":
            base = tree(rng, RANK, word)
            return {"a": base, "b": relabel(base, RANK, word)}
        case "reduce" | "write_val":
            return {"val": tree(rng, RANK, word)}
        case "accumulate":
            base = tree(rng, setup.feeds["crd"].rank, crd)
            streams = _aligned(setup, base, {"val": word}, first="crd")
            if "outer" in setup.feeds:
                streams["outer"] = relabel(base, setup.feeds["outer"].rank, crd)
            return streams
        case "drop_value":
            base = tree(rng, RANK, crd)
            value = lambda: (rng.choice((0, 0, 7, 7, 1, -2)),)  # noqa: E731
            return _aligned(setup, base, {"val": value}, first="crd")
        case "drop_empty":
            deepest = max(feed.rank for feed in setup.feeds.values())
            base = tree(rng, deepest, lambda: (rng.randrange(6), _word(rng)))
            return {
                port: base
                if feed.rank == deepest and len(feed.fields) == 2
                else relabel(base, feed.rank, crd)
                for port, feed in setup.feeds.items()
            }
        case "write_crd":
            base = tree(rng, RANK, crd)
            return {"crd": base, "val": relabel(base, RANK, word)}
        case other:
            raise AssertionError(f"no random case for {other}")


def _aligned(
    setup: Setup, base: Nested, others: dict[str, Leaf], *, first: str
) -> dict[str, Nested]:
    """Return the base under its port, and streams of its shape under the others that exist."""
    rank = setup.feeds[first].rank
    made = {port: relabel(base, rank, leaf) for port, leaf in others.items() if port in setup.feeds}
    return {first: base, **made}


def _sorted_fiber(rng: random.Random, extra: Leaf) -> list[tuple[int, Any]]:
    crds = sorted(rng.sample(range(8), rng.choice((0, 0, 1, 2, 3, 5, 8))))
    return [(crd, extra()) for crd in crds]


def _word(rng: random.Random) -> int:
    """Return an int32 of random magnitude and sign; small ones cancel, large ones wrap."""
    return rng.choice((-1, 1)) * rng.getrandbits(rng.choice((1, 4, 16, 31)))


def _ref(rng: random.Random, count: int) -> int | None:
    return None if count == 0 or rng.random() < 0.2 else rng.randrange(count)


def _image(setup: Setup, rng: random.Random) -> TensorImage | None:
    match setup.format:
        case "":
            return None
        case "ds":
            lengths = [rng.choice((0, 0, 1, 2, 5)) for _ in range(rng.randint(1, 8))]
            seg = [sum(lengths[:k]) for k in range(len(lengths) + 1)]
            crd = [c for n in lengths for c in sorted(rng.sample(range(16), n))]
            return TensorImage((len(lengths), 16), (None, seg), (None, crd), [0] * len(crd))
        case form:
            # Some coordinates lie outside an accumulator: they raise a flag and are not added.
            least = 4 if setup.primitive in ("accumulate", "locate") else 0
            shape = tuple(rng.randint(least, 8) for _ in form)
            vals = [_word(rng) for _ in range(shape[0])] if setup.primitive == "array" else []
            return TensorImage(shape, (None,) * len(form), (None,) * len(form), vals)
