"""Trace files: the suffix decides the format.

==============================  ============================================================
``.json``, ``.json.gz``         trace events, for Perfetto and Chrome
``.vcd``                        value changes, for GTKWave and Surfer
==============================  ============================================================
"""

import gzip
import io
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import IO, cast

from fuseflow.samml.files import OutputError, check_place, writing
from fuseflow.samml.units import UnitGraph
from fuseflow.traces.chrome import write_chrome
from fuseflow.traces.vcd import write_vcd
from sim_models.cycle.result import CycleResult

Writer = Callable[[IO[bytes], UnitGraph, CycleResult], None]


def check_trace_target(path: str | PathLike[str]) -> None:
    """Refuse a path that no trace can be written to, before anything is run.

    Raises
    ------
    OutputError
        Its suffix is unknown, or it is a directory, or in none that can be written.
    """
    _check(Path(path), "a trace", tuple(_WRITERS))


def check_waves_target(path: str | PathLike[str]) -> None:
    """Refuse a path that no waves of RTL can be written to, before anything is built.

    Raises
    ------
    OutputError
        Its suffix is not ``.vcd``, or it is a directory, or in none that can be written.
    """
    _check(Path(path), "waves", (".vcd",))


def write_trace(path: str | PathLike[str], graph: UnitGraph, result: CycleResult) -> None:
    """Write a trace by the path's suffix, whole or not at all.

    Parameters
    ----------
    path : path
    graph : UnitGraph
        What ran.
    result : CycleResult
        Of a run with ``trace=True``.

    Raises
    ------
    OutputError
        As `check_trace_target`.
    """
    write = _WRITERS[_check(Path(path), "a trace", tuple(_WRITERS))]
    with writing(Path(path)) as file:
        write(file, graph, result)


def _write_zipped(file: IO[bytes], graph: UnitGraph, result: CycleResult) -> None:
    # Without name and time, equal runs give equal files.
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped:
        write_chrome(cast(IO[bytes], zipped), graph, result)


def _write_vcd(file: IO[bytes], graph: UnitGraph, result: CycleResult) -> None:
    text = io.TextIOWrapper(file, encoding="ascii", newline="\n")
    write_vcd(text, graph, result)
    text.detach()


_WRITERS: dict[str, Writer] = {
    ".json": write_chrome,
    ".json.gz": _write_zipped,
    ".vcd": _write_vcd,
}


def _check(path: Path, what: str, suffixes: tuple[str, ...]) -> str:
    """Return the suffix of a path that can be written to."""
    if path.is_dir():
        raise OutputError(f"cannot write '{path}': it is a directory, name a file in it")
    check_place(path)
    for suffix in suffixes:
        if path.name.lower().endswith(suffix):
            return suffix
    raise OutputError(
        f"cannot write {what} to '{path}': its suffix must be one of {', '.join(suffixes)}"
    )
