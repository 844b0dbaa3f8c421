"""A comparison as a picture."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fuseflow.comparison.compare import Comparison
from fuseflow.comparison.render import shortened
from fuseflow.comparison.run import Row
from fuseflow.samml.errors import ToolError
from fuseflow.samml.files import OutputError, writing

SUFFIXES = (".png", ".svg", ".pdf")


def check_plot_target(path: Path) -> None:
    """Refuse a picture that cannot be drawn before anything long runs.

    Raises
    ------
    OutputError
        The suffix is none of `SUFFIXES`, or the path is a directory.
    ToolError
        Matplotlib is missing.
    """
    if path.suffix not in SUFFIXES or path.is_dir():
        raise OutputError(f"'{path}' is no picture: name a file that ends in .png, .svg or .pdf")
    if find_spec("matplotlib") is None:
        raise ToolError("--plot needs matplotlib: pip install 'fuseflow[plot]'")


def write_plot(comparison: Comparison, path: Path) -> None:
    """Draw cycles, ideal, best and the peer's cycles of every row that has figures.

    Raises
    ------
    OutputError, ToolError
        See `check_plot_target`.
    """
    check_plot_target(path)
    matplotlib: Any = import_module("matplotlib")
    figure_type: Any = import_module("matplotlib.figure").Figure
    rows = [row for row in comparison.rows if row.cycles]
    places = range(len(rows))
    with matplotlib.rc_context({"svg.hashsalt": "fuseflow", "svg.fonttype": "none"}):
        figure = figure_type(figsize=(10, 1.5 + 0.2 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        for name, marker, figures in (
            ("ideal", "|", [row.ideal for row in rows]),
            ("cycles", ".", [row.cycles for row in rows]),
            ("SAM", "x", [row.peer for row in rows]),
            ("best", "+", [row.best for row in rows]),
        ):
            drawn = [(each, place) for each, place in zip(figures, places, strict=True) if each]
            if drawn:
                axes.plot(*zip(*drawn, strict=True), marker, label=name)
        axes.set(xscale="log", xlabel=f"cycles, {comparison.value.name}")
        axes.set_yticks(places, [_label(row) for row in rows], fontsize=7)
        axes.invert_yaxis()
        axes.grid(axis="x", alpha=0.3)
        axes.legend()
        with writing(path) as file:
            kind = path.suffix[1:]
            undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
            figure.savefig(file, format=kind, metadata=undated.get(kind))


def _label(row: Row) -> str:
    depth = "" if row.depth is None else f", depth {row.depth}"
    return f"{row.kernel}, {shortened(row.data)}{depth}"
