"""Arithmetic of every value type under Verilator against NumPy, a pair of operands a cycle."""

from collections.abc import Mapping

import numpy as np
import pytest

from fuseflow.samml.functions import FLOATING
from fuseflow.samml.values import BF16, FP32, VALUE_TYPES
from tests.hw.arithmetic import Arithmetic, all_significands, pairs, play, units
from tests.hw.reference import Result, Words, apply
from tests.sim_models.points import operands

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("arithmetic")]

PAIRS, WORDS = 9 << 14, 1 << 16
"""Operands of every type: all pairs of edges, 10^5 others, and for bf16 all significands; then
what functions of one operand are tried at, for 16 bits every word."""

UNITS = units()


@pytest.fixture(scope="module")
def vectors() -> dict[str, tuple[Words, Words]]:
    made: dict[str, tuple[Words, Words]] = {}
    for name, value in VALUE_TYPES.items():
        rng = np.random.default_rng(value.bits)
        every = all_significands(value) if value == BF16 else np.empty((0, 2), np.int64)
        a, b = pairs(value, PAIRS - len(every), rng)
        single, _ = pairs(value, WORDS, rng)
        if value.is_float:
            single = operands(value, WORDS - len(operands(value, 0, rng)), rng)
        made[name] = (
            np.concatenate([every[:, 0], a, single]),
            np.concatenate([every[:, 1], b, single]),
        )
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


@pytest.mark.regress
@pytest.mark.parametrize("seed", range(5))
def test_many_words_of_fp32(seed: int) -> None:
    """In all, 10^6 operands of every function of fp32; of a quotient, as many pairs."""
    rng = np.random.default_rng(100 + seed)
    chosen = [unit for unit in UNITS if unit.value == FP32 and unit.op in FLOATING]
    count = PAIRS + WORDS
    a = operands(FP32, count - len(operands(FP32, 0, rng)), rng)
    b = rng.permutation(a)
    played = play(chosen, {FP32.name: (a, b)})
    for unit in chosen:
        words, flags = apply(unit.op, FP32, a, b)
        got, raised = played[unit.name]
        assert np.array_equal(got, words), unit.name
        assert np.array_equal(raised, flags), unit.name
