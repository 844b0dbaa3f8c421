"""Measures example models at every fusion granularity, and compares values with PyTorch's."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from docs.model_cases import Case
from fuseflow.model import Model, PreparedModel
from fuseflow.outcome import RunResult

T = TypeVar("T")

FUSIONS = ("none", "regions", "full", "auto")
MOST_CHECKED = 3e8
"""Expected firings beyond which ideal cycles and the truth of the program are left out."""

MOST_RUN = 1e9
"""Expected firings beyond which a run that is not closed-form is not made."""

MOST_CLOSED = 1e11
"""The same of closed-form runs."""

CLOSE = 1e-4
"""Largest error of fp32 over the largest result; bounds of the worst case may be infinite."""


@dataclass(frozen=True)
class Outcome:
    """A model at a granularity.

    Attributes
    ----------
    fusion : str
    graphs : int
    cycles, operations, bytes, tokens : int
    busiest : str
        The unit that fires most, with how often.
    how : str
        ``run``: golden meaning, cycle model and truth agree; ``measured``: its values are compared
        with PyTorch's alone; ``forecast``: expected figures, of runs that are too long.
    error, bound : float or None
        Largest distance to PyTorch's float64, and what rounding explains.
    compiling, running : float
        Seconds.
    """

    fusion: str
    graphs: int
    cycles: int
    operations: int
    bytes: int
    tokens: int
    busiest: str
    how: str
    error: float | None
    bound: float | None
    compiling: float
    running: float


@dataclass(frozen=True)
class Comparison:
    """A model at every granularity.

    Attributes
    ----------
    model, data : str
    outcomes : dict of str to Outcome
        By granularity.
    """

    model: str
    data: str
    outcomes: dict[str, Outcome]

    def speedup(self, fusion: str) -> float:
        """Return how many times the cycles of single statements a granularity's are."""
        return self.outcomes["none"].cycles / self.outcomes[fusion].cycles


def measure(case: Case, report: Callable[[str], None]) -> Comparison:
    """Measure a case at every granularity.

    Parameters
    ----------
    case : Case
    report : callable
        Takes a line for every granularity once it is measured.
    """
    expected, prepared = case.expected(), case.prepare()
    outcomes: dict[str, Outcome] = {}
    bound: float | None = None
    for fusion in FUSIONS:
        found = _outcome(case, prepared, fusion, expected, bound)
        outcomes[fusion] = found
        bound = bound if bound is not None else found.bound
        report(f"{case.model}, {case.data}, {fusion}: {found.how}, {found.cycles:,} cycles, "
               f"compiled in {found.compiling:.1f} s, run in {found.running:.1f} s")  # fmt: skip
    return Comparison(case.model, case.data, outcomes)


def _outcome(
    case: Case, prepared: PreparedModel, fusion: str, expected: np.ndarray, known: float | None
) -> Outcome:
    model, compiling = timed(lambda: prepared.compile(fusion))
    forecasts = model.program.forecasts
    firings = sum(each.firings for each in forecasts)
    if firings > (MOST_CLOSED if case.closed else MOST_RUN):
        busiest = max(forecasts, key=lambda each: each.bottleneck)
        return Outcome(
            fusion, len(model.program.kernels), round(sum(each.cycles for each in forecasts)),
            round(sum(each.operations for each in forecasts)),
            round(sum(each.bytes for each in forecasts)),
            round(sum(each.tokens for each in forecasts)),
            f"{busiest.unit} {busiest.bottleneck:.3g}", "forecast", None, None, compiling, 0.0,
        )  # fmt: skip
    checked = firings < MOST_CHECKED
    run, running = timed(lambda: _run(case, model, checked))
    error = float(np.abs(model.outputs(run)[model.results[0]] - expected).max())
    bound = run.error_bound if checked else known
    assert bound is None or error <= bound, f"{case.model} {fusion}: {error} > {bound}"
    assert error <= CLOSE * np.abs(expected).max(), f"{case.model} {fusion}: {error}"
    return Outcome(
        fusion, len(run.regions), run.cycles, run.operations, run.bytes, run.tokens,
        f"{run.bottleneck_unit} {max(each.bottleneck for each in run.regions):,}",
        "run" if checked else "measured", error, bound, compiling, running,
    )  # fmt: skip


def _run(case: Case, model: Model, checked: bool) -> RunResult:
    program = model.program
    act = program.run if checked else program.measure
    return act(closed_form=case.closed)


def timed(act: Callable[[], T]) -> tuple[T, float]:
    """Return what a function returns, and how many seconds it took."""
    started = time.perf_counter()
    return act(), time.perf_counter() - started


def rows(compared: Comparison) -> Iterator[tuple[object, ...]]:
    """Yield the row of every granularity."""
    for fusion, each in compared.outcomes.items():
        error = "" if each.error is None else f"{each.error:.1e} / {_said(each.bound)}"
        yield (
            compared.model, compared.data, fusion, each.graphs, f"{each.cycles:,}",
            f"{compared.speedup(fusion):.2f}", f"{each.operations:,}", f"{each.bytes:,}",
            f"{each.tokens:,}", each.busiest, each.how, error,
            f"{each.compiling:.1f}", f"{each.running:.1f}",
        )  # fmt: skip


def _said(bound: float | None) -> str:
    return "unknown" if bound is None else f"{bound:.1e}"
