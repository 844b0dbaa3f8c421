"""Vectors of an independent simulator on the RTL: all that fit the bench of all primitives.

The conversion from SAM's notation is that of `tests.sim_models.test_sam_vectors`, which also
compares golden meaning and cycle model with SAM's outputs; here the benches that it makes are
played on the RTL, whose tokens must be those of the golden meaning.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from fuseflow.samml.graph import Graph
from fuseflow.samml.image import TensorImage
from fuseflow.samml.tokens import Nested, encode
from fuseflow.samml.values import FP32
from gen.tile import Tile
from tests.rtl.bench import check, check_expected, make_round, play
from tests.rtl.cases import PLACES, Expected, lift
from tests.sim_models import test_sam_vectors as sam
from tests.sim_models.harness import Bench
from verif.primitives import SETUPS, SIZE, VALUE_SETUPS, WORDS, Case, Setup, bench_graph
from verif.tile import build_tile

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("primitives")]

SAMPLED = {
    "scan_dense", "scan_compressed", "intersect", "union", "array", "add", "sub", "mul", "reduce",
    "repeat", "drop_empty", "accumulate", "accumulate2",
}  # fmt: skip
"""Setups that must get at least one of SAM's vectors; SAM's writers are compared as arrays."""

WITHOUT_COUNTERPART = 16
"""Vectors of what we do not have: skip streams, written arrays, negated sums."""

FRACTIONS = {"add"}
"""Setups that must get at least one vector with fractions, which are played in fp32."""


def place_of(it: Bench) -> Setup:
    """Return the setup on which a bench of one primitive can be played."""
    node = it.graph.node("it")
    if node.primitive == "alu":
        return PLACES[str(node.params["op"])]
    return PLACES["accumulate2" if node.params.get("kept") == 2 else node.primitive]


def expected_of(it: Bench) -> tuple[Setup, Expected] | None:
    """Translate a bench to a case of its setup; None where it exceeds the setup's capacity."""
    setup = place_of(it)
    ranks = {port: len(it.graph.node(f"from_{port}").params["levels"]) for port in setup.feeds}  # type: ignore[arg-type]
    by = {port: feed.rank - ranks[port] for port, feed in setup.feeds.items()}
    lifted = set(by.values())
    if setup.primitive == "accumulate":
        kept = len(setup.format)
        image = TensorImage((SIZE,) * kept, (None,) * kept, (None,) * kept, [])
    else:
        image = next(iter(it.images.values()), None)
        if setup.primitive == "scan_compressed":
            assert image is not None
            if max(image.crds[1] or [0]) >= SIZE:
                return None
            image = replace(image, shape=(image.shape[0], SIZE))
    if len(lifted) != 1 or min(lifted) < 0 or (image is not None and image.shape[0] > SIZE):
        return None
    (up,) = lifted
    streams = {
        port: [lift(nested, up) for nested in it.streams[f"from_{port}"]] for port in setup.feeds
    }
    for port, played in streams.items():
        if len(played) != 1 or len(encode(played[0], setup.feeds[port].rank)) > WORDS:
            return None
        addresses = setup.feeds[port].fields[:1] != (f"{port}/val",)
        if addresses and not _in_range(played[0], nulls=setup.primitive != "array"):
            return None
    golden = it.golden()
    outputs = {
        port: lift(golden.streams["it", port][0], up)
        for port in setup.drains
        if ("it", port) in golden.streams
    }
    return setup, Expected(Case(streams, image), outputs)


def _in_range(nested: Nested, *, nulls: bool) -> bool:
    """Tell whether coordinates and refs fit the bench, whose array has a fill of its own."""
    if isinstance(nested, list):
        return all(_in_range(child, nulls=nulls) for child in nested)
    return not nested or (nulls if nested[0] is None else nested[0] < WORDS)


def benches(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Yield the bench of every vector that has a counterpart."""
    made: list[Bench] = []
    build = sam.bench
    monkeypatch.setattr(sam, "bench", lambda *a, **k: made.append(build(*a, **k)) or made[-1])
    monkeypatch.setattr(sam, "assert_same", lambda *_a, **_k: None)
    absent = 0
    for vector in sam.VECTORS:
        try:
            sam.RUNNERS[vector["primitive"]](vector)
        except pytest.skip.Exception:
            absent += 1
    assert absent == WITHOUT_COUNTERPART
    yield from made


@pytest.mark.skipif(not sam.VECTORS, reason="vectors/sam_primitives.json is not present")
@pytest.mark.parametrize(
    ("graph", "setups", "sampled"),
    [
        (bench_graph(), SETUPS, SAMPLED),
        (bench_graph(VALUE_SETUPS, "values_fp32", FP32), VALUE_SETUPS, FRACTIONS),
    ],
    ids=["int32", "fp32"],
)
def test_vectors_on_the_rtl(
    monkeypatch: pytest.MonkeyPatch, graph: Graph, setups: Sequence[Setup], sampled: set[str]
) -> None:
    found: dict[str, list[Expected]] = defaultdict(list)
    for it in benches(monkeypatch):
        translated = expected_of(it) if it.graph.value == graph.value else None
        if translated is not None:
            found[translated[0].name].append(translated[1])
    assert set(found) >= sampled
    tile = build_tile(lambda: Tile(graph, gated=True), optimize=False)
    turns = [
        {name: cases[turn] for name, cases in found.items() if turn < len(cases)}
        for turn in range(max(map(len, found.values())))
    ]
    rounds = [
        make_round(graph, setups, {name: e.case for name, e in turn.items()}, seed)
        for seed, turn in enumerate(turns)
    ]
    for each, turn, record in zip(rounds, turns, play(tile, rounds), strict=True):
        check(tile, each, record)
        for name, expected in turn.items():
            check_expected(tile, PLACES[name], expected, record)
