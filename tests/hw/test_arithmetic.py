"""Arithmetic of every value type under Verilator against NumPy, a pair of operands a cycle."""

from collections.abc import Mapping

import numpy as np
import pytest

from fuseflow.samml.values import BF16, VALUE_TYPES
from tests.hw.arithmetic import Arithmetic, all_significands, pairs, play, units
from tests.hw.reference import Result, Words, apply

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("arithmetic")]

COUNT = 1 << 17
"""Pairs of every type: all pairs of edges, 10^5 others, and for bf16 all significands."""

UNITS = units()


@pytest.fixture(scope="module")
def vectors() -> dict[str, tuple[Words, Words]]:
    made: dict[str, tuple[Words, Words]] = {}
    for name, value in VALUE_TYPES.items():
        rng = np.random.default_rng(value.bits)
        if value == BF16:
            every = all_significands(value)
            a, b = pairs(value, COUNT, rng)
            made[name] = np.concatenate([every[:, 0], a]), np.concatenate([every[:, 1], b])
        else:
            made[name] = pairs(value, COUNT + (1 << 14), rng)
    return made


@pytest.fixture(scope="module")
def results(vectors: dict[str, tuple[Words, Words]]) -> Mapping[str, Result]:
    return play(UNITS, vectors)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_every_word_and_flag(
    unit: Arithmetic, vectors: dict[str, tuple[Words, Words]], results: Mapping[str, Result]
) -> None:
    operand = unit.value.wide if unit.op == "narrow" else unit.value
    result = unit.value.wide if unit.wide or unit.op == "widen" else unit.value
    a, b = vectors[operand.name]
    words, flags = apply(unit.op, operand, a, b, result)
    got, raised = results[unit.name]
    wrong = np.flatnonzero((got != words) | (raised != flags))
    shown = [
        f"{a[k]:x}, {b[k]:x}: {got[k]:x} {raised[k]}, not {words[k]:x} {flags[k]}"
        for k in wrong[:4]
    ]
    assert not len(wrong), f"{len(wrong)} of {len(a)}: {shown}"
