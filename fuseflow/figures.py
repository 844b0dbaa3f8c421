"""The figures that commands report, as JSON and as text."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from fuseflow.api import Program
from fuseflow.kernel import Kernel
from fuseflow.outcome import ConversionStep, KernelRun, RunResult, Seconds, VerifyResult
from fuseflow.samml.files import write_file
from fuseflow.tensor import Tensor

if TYPE_CHECKING:
    from fuseflow.explore import Exploration
    from fuseflow.traces import Stalls
    from gen.bundle import Bundle

Figures = dict[str, Any]

SHOWN_ENTRIES = 20
"""A result of at most so many nonzeros is printed."""


def program_figures(program: Program) -> Figures:
    """Return what is known before a run."""
    formats: dict[str, str] = {}
    for kernel in program.kernels:
        formats |= {name: str(form) for name, form in kernel.lowered.formats.items()}
    figures: Figures = {"value": program.value.name, "formats": formats}
    if len(program.kernels) == 1:
        figures = {
            "statement": str(program.statement),
            "value": program.value.name,
            "order": ",".join(program.order),
            "formats": formats,
        }
    figures["primitives"] = sum(len(kernel.graph.nodes) for kernel in program.kernels)
    return figures


def compile_figures(program: Program, directory: Path) -> Figures:
    """Return the figures of what was compiled to a directory."""
    return {
        **program_figures(program),
        "directory": str(directory),
        "seconds": _seconds(program.seconds, "compile"),
        "regions": [_kernel(kernel) for kernel in program.kernels],
    }


def run_figures(program: Program, run: RunResult) -> Figures:
    """Return the figures of a run on the models."""
    return {
        "model_cycles": run.cycles,
        **_outcome(run),
        **program_figures(program),
        "seconds": _seconds(run.seconds, "compile", "model"),
        "regions": _regions(program, run),
        "units": [row for region in run.regions for row in _units(region)],
        "edges": [row for region in run.regions for row in _edges(region)],
    }


def verify_figures(program: Program, verified: VerifyResult) -> Figures:
    """Return the figures of a run on models and RTL."""
    regions = _regions(program, verified.run)
    for figures, region in zip(regions, verified.regions, strict=True):
        figures["rtl_cycles"] = region.rtl_cycles
    return {
        "model_cycles": verified.run.cycles,
        "rtl_cycles": verified.rtl_cycles,
        "bit_exact": verified.bit_exact,
        **_outcome(verified.run),
        **program_figures(program),
        "differences": list(verified.differences),
        "seconds": _seconds(verified.seconds, "compile", "model", "generate", "build", "rtl"),
        "regions": regions,
    }


def bundle_figures(bundles: "Mapping[str, Bundle]") -> Figures:
    """Return where the Verilog of every graph went."""
    if len(bundles) == 1:
        (bundle,) = bundles.values()
        return {"top": bundle.top, "verilog": str(bundle.verilog)}
    return {
        "regions": [
            {"region": name, "top": bundle.top, "verilog": str(bundle.verilog)}
            for name, bundle in bundles.items()
        ]
    }


def exploration_figures(found: "Exploration") -> Figures:
    """Return the candidates of an exploration."""
    return {
        "kept": found.kept,
        "held": found.held,
        "candidates": [
            {
                "candidate": each.title,
                "predicted": round(each.predicted),
                "bottleneck": round(each.bottleneck),
                "operations": round(each.operations),
                "bytes": round(each.bytes),
                "kept": each.kept,
                "cycles": each.cycles,
            }
            for each in found.candidates
        ],
    }


def stall_figures(stalls: "Mapping[str, Stalls]") -> Figures:
    """Return what held the graphs of a run back: of several, by region."""
    found = {region: asdict(each) for region, each in stalls.items()}
    return {"stalls": found if len(found) > 1 else next(iter(found.values()))}


def _outcome(run: RunResult) -> Figures:
    return {
        "graph_cycles": run.graph_cycles,
        "max_error": run.max_error,
        "error_bound": run.error_bound,
        "overflow": run.overflow,
        **_work(run),
        "closed_form": {
            region.name: ", ".join(f"{each.loop} {each.iterations}" for each in region.skipped)
            for region in run.regions
            if region.skipped
        },
        "nnz_out": run.result.nnz,
        "results": {name: result.nnz for name, result in run.results.items()},
        "crossing_cycles": run.crossing_cycles,
        "conversion_cycles": run.conversion_cycles,
        "conversions": _conversions(run.conversions),
    }


def _work(run: RunResult | KernelRun) -> Figures:
    return {
        "tokens": run.tokens,
        "operations": run.operations,
        "bytes": run.bytes,
        "bottleneck": run.bottleneck,
        "bottleneck_unit": run.bottleneck_unit,
        "ideal": run.ideal,
        "ideal_banks": run.ideal_banks,
    }


def _conversions(steps: Iterable[ConversionStep]) -> list[Figures]:
    return [{"conversion": str(step.conversion), **asdict(step.cost)} for step in steps]


def _kernel(kernel: Kernel) -> Figures:
    return {
        "region": kernel.name,
        "statements": list(map(str, kernel.statements)),
        "order": ",".join(kernel.order),
        "primitives": len(kernel.graph.nodes),
    }


def _regions(program: Program, run: RunResult) -> list[Figures]:
    return [
        {
            **_kernel(kernel),
            "model_cycles": region.cycles,
            "max_error": region.max_error,
            "error_bound": region.error_bound,
            "overflow": region.overflow,
            **_work(region),
            "skipped": [asdict(each) for each in region.skipped],
            "results": {name: result.nnz for name, result in region.results.items()},
            "conversions": _conversions(region.conversions),
        }
        for kernel, region in zip(program.kernels, run.regions, strict=True)
    ]


def _units(run: KernelRun) -> list[Figures]:
    return [
        {
            "region": run.name,
            "unit": unit.name,
            "firings": unit.firings,
            "bank": unit.bank,
            "coordinate": unit.coordinate,
        }
        for unit in run.model.units
    ]


def _edges(run: KernelRun) -> list[Figures]:
    return [
        {
            "region": run.name,
            "edge": edge.name,
            "depth": edge.depth,
            "tokens": report.tokens,
            "high_water": report.high_water,
            "missing": report.missing,
            "full": report.full,
        }
        for edge, report in zip(run.units.edges, run.model.edges, strict=True)
    ]


def _seconds(seconds: Seconds, *steps: str) -> dict[str, float]:
    return {step: round(getattr(seconds, step), 4) for step in steps}


def table(figures: Figures) -> str:
    """Return figures as aligned lines, without lists."""
    lines = _rows(figures.get("regions", []))
    for name, value in figures.items():
        match value:
            case list() | {} if not value or isinstance(value, list):
                continue
            case dict():
                parts = cast(Figures, value)
                text = "  ".join(f"{key} {part}" for key, part in parts.items())
            case _:
                text = str(value)
        lines.append(f"{name:16} {text}")
    return "\n".join(lines)


SHOWN = (
    "top", "verilog", "model_cycles", "rtl_cycles", "ideal", "tokens", "operations", "bytes",
    "bottleneck", "bottleneck_unit", "primitives", "order",
)  # fmt: skip
"""The figures of a region that are printed."""


def _rows(regions: Sequence[Figures]) -> list[str]:
    """Return a row per region, and an empty line; nothing for one region, whose totals they are."""
    if len(regions) < 2:
        return []
    names = [name for name in ("region", *SHOWN) if name in regions[0]]
    rows = [names, *([str(region[name]) for name in names] for region in regions)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        *("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
          for row in rows),
        "",
    ]  # fmt: skip


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
