"""An analysis as JSON and as text."""

from collections.abc import Callable, Sequence
from typing import Any

from fuseflow.analysis import (
    Activity,
    Analysis,
    Metric,
    RegionAnalysis,
    StatementAnalysis,
    Traffic,
)
from fuseflow.compiler.forecast import Work

Figures = dict[str, Any]

HEADLINES: dict[Metric, tuple[str, str]] = {
    Metric.MEMORY_BANDWIDTH: ("bytes", "bytes_per_cycle"),
    Metric.FLOPS: ("operations", "operations_per_cycle"),
    Metric.TOKENS: ("tokens", ""),
    Metric.CYCLES: ("cycles", ""),
}
"""The column that a metric is about, and the rate that goes with it."""

LONGEST_STATEMENT = 60
"""Most characters of a statement in a row."""


def analysis_figures(analysis: Analysis) -> Figures:
    """Return everything that an analysis knows."""
    region, statement = analysis.bottleneck
    return {
        "metric": str(analysis.metric),
        "bottleneck": {
            "region": region.region,
            "statement": statement.statement,
            "amount": _rounded(statement.best.amount(analysis.metric)),
            "share": _share(statement, analysis),
            "bound": str(region.bound),
        },
        "expected": _activity(analysis.expected),
        "measured": _activity(analysis.measured),
        "crossing_cycles": analysis.crossing_cycles,
        "regions": [_region(each) for each in analysis.regions],
    }


def _region(region: RegionAnalysis) -> Figures:
    return {
        "region": region.region,
        "order": region.order,
        "bound": str(region.bound),
        "traced": region.traced,
        "bounds": {str(bound): round(amount) for bound, amount in region.bounds.items()},
        "expected": _activity(region.expected),
        "measured": _activity(region.measured),
        "statements": [
            {
                "statement": each.statement,
                "expected": _activity(each.expected),
                "measured": _activity(each.measured),
                "tensors": [_traffic(traffic) for traffic in each.tensors],
            }
            for each in region.statements
        ],
    }


def _activity(activity: Activity | None) -> Figures | None:
    if activity is None:
        return None
    return {
        "cycles": _rounded(activity.cycles),
        "tokens": _rounded(activity.tokens),
        "operations": _rounded(activity.operations),
        **_bytes(activity),
        "unit": activity.unit,
        "firings": _rounded(activity.firings),
        "bytes_per_cycle": _rate(activity.bytes_per_cycle),
        "operations_per_cycle": _rate(activity.operations_per_cycle),
        "operations_per_byte": _rate(activity.intensity),
    }


def _traffic(traffic: Traffic) -> Figures:
    def figures(work: Work | None) -> Figures | None:
        if work is None:
            return None
        return {**_bytes(work), "tokens": _rounded(work.tokens)}

    return {
        "tensor": traffic.tensor,
        "access": traffic.access,
        "expected": figures(traffic.expected),
        "measured": figures(traffic.measured),
    }


def _bytes(moved: Activity | Work) -> Figures:
    return {
        "bytes": _rounded(moved.bytes),
        "coordinates": _rounded(moved.coordinates),
        "segments": _rounded(moved.segments),
        "values": _rounded(moved.values),
    }


def _rounded(amount: float | None) -> int | None:
    return None if amount is None else round(amount)


def _rate(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 4)


def _share(statement: StatementAnalysis, analysis: Analysis) -> float:
    total = analysis.total
    return round(statement.best.amount(analysis.metric) / total, 4) if total else 0.0


def analysis_text(analysis: Analysis) -> str:
    """Return a page: regions with their statements and tensors, then the bottleneck."""
    lines: list[str] = []
    for region in analysis.regions:
        lines += [f"region {region.region}, order {region.order}"]
        lines += [*_summary(region.expected, region.measured), f"  {_bound(region)}", ""]
        lines += [*_statements(region, analysis), ""]
    if len(analysis.regions) > 1:
        lines += ["all regions", *_summary(analysis.expected, analysis.measured), ""]
    region, statement = analysis.bottleneck
    name, rate = HEADLINES[analysis.metric]
    if analysis.metric is Metric.CYCLES and statement.best.cycles is None:
        name = f"firings of {statement.best.unit}"
    amount = f"{statement.best.amount(analysis.metric):,.0f} {name}"
    found: float | None = getattr(region.best, rate) if rate else None
    rated = "" if found is None else f"; the region has {found:.3g} {rate.replace('_', ' ')}"
    lines.append(
        f"bottleneck: {statement.statement} in {region.region}: {amount}, "
        f"{_share(statement, analysis):.1%} of all{rated}, bound by {region.bound}"
    )
    return "\n".join(lines)


def _summary(expected: Activity | None, measured: Activity | None) -> list[str]:
    """Return a row a figure, expected and measured beside each other."""
    columns = {"expected": expected, "measured": measured}
    known = {head: each for head, each in columns.items() if each is not None}
    rows: list[tuple[str, Callable[[Activity], str]]] = [
        ("cycles", lambda a: _number(a.cycles)),
        ("tokens", lambda a: _number(a.tokens)),
        ("operations", lambda a: _number(a.operations)),
        ("bytes", lambda a: _number(a.bytes)),
        ("bytes per cycle", lambda a: _fraction(a.bytes_per_cycle)),
        ("operations per cycle", lambda a: _fraction(a.operations_per_cycle)),
        ("operations per byte", lambda a: _fraction(a.intensity)),
        ("busiest unit", lambda a: a.unit),
        ("its firings", lambda a: _number(a.firings)),
    ]
    return _aligned(
        [["", *known], *([name, *map(figure, known.values())] for name, figure in rows)]
    )


def _bound(region: RegionAnalysis) -> str:
    largest = sorted(region.bounds.items(), key=lambda pair: -pair[1])
    amounts = ", ".join(f"{bound} {_number(amount)}" for bound, amount in largest)
    what = "cycles of the critical path" if region.traced else "firings of the busiest unit"
    return f"bound by {region.bound} ({what}: {amounts})"


def _statements(region: RegionAnalysis, analysis: Analysis) -> list[str]:
    """Return a row a statement, and below it one for each tensor that it moves."""
    first = HEADLINES[analysis.metric][0]
    names = [first, *(n for n in ("bytes", "operations", "tokens", "cycles") if n != first)]
    rows = [[*names[:1], "share", *names[1:], "coordinates", "segments", "values", "", ""]]
    for each in region.statements:
        best = each.best
        amounts = {
            "bytes": best.bytes,
            "operations": best.operations,
            "tokens": best.tokens,
            "cycles": best.cycles,
        }
        rows.append(
            [
                _number(amounts[first]),
                f"{_share(each, analysis):.1%}",
                *(_number(amounts[name]) for name in names[1:]),
                *map(_number, (best.coordinates, best.segments, best.values)),
                _short(each.statement),
                f"{best.unit} fires {_number(best.firings)}" if best.unit else "no unit of its own",
            ]
        )
        for traffic in each.tensors:
            moved = traffic.best
            known = {"bytes": moved.bytes, "tokens": moved.tokens}
            rows.append(
                [
                    _number(known.get(first)),
                    "",
                    *(_number(known.get(name)) for name in names[1:]),
                    *map(_number, (moved.coordinates, moved.segments, moved.values)),
                    f"  {traffic.tensor} {traffic.access}",
                    "",
                ]
            )
    return _aligned(rows, left=2)


def _aligned(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Align columns to the right, and the first or the last `left` ones to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - left
    lines: list[str] = []
    for row in rows:
        cells = [
            cell.ljust(width) if at >= last or (not left and at == 0) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_STATEMENT else f"{text[: LONGEST_STATEMENT - 3]}..."


def _number(amount: float | None) -> str:
    return "" if amount is None else f"{amount:,.0f}"


def _fraction(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.3g}"
