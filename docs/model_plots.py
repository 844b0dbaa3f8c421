"""Draws what `make bench-models` measured."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from docs.model_runs import FUSIONS, Comparison, Outcome

COLOURS = {"none": "0.6", "regions": "C0", "full": "C3", "auto": "C2"}


def write_bars(
    compared: Sequence[Comparison], of: Callable[[Outcome], int], title: str, path: Path
) -> None:
    """Draw a figure of every granularity over that of single statements; forecasts are hatched.

    Parameters
    ----------
    compared : sequence of Comparison
    of : callable
        The figure.
    title : str
    path : path
        Of an SVG file.
    """
    matplotlib: Any = import_module("matplotlib")
    figure_type: Any = import_module("matplotlib.figure").Figure
    with matplotlib.rc_context({"svg.hashsalt": "fuseflow", "svg.fonttype": "none"}):
        figure = figure_type(figsize=(9, 1.2 + 0.5 * len(compared)), layout="constrained")
        axes = figure.add_subplot()
        for number, fusion in enumerate(FUSIONS[1:]):
            found = [(each.outcomes["none"], each.outcomes[fusion]) for each in compared]
            axes.barh(
                [place + 0.27 * (number - 1) for place in range(len(compared))],
                [of(outcome) / of(none) - 1 for none, outcome in found],
                0.25, left=1, label=fusion, color=COLOURS[fusion],
                hatch=["///" if each.how == "forecast" else "" for _, each in found],
                edgecolor="white",
            )  # fmt: skip
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set(xscale="log", xlabel=title)
        names = [f"{each.model}, {each.data}" for each in compared]
        axes.set_yticks(range(len(compared)), names, fontsize=8)
        axes.invert_yaxis()
        axes.grid(axis="x", alpha=0.3)
        axes.legend()
        figure.savefig(path, format="svg", metadata={"Date": None})
