"""Every primitive under Verilator: reference vectors and random streams, under gates.

All primitives stand in one tile, so the whole file costs one build.  Every run compares issue
and pop of every token on every edge with the cycle model.
"""

import random
from collections import defaultdict

import pytest

from fuseflow.samml.values import BF16, FP16, FP32, INT8, INT16, ValueType
from gen.tile import Tile
from tests.rtl.bench import check, check_expected, make_round, play
from tests.rtl.cases import PLACES, Expected, from_vector
from tests.rtl.random_cases import random_case
from tests.shared_data import vectors
from verif.primitives import FUNCTIONS, SETUPS, VALUE_SETUPS, bench_graph
from verif.tile import RtlTile, build_tile

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("primitives")]


@pytest.fixture(scope="module")
def tile() -> RtlTile:
    graph = bench_graph()
    return build_tile(lambda: Tile(graph, gated=True), optimize=False)


def test_reference_vectors(tile: RtlTile) -> None:
    found: dict[str, list[Expected]] = defaultdict(list)
    for vector in vectors("tokens.json"):
        for name, expected in from_vector(vector):
            found[name].append(expected)
    if not found:
        pytest.skip("the reference vectors are not beside the repository")
    turns = [
        {name: expected[turn % len(expected)] for name, expected in found.items()}
        for turn in range(max(map(len, found.values())))
    ]
    rounds = [
        make_round(
            tile.plan.graph,
            SETUPS,
            {name: expected.case for name, expected in turn.items()},
            seed if seed else None,
        )
        for seed, turn in enumerate(turns)
    ]
    for each, turn, record in zip(rounds, turns, play(tile, rounds), strict=True):
        check(tile, each, record)
        for name, expected in turn.items():
            check_expected(tile, PLACES[name], expected, record)


@pytest.mark.parametrize("first", [0, 1000])
def test_random_streams(tile: RtlTile, first: int) -> None:
    """Half of the runs without gates: full rate has hazards of its own."""
    rounds = []
    for seed in range(first, first + 40):
        rng = random.Random(seed)
        cases = {setup.name: random_case(setup, rng) for setup in SETUPS}
        rounds.append(make_round(tile.plan.graph, SETUPS, cases, seed if seed % 2 else None))
    for each, record in zip(rounds, play(tile, rounds), strict=True):
        check(tile, each, record)


SOME = ("add", "mul", "wide", "mul_relu", "scale_by", "max_by", "affine", "reduce", "reduce_wide",
        "reduce_products", "accumulate", "accumulate_dense", "drop_value7", "union_fills",
        "write_val")  # fmt: skip
"""Setups of the types that differ from others in their widths alone."""


@pytest.mark.parametrize("value", [FP32, BF16, INT8, FP16, INT16], ids=lambda value: value.name)
def test_value_types(value: ValueType) -> None:
    """Every operation of a type, in streams that also stall."""
    part = value in (FP16, INT16)
    setups = [setup for setup in VALUE_SETUPS if not part or setup.name in SOME]
    if value.is_float:
        setups += FUNCTIONS
    graph = bench_graph(setups, f"values_{value.name}", value)
    tile = build_tile(lambda: Tile(graph, gated=True), optimize=False)
    rounds = []
    for seed in range(40):
        rng = random.Random(f"{value.name} {seed}")
        cases = {setup.name: random_case(setup, rng, value) for setup in setups}
        rounds.append(make_round(graph, setups, cases, seed if seed % 2 else None))
    for each, record in zip(rounds, play(tile, rounds), strict=True):
        check(tile, each, record)


@pytest.mark.regress
@pytest.mark.parametrize("first", range(10_000, 20_000, 500))
def test_many_random_streams(tile: RtlTile, first: int) -> None:
    test_random_streams(tile, first)
