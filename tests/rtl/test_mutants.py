"""The bench catches every fault of the list, and nothing where there is none."""

import random
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from fuseflow.samml.image import TensorImage
from fuseflow.samml.units import flatten
from fuseflow.samml.values import FP32, INT32, ValueType
from sim_models.cycle.result import CycleResult
from tests.rtl.bench import Round, make_round, model
from tests.rtl.mutants import FLOAT_MUTANTS, MUTANTS, Copy, Mutant, MutantTile, applied, copies
from verif.compare import image_differences
from verif.job import Record, Run
from verif.primitives import Case, Setup
from verif.tile import build_tile

SEEDS = (None, *range(1, 13))
"""One round with open gates, and some with gates that follow from a seed."""

STREAMS = 3
"""Streams that each input plays in one round."""

HANG = 300
"""Cycles beyond the model's after which a run has failed."""


def nest(rng: random.Random, rank: int, leaf: Callable[[], Any], more: tuple[int, ...] = ()) -> Any:
    """A random nested list; fibers are often empty or of one element, innermost ones longer."""
    if rank == 0:
        return leaf()
    lengths = (0, 1, 1, 2, 3, 5, *(more if rank == 1 else ()))
    return [nest(rng, rank - 1, leaf, more) for _ in range(rng.choice(lengths))]


def fibers(nested: Any, rank: int, make: Callable[[Any], Any]) -> Any:
    """Replace everything of a rank in a nested list."""
    if rank == 0:
        return make(nested)
    return [fibers(child, rank - 1, make) for child in nested]


def ref(rng: random.Random, size: int) -> tuple[int | None]:
    """A ref, sometimes null."""
    return (rng.choice((None, *range(size))),)


def word(rng: random.Random, value: ValueType) -> tuple[int]:
    """A value, often a zero."""
    if not value.is_float:
        return (rng.choice((0, 0, rng.randrange(-(2**20), 2**20))),)
    number = rng.choice((0.0, -0.0, -0.0, *(rng.uniform(-9, 9) for _ in range(9))))
    few = round(number * 64) / 64 * 2.0 ** rng.randint(-3, 20)
    return (value.encode(rng.choice((number, few))),)


def joined(rng: random.Random) -> tuple[Any, Any]:
    """Two sides with equal outer levels: fibers that match, miss, and lack a side."""
    shape = nest(rng, 3, tuple)
    pairs: list[tuple[list[int], list[int]]] = []
    for _ in range(sum(len(plane) for plane in shape)):
        both = rng.sample(range(12), rng.randrange(1, 8))
        cut = rng.randrange(len(both) + 1)
        pair = rng.choice(
            [(both, both), (both[:cut], both[cut:]), (both, []), ([], both), (both, both[:cut])]
        )
        pairs.append((sorted(pair[0]), sorted(pair[1])))
    sides: list[Any] = []
    for side in (0, 1):
        rows = iter(pairs)
        sides.append(
            fibers(shape, 2, lambda _, rows=rows, side=side: [
                (crd, *ref(rng, 9)) for crd in next(rows)[side]
            ])
        )  # fmt: skip
    return sides[0], sides[1]


def streams(rng: random.Random, setup: Setup, value: ValueType) -> dict[str, Any]:
    """Return one random stream for every port of a setup."""
    nested = nest(rng, 3, tuple, (7, 8, 9, 12, 17) if value.is_float else ())
    val = lambda _: word(rng, value)  # noqa: E731
    match setup.primitive:
        case "scan_dense" | "array":
            return {"ref": fibers(nested, 3, lambda _: ref(rng, 8))}
        case "scan_compressed":
            return {"ref": fibers(nested, 3, lambda _: ref(rng, 4))}
        case "repeat":
            return {"x": fibers(nested, 2, lambda _: ref(rng, 9)), "signal": nested}
        case "intersect" | "union":
            left, right = joined(rng)
            return {"left": left, "right": right}
        case "alu" | "unary" | "reduce":
            return {port: fibers(nested, 3, val) for port in setup.feeds}
        case "accumulate":
            # Few coordinates, and runs of one, so that sums meet in the adder.
            near = rng.choice((1, 2, 8, 32))
            crd = fibers(nested, 3, lambda _: (rng.randrange(near),))
            return {"crd": crd, "val": fibers(nested, 3, val)}
        case "drop_value":
            crd = fibers(nested, 3, lambda _: (rng.randrange(32),))
            return {"crd": crd, "val": fibers(nested, 3, val)}
        case "drop_empty":
            inner = nest(rng, 4, lambda: (rng.randrange(32),))
            return {"outer": fibers(inner, 3, lambda _: (rng.randrange(32),)), "inner0": inner}
        case "write_crd":
            # No more fibers than the segment array holds.
            short = [[nested_row[:3] for nested_row in plane[:3]] for plane in nested[:3]]
            crd = fibers(short, 3, lambda _: (rng.randrange(32),))
            return {"crd": crd, "val": fibers(short, 3, val)}
        case other:
            raise AssertionError(f"no data for {other}")


def case(copy: Copy, rng: random.Random, value: ValueType) -> Case:
    """Return the data of a copy in one round."""
    played = [streams(rng, copy.setup, value) for _ in range(STREAMS)]
    image = None
    if copy.setup.primitive == "accumulate":
        image = TensorImage((32,), (None,), (None,), [0] * 32)
    return Case({port: [each[port] for each in played] for port in played[0]}, image)


def shown(tile: MutantTile, names: set[str], want: CycleResult, got: Record) -> dict[str, str]:
    """Return, for every copy that went another way than the model, the first thing that differs."""
    found: dict[str, str] = {}
    for number, (owner, edge) in enumerate(zip(tile.owners, want.edges, strict=True)):
        for what, ours, theirs in (
            ("tokens", edge.tokens, got.issued[number]),
            ("pops", edge.pop_digest, got.pop_digest[number]),
            ("cycles of issue", edge.issue_digest, got.issue_digest[number]),
        ):
            if int(ours) != int(theirs):
                found.setdefault(owner, f"{what} on {edge.name}")
    for name in names & want.outputs.keys():
        for what in image_differences(want.outputs[name], got.outputs[name]):
            found.setdefault(name, what)
    return found


def rounds(tile: MutantTile, every: tuple[Copy, ...]) -> list[Round]:
    """Return the data of all rounds; copies of one setup get equal data."""
    setups = [copy.setup for copy in every]
    made: list[Round] = []
    for number, seed in enumerate(SEEDS):
        cases = {
            copy.setup.name: case(copy, random.Random(f"{copy.of} {number}"), tile.graph.value)
            for copy in every
        }
        made.append(make_round(tile.graph, setups, cases, seed))
    return made


def test_every_edit_applies() -> None:
    for mutant in (*MUTANTS, *FLOAT_MUTANTS):
        compile(mutant.source(), mutant.module, "exec")


def test_a_stale_edit_fails() -> None:
    stale = replace(MUTANTS[0], old="what the file does not hold")
    with pytest.raises(AssertionError, match="occurs 0 times in"):
        stale.source()


def test_a_fault_does_not_outlive_its_context() -> None:
    before = {name: module for name, module in sys.modules.items() if name.startswith("hw")}
    for mutant in (*MUTANTS, *FLOAT_MUTANTS):
        with applied(mutant):
            assert import_module(mutant.module) is not before.get(mutant.module)
    after = {name: module for name, module in sys.modules.items() if name.startswith("hw")}
    assert after == before


@pytest.mark.rtl
@pytest.mark.xdist_group("mutants")
@pytest.mark.parametrize(
    ("mutants", "value"), [(MUTANTS, INT32), (FLOAT_MUTANTS, FP32)], ids=["integers", "floats"]
)
def test_every_mutant_is_caught(mutants: tuple[Mutant, ...], value: ValueType) -> None:
    every = copies(mutants)
    tile = MutantTile(every, value)
    built = build_tile(tile.make, optimize=False)
    units = flatten(tile.graph)
    data = rounds(tile, every)
    wanted = [model(units, each) for each in data]
    # A part that hangs leaves its tokens behind, so every round begins with a reset.
    records = built.play([
        Run(
            images=each.images, shapes=each.shapes, streams=each.streams, sinks=each.sinks,
            gates=each.gates, limit=want.cycles + HANG, reset=True,
        )
        for each, want in zip(data, wanted, strict=True)
    ])  # fmt: skip
    names = {copy.setup.name for copy in every}
    caught: dict[str, str] = {}
    for number, (want, got) in enumerate(zip(wanted, records, strict=True)):
        for name, what in shown(tile, names, want, got).items():
            caught.setdefault(name, f"round {number}: {what}")
    faulty = {copy.setup.name for copy in every if copy.mutant is not None}
    assert {name: caught[name] for name in caught.keys() - faulty} == {}, "controls differ"
    assert sorted(faulty - caught.keys()) == [], "mutants that nobody caught"
