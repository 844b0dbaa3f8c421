"""Exploring a program: its cuts, or its loop orders, with what they are expected to cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from fuseflow.api import Prepared, Program
from fuseflow.samml.errors import LoweringError

KEPT = 1.25
"""Candidates that are expected to cost at most so many times what the best does are kept."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to compile a program.

    Attributes
    ----------
    program : Program
    predicted, bottleneck, operations, bytes : float
        Expected cycles, firings of the busiest units, operations, and bytes that are moved
        between arrays and graphs, of all graphs (`fuseflow.compiler.forecast`).
    kept : bool
        Whether the prediction leaves it a chance to be the best.
    cycles : int or None
        On the cycle model, with everything that crosses regions, if it was run.
    """

    program: Program
    predicted: float
    bottleneck: float
    operations: float
    bytes: float
    kept: bool
    cycles: int | None = None

    @property
    def title(self) -> str:
        """The regions by what they store, each with its loop order."""
        kernels = self.program.kernels
        return " | ".join(
            f"{','.join(kernel.targets)} ({','.join(kernel.order)})" for kernel in kernels
        )


@dataclass(frozen=True, eq=False)
class Exploration:
    """Candidates, the best by prediction first."""

    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        """The best that was run, or else by prediction."""
        run = [each for each in self.candidates if each.cycles is not None]
        return min(run, key=lambda each: each.cycles or 0) if run else self.candidates[0]

    @property
    def kept(self) -> int:
        """How many candidates pruning leaves."""
        return sum(each.kept for each in self.candidates)

    @property
    def held(self) -> bool | None:
        """Whether the best one that was run is among those that pruning leaves."""
        return self.best.kept if self.best.cycles is not None else None

    def __str__(self) -> str:
        lines = [f"{'predicted':>12} {'cycles':>12} {'operations':>12} {'bytes':>12}    candidate"]
        for each in self.candidates:
            cycles = "" if each.cycles is None else f"{each.cycles:,}"
            mark = " " if each.kept else "x"
            lines.append(
                f"{each.predicted:12,.0f} {cycles:>12} {each.operations:12,.0f} "
                f"{each.bytes:12,.0f}  {mark} {each.title}"
            )
        lines.append(f"{self.kept} of {len(self.candidates)} kept, x marks the others")
        if self.held is not None:
            lines[-1] += f"; the best of all that ran is {'' if self.held else 'not '}among them"
        return "\n".join(lines)


def explore(
    prepared: Prepared, *, orders: bool = False, count: int = 16, simulate: bool = False
) -> Exploration:
    """Compare the ways to compile a program.

    Parameters
    ----------
    prepared : Prepared
        See `fuseflow.api.prepare`.
    orders : bool
        Compare the loop orders of the program as one graph; otherwise, and where it has several
        statements, its cuts into graphs.
    count : int
        How many candidates are compared; orders are all ranked first.
    simulate : bool
        Run every candidate on the models; values are checked.

    Raises
    ------
    LoweringError, CapacityError, TensorError
    """
    several = len(prepared.scheduler.program.statements) > 1
    found: Iterable[Program]
    found = prepared.candidates(count) if several and not orders else prepared.in_orders()
    ranked = sorted(map(_candidate, found), key=lambda each: each.predicted)
    if not ranked:
        raise LoweringError(
            "none of the loop orders that were tried can be compiled: explore cuts instead, or "
            "let operands be converted (--auto-convert)"
        )
    limit = KEPT * ranked[0].predicted
    return Exploration(
        tuple(_tried(each, limit, simulate=simulate) for each in islice(ranked, count))
    )


def _candidate(program: Program) -> Candidate:
    forecasts = program.forecasts
    return Candidate(
        program,
        sum(each.cycles for each in forecasts),
        sum(each.bottleneck for each in forecasts),
        sum(each.operations for each in forecasts),
        sum(each.bytes for each in forecasts),
        kept=False,
    )


def _tried(candidate: Candidate, limit: float, *, simulate: bool) -> Candidate:
    fields: dict[str, Any] = {**vars(candidate), "kept": candidate.predicted <= limit}
    if simulate:
        fields["cycles"] = candidate.program.run().cycles
    return Candidate(**fields)
