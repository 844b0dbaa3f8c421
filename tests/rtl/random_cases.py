"""Seeded random cases for the bench of all primitives.

Coordinates come from a small range, so that rows meet the accumulate hazard, fibers are often
empty or wholly dropped, some are longer than a sum has lanes, and values use the whole word, so
that sums wrap, overflow and cancel.
"""

import random
from collections.abc import Callable
from typing import Any

from fuseflow.samml.image import TensorImage
from fuseflow.samml.tokens import Nested
from fuseflow.samml.values import INT32, ValueType
from verif.primitives import RANK, Case, Setup

Leaf = Callable[[], Any]


def random_case(setup: Setup, rng: random.Random, value: ValueType = INT32) -> Case:
    """Return up to three consecutive streams for every port of a setup."""
    # A run writes a result once.
    count = 1 if setup.stores else rng.randint(1, 3)
    image = _image(setup, rng, value)
    played = [_one(setup, rng, image, value) for _ in range(count)]
    return Case({port: [streams[port] for streams in played] for port in played[0]}, image)


def tree(rng: random.Random, rank: int, leaf: Leaf) -> Nested:
    """Return a random nested list; fibers are short and often empty."""
    if rank == 0:
        return leaf()
    length = rng.choice((0, 1, 1, 2, 3, 5) if rank > 1 else (0, 0, 1, 2, 3, 6, 9, 19))
    return [tree(rng, rank - 1, leaf) for _ in range(length)]


def relabel(nested: Nested, rank: int, leaf: Leaf) -> Nested:
    """Return a nested list of the same shape, cut off at a rank, with new leaves."""
    return leaf() if rank == 0 else [relabel(child, rank - 1, leaf) for child in nested]


def _one(
    setup: Setup, rng: random.Random, image: TensorImage | None, value: ValueType
) -> dict[str, Nested]:
    word = lambda: (_word(rng, value),)  # noqa: E731
    addend = lambda: (_word(rng, value.wide if _wide(setup) else value),)  # noqa: E731
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
            extra = {
                "val": lambda: _word(rng, value),
                "sum": lambda: _word(rng, value.wide),
                "ref": lambda: _ref(rng, 64),
            }[passenger.partition("/")[2]]
            return {
                side: relabel(outer, RANK - 1, lambda: _sorted_fiber(rng, extra))
                for side in setup.feeds
            }
        case "alu" | "reduce" if "b" in setup.feeds:
            base = tree(rng, RANK, word)
            return {"a": base, "b": relabel(base, RANK, word)}
        case "unary":
            return {"a": tree(rng, RANK, word)}
        case "reduce" | "write_val":
            return {"val": tree(rng, RANK, addend)}
        case "accumulate":
            base = tree(rng, setup.feeds["crd"].rank, crd)
            streams = _aligned(setup, base, {"val": addend}, first="crd")
            if "outer" in setup.feeds:
                streams["outer"] = relabel(base, setup.feeds["outer"].rank, crd)
            return streams
        case "drop_value":
            base = tree(rng, RANK, crd)
            words = [value.encode(number) for number in (0, 0, 7, 7, 1, -2)]
            words += [1, 3]  # subnormals
            if value.is_float:
                words += [value.encode(-0.0), value.nan]
            few = lambda: (rng.choice(words),)  # noqa: E731
            return _aligned(setup, base, {"val": few}, first="crd")
        case "drop_empty":
            deepest = max(feed.rank for feed in setup.feeds.values())
            base = tree(rng, deepest, lambda: (rng.randrange(6), *word()))
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


def _wide(setup: Setup) -> bool:
    """Whether the values of a setup are products on their way into a sum."""
    return "val" in setup.feeds and setup.feeds["val"].fields[-1].endswith("/sum")


def _word(rng: random.Random, value: ValueType) -> int:
    """Return a word; small numbers cancel, large ones overflow, and few are special."""
    if not value.is_float:
        return rng.choice((-1, 1)) * rng.getrandbits(rng.choice((1, 4, value.bits - 1)))
    if rng.random() < 0.03:
        return rng.choice((value.nan + 1, value.encode(value.high), value.encode(value.low), 3,
                           rng.getrandbits(value.bits)))  # fmt: skip
    if rng.random() < 0.4:
        return value.encode(rng.randint(-3, 3))
    limit = value.bias // 2 if rng.random() < 0.9 else value.bias
    return value.encode(rng.uniform(-1, 1) * 2.0 ** rng.randint(-min(limit, 30), limit))


def _ref(rng: random.Random, count: int) -> int | None:
    return None if count == 0 or rng.random() < 0.2 else rng.randrange(count)


def _image(setup: Setup, rng: random.Random, value: ValueType) -> TensorImage | None:
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
            stored = range(shape[0]) if setup.primitive == "array" else ()
            vals = [_word(rng, value) for _ in stored]
            return TensorImage(shape, (None,) * len(form), (None,) * len(form), vals)
