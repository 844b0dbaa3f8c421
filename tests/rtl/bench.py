"""Plays cases on the bench of all primitives: model and RTL side by side, under equal gates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseflow.samml.gates import Gates, random_gates
from fuseflow.samml.graph import Graph
from fuseflow.samml.image import TensorImage
from fuseflow.samml.tokens import Nested, decode_all, encode
from fuseflow.samml.units import UnitGraph, flatten
from sim_models.cycle.result import CycleResult
from sim_models.cycle.simulate import simulate
from tests.rtl.cases import Expected, default
from verif.compare import differences, first_difference
from verif.job import Record, Run
from verif.primitives import RANK, SIZE, Case, Setup, sink_name, source_name
from verif.tile import RtlTile


@dataclass(frozen=True)
class Round:
    """The data of one run of the bench: every setup's case, and gates."""

    images: dict[str, TensorImage]
    shapes: dict[str, tuple[int, ...]]
    streams: dict[str, list[Nested]]
    sinks: dict[str, int]
    gates: Gates | None


def make_round(
    graph: Graph, setups: Sequence[Setup], cases: Mapping[str, Case], seed: int | None
) -> Round:
    """Fill in default cases and gates."""
    images: dict[str, TensorImage] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    streams: dict[str, list[Nested]] = {}
    sinks: dict[str, int] = {}
    for setup in setups:
        case = cases.get(setup.name) or default(setup)
        image = case.image or default(setup).image
        if setup.stores:
            shapes[setup.name] = _written_shape(setup, case)
        elif image is not None:
            images[setup.name] = image
        for port, played in case.streams.items():
            name = source_name(setup, port)
            streams[name] = list(played)
        count = len(next(iter(case.streams.values())))
        for port in setup.drains:
            sinks[sink_name(setup, port)] = count
    gates = None if seed is None else random_gates(flatten(graph), seed)
    return Round(images, shapes, streams, sinks, gates)


def _written_shape(setup: Setup, case: Case) -> tuple[int, ...]:
    """Return the shape of a result that holds as many words as a case writes."""
    (played, *_) = case.streams.values()
    tokens = [token for nested in played for token in encode(nested, RANK)]
    if setup.primitive == "write_val":
        return (sum(token.empty == 0 for token in tokens),)
    return (sum(token.close >= 1 and token.empty <= 1 for token in tokens), SIZE)


def model(units: UnitGraph, each: Round, *, trace: bool = False) -> CycleResult:
    """Run a round on the cycle model."""
    return simulate(
        units, each.images, each.shapes, gates=each.gates, streams=each.streams, trace=trace
    )


def play(tile: RtlTile, rounds: Sequence[Round], *, slack: int = 2000) -> list[Record]:
    """Play rounds on the RTL with a traced limit beyond the model's cycles."""
    units = tile.plan.units
    runs = [
        Run(
            images=each.images, shapes=each.shapes, streams=each.streams, sinks=each.sinks,
            gates=each.gates, limit=model(units, each).cycles + slack, trace=True,
        )
        for each in rounds
    ]  # fmt: skip
    return tile.play(runs)


def check(tile: RtlTile, each: Round, record: Record) -> None:
    """Assert that a round went exactly as on the model."""
    units = tile.plan.units
    found = differences(units, model(units, each), record)
    if found:
        first = first_difference(units, model(units, each, trace=True), record.events)
        raise AssertionError(f"{first}; in all: {found}")


def check_expected(tile: RtlTile, setup: Setup, expected: Expected, record: Record) -> None:
    """Assert that the RTL gave what a case expects: tokens at the sinks, and written arrays."""
    numbers = {edge.name: k for k, edge in enumerate(tile.plan.units.edges)}
    for port, nested in expected.outputs.items():
        edge = tile.plan.units.edges[numbers[f"{sink_name(setup, port)}.in"]]
        tokens = [token for _, token in record.events[numbers[edge.name]].pops]
        got = decode_all(tokens, edge.type.rank)
        assert got == [nested], f"{setup.name}.{port}"
    for name, words in expected.arrays.items():
        image = record.outputs[setup.name]
        stored: Any = {"seg": image.segs[1], "crd": image.crds[1]}[name]
        assert np.array_equal(stored, words), f"{setup.name}: {name}"
