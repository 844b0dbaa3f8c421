"""Every program of the corpus at every granularity: both models, the truth, and NumPy agree."""

from typing import Any

import numpy as np
import pytest

from fuseflow.compiler.program import Program
from fuseflow.samml.values import FP32, INT32, ValueType
from tests.compiler import dense
from tests.programs.corpus import NAMES, Shapes, compiled, is_exact, load, operands, shapes

DENSITIES = (0.0, 0.3, 0.7, 1.0)

CONVERTED = ("35_chain2_orders",)
"""Programs whose order is not their formats'."""

EXACT = [name for name in NAMES if is_exact(load(name))]
MASKED = {"40_softmax_matmul_masked": 0, "47_attn_masked4": 2, "53_softmax4_masked": 0}
"""Programs with masks, and the mode of their result that rows of the mask are."""


def granularities(program: Program) -> list[tuple[str, str]]:
    """Return every fusion that cuts the program in its own way, and how it iterates."""
    count = len(program.statements)
    found = [("full", "factored"), ("full", "global")]
    if count > 1:
        found.append(("none", "factored"))
    if 1 < count - sum(each.stop - each.start - 1 for each in program.regions) < count:
        found.append(("regions", "factored"))
    return found


def runs(name: str, kind: ValueType) -> Any:
    """Yield every run of a program, with its density and granularity."""
    program = load(name)
    drawn = shapes(program, seed=len(name))
    for fusion, iteration in granularities(program):
        full = operands(program, drawn, 1.0, seed=0, kind=kind)
        options = {"value": kind, "auto_convert": name in CONVERTED}
        made = compiled(program, full, fusion, iteration, **options)
        for density in DENSITIES:
            yield density, made.run(drawn_operands(program, drawn, density, kind))


def drawn_operands(program: Program, drawn: Shapes, density: float, kind: ValueType) -> Any:
    return operands(program, drawn, density, seed=round(100 * density), kind=kind)


def meaning(name: str, density: float, kind: ValueType) -> dict[str, np.ndarray]:
    """Return what NumPy makes of a program; a row of scores that is all masked is empty."""
    program = load(name)
    tensors = drawn_operands(program, shapes(program, seed=len(name)), density, kind)
    with np.errstate(invalid="ignore"):
        found = dense.run(program, {n: each.to_numpy() for n, each in tensors.items()})
    return {n: np.nan_to_num(array) if name in MASKED else array for n, array in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_floats(name: str) -> None:
    truths = {density: meaning(name, density, FP32) for density in DENSITIES}
    for density, run in runs(name, FP32):
        assert run.max_error is not None
        for target, result in run.results.items():
            expected = truths[density][target]
            np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", EXACT)
def test_integers_are_equal_at_every_granularity(name: str) -> None:
    truths = {density: meaning(name, density, INT32) for density in DENSITIES}
    for density, run in runs(name, INT32):
        assert not run.overflow
        for target, result in run.results.items():
            np.testing.assert_array_equal(result.to_numpy(), truths[density][target])


@pytest.mark.parametrize("name", MASKED)
def test_rows_without_scores_are_empty(name: str) -> None:
    for density, run in runs(name, FP32):
        places, _ = run.result.entries()
        rows = places[:, MASKED[name]]
        last = run.result.shape[MASKED[name]] - 1
        assert (last in rows) == (density == 1)
        assert len(places) or density == 0


def test_cancelled_products_are_no_entries() -> None:
    """Operands hold x and -x, times y and y: their sum is exactly 0, and is not stored."""
    for _, run in runs("34_chain2", INT32):
        assert (run.result.entries()[1] != 0).all()
