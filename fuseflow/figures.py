"""The figures that commands report, as JSON and as text."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from fuseflow.api import Program, RunResult, Seconds, VerifyResult
from fuseflow.samml.files import write_file
from fuseflow.samml.units import flatten
from fuseflow.tensor import Tensor

if TYPE_CHECKING:
    from fuseflow.traces import Stalls

Figures = dict[str, Any]

SHOWN_ENTRIES = 20
"""A result of at most so many nonzeros is printed."""


def program_figures(program: Program) -> Figures:
    """Return what is known before a run."""
    return {
        "statement": str(program.statement),
        "value": program.graph.value.name,
        "order": ",".join(program.order),
        "formats": {name: str(form) for name, form in program.lowered.formats.items()},
        "primitives": len(program.graph.nodes),
    }


def run_figures(program: Program, run: RunResult) -> Figures:
    """Return the figures of a run on the models."""
    return {
        "model_cycles": run.cycles,
        **_outcome(run),
        **program_figures(program),
        "seconds": _seconds(run.seconds, "compile", "model"),
        "units": _units(run),
        "edges": _edges(program, run),
    }


def verify_figures(program: Program, verified: VerifyResult) -> Figures:
    """Return the figures of a run on models and RTL."""
    return {
        "model_cycles": verified.run.cycles,
        "rtl_cycles": verified.rtl_cycles,
        "bit_exact": verified.bit_exact,
        **_outcome(verified.run),
        **program_figures(program),
        "differences": list(verified.differences),
        "seconds": _seconds(verified.seconds, "compile", "model", "generate", "build", "rtl"),
    }


def stall_figures(stalls: "Stalls") -> Figures:
    """Return what held a run back."""
    return {"stalls": asdict(stalls)}


def _outcome(run: RunResult) -> Figures:
    return {
        "max_error": run.max_error,
        "error_bound": run.error_bound,
        "overflow": run.overflow,
        "tokens": run.tokens,
        "bottleneck": run.bottleneck,
        "bottleneck_unit": run.bottleneck_unit,
        "ideal": run.ideal,
        "ideal_banks": run.ideal_banks,
        "nnz_out": run.result.nnz,
        "conversion_cycles": sum(step.cost.cycles for step in run.conversions),
        "conversions": [
            {"conversion": str(step.conversion), **asdict(step.cost)} for step in run.conversions
        ],
    }


def _units(run: RunResult) -> list[Figures]:
    return [
        {
            "unit": unit.name,
            "firings": unit.firings,
            "bank": unit.bank,
            "coordinate": unit.coordinate,
        }
        for unit in run.model.units
    ]


def _edges(program: Program, run: RunResult) -> list[Figures]:
    return [
        {
            "edge": edge.name,
            "depth": edge.depth,
            "tokens": report.tokens,
            "high_water": report.high_water,
            "missing": report.missing,
            "full": report.full,
        }
        for edge, report in zip(flatten(program.graph).edges, run.model.edges, strict=True)
    ]


def _seconds(seconds: Seconds, *steps: str) -> dict[str, float]:
    return {step: round(getattr(seconds, step), 4) for step in steps}


def table(figures: Figures) -> str:
    """Return figures as aligned lines, without lists."""
    lines: list[str] = []
    for name, value in figures.items():
        match value:
            case list():
                continue
            case dict():
                parts = cast(Figures, value)
                text = "  ".join(f"{key} {part}" for key, part in parts.items())
            case _:
                text = str(value)
        lines.append(f"{name:16} {text}")
    return "\n".join(lines)


def entries(result: Tensor) -> str:
    """Return the nonzeros of a small result, one a line; nothing of a large one."""
    if result.nnz > SHOWN_ENTRIES:
        return ""
    coords, values = result.entries()
    return "".join(
        f"\n{result.name}({','.join(map(str, crd))}) = {val}"
        for crd, val in zip(coords.tolist(), values.tolist(), strict=True)
    )


def report(target: str | None, figures: Figures, text: str) -> None:
    """Write figures as JSON where wanted, and print the text.

    JSON on standard output stands there alone; the text then goes to standard error.
    """
    document = json.dumps(figures, indent=1) + "\n"
    if target is not None and target != "-":
        write_file(Path(target), document)
    typer.echo(text, err=target == "-")
    if target == "-":
        sys.stdout.write(document)
