"""A comparison as text, Markdown or JSON."""

import json
import math
from dataclasses import asdict
from typing import Any

from fuseflow.comparison.compare import LARGE, Comparison
from fuseflow.comparison.run import Row
from fuseflow.samml.errors import ParseError

FORMS = ("text", "markdown", "json")

NAME = 40
"""Characters that a table or picture spends on the name of data; JSON has it whole."""


def check_form(form: str) -> None:
    """Refuse an unknown form before anything long runs.

    Raises
    ------
    ParseError
    """
    if form not in FORMS:
        raise ParseError(f"--format {form}: write one of {', '.join(FORMS)}")


def render(comparison: Comparison, form: str) -> str:
    """Return a comparison in one of `FORMS`."""
    match form:
        case "json":
            return json.dumps(document(comparison), indent=1)
        case "markdown":
            return _markdown(comparison)
        case _:
            return _text(comparison)


def document(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison for JSON, which has no infinities: an overflow's error is null."""
    return {
        "value_type": comparison.value.name,
        "rows": [_finite(asdict(row) | _ratios(row)) for row in comparison.rows],
        "means": [asdict(mean) for mean in comparison.means],
        "left_out": [asdict(each) for each in comparison.left_out],
    }


def _finite(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(each, float) and not math.isfinite(each) else each
        for name, each in figures.items()
    }


def _ratios(row: Row) -> dict[str, float | None]:
    return {
        "cycles_per_ideal": _over(row.cycles, row.ideal),
        "cycles_per_ideal_banks": _over(row.cycles, row.ideal_banks),
        "cycles_per_peer": _over(row.cycles, row.peer),
        "best_per_peer": _over(row.best, row.peer),
    }


def _over(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def _line(row: Row) -> dict[str, str]:
    """Return every cell of a row, by the head of its column."""
    return {
        "kernel": row.kernel,
        "data": shortened(row.data),
        "order": row.order,
        "formats": row.formats,
        "cycles": _count(row.cycles),
        "RTL cycles": _count(row.rtl_cycles),
        "ideal": _count(row.ideal),
        "/ ideal": _ratio(row.cycles, row.ideal),
        "/ ideal_B": _ratio(row.cycles, row.ideal_banks),
        "bottleneck": row.bottleneck_unit,
        "firings": _count(row.bottleneck),
        "tokens": _count(row.tokens),
        "SAM": _count(row.peer) + (f" (depth {row.depth})" if row.depth else ""),
        "/ SAM": _ratio(row.cycles, row.peer),
        "best": _count(row.best),
        "error / bound": _error(row),
    }


def _count(figure: int | None) -> str:
    return "" if figure is None else f"{figure:,}"


def _ratio(part: int | None, whole: int | None) -> str:
    ratio = _over(part, whole)
    return "" if ratio is None else f"{ratio:.3f}"


def _error(row: Row) -> str:
    if row.max_error is None or row.error_bound is None:
        return ""
    wrapped = " (overflow)" if row.overflow else ""
    return f"{row.max_error:.2g} / {row.error_bound:.2g}{wrapped}"


def shortened(name: str) -> str:
    """Return a name of data in at most `NAME` characters."""
    return name if len(name) <= NAME else name[: NAME - 3] + "..."


def _cells(comparison: Comparison) -> list[list[str]]:
    """Return the heads and one line per row that has figures; no column without any."""
    lines = [_line(row) for row in comparison.rows if row.cycles]
    heads = [head for head in (lines[0] if lines else ()) if any(line[head] for line in lines)]
    return [heads, *([line[head] for head in heads] for line in lines)]


def _notes(comparison: Comparison) -> list[str]:
    """Return what stands below the table."""
    notes = [
        f"geometric mean of cycles / SAM, {mean.of}, {mean.rows} rows above {LARGE:,} cycles: "
        f"{mean.ratio:.3f}"
        for mean in comparison.means
    ]
    notes += [f"not compared: {each.what}: {each.reason}" for each in comparison.left_out]
    notes += [
        f"failed: {row.kernel} on {row.data}: {row.error}" for row in comparison.rows if row.error
    ]
    return notes


def _text(comparison: Comparison) -> str:
    cells = _cells(comparison)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            # The first four columns are names, the others figures.
            cell.ljust(width) if place < 4 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    return "\n".join([*lines, *_notes(comparison)])


def _markdown(comparison: Comparison) -> str:
    head, *lines = _cells(comparison)
    rule = ["---"] * 4 + ["---:"] * (len(head) - 4)
    table = ["| " + " | ".join(line) + " |" for line in (head, rule, *lines)]
    notes = [f"- {note}" for note in _notes(comparison)]
    return "\n".join([*table, *(["", *notes] if notes else [])])
