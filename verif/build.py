"""Builds a simulation of a tile once per content, and keeps it."""

import fcntl
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocotb_tools.runner import get_runner

from fuseflow.samml.errors import ToolError
from verif.harness import TOP
from verif.toolchain import environment, require_tools

_REASON = re.compile("rror|not found")
"""What is in the line of a build's output that says why it failed."""


@dataclass(frozen=True)
class Simulation:
    """A built simulation.

    Attributes
    ----------
    directory : Path
    seconds : float
        What the build took; 0 where it was found in the cache.
    traceable : bool
        Whether it can write waves.
    """

    directory: Path
    seconds: float
    traceable: bool = False


def cache_directory() -> Path:
    """Return where builds are kept: ``FUSEFLOW_CACHE``, else the user's cache directory."""
    if "FUSEFLOW_CACHE" in os.environ:
        return Path(os.environ["FUSEFLOW_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "fuseflow"


def build(sources: dict[str, str], *, optimize: bool = True, traceable: bool = False) -> Simulation:
    """Build a simulation from Verilog texts, or find it in the cache.

    Parameters
    ----------
    sources : dict of str to str
        File name to text; one of them holds the harness.
    optimize : bool
        Whether the C++ compiler optimizes; short runs are sooner done without.
    traceable : bool
        Whether the simulation can write waves, which makes it slower even where it does not.

    Raises
    ------
    ToolError
        A tool is missing, or the build failed (the message names the log).
    """
    tools = require_tools()
    tool = tools["verilator"]
    release = importlib.metadata.version("cocotb")
    key = [sources, optimize, traceable, tool.version, release, _FLAGS]
    directory = cache_directory() / "rtl" / _digest(key)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _locked(directory.with_suffix(".lock")):
        # Objects are left where a build was cut off, and then the simulation may be half-linked.
        if (directory / TOP).exists() and not any(directory.glob("*.o")):
            return Simulation(directory, 0.0, traceable)
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        started = time.perf_counter()
        files = []
        for name, text in sources.items():
            (directory / name).write_text(text)
            files.append(directory / name)
        key = [tool.version, str(tool.path), tools["g++"].version, traceable]
        runtime = cache_directory() / "runtime" / _digest(key)
        _copy_objects(runtime, directory)
        env = environment(tool, optimize=optimize)
        _run_verilator(directory, files, env, traceable=traceable)
        _copy_objects(directory, runtime)
        for leftover in (*directory.glob("*.o"), *directory.glob("*.a"), *directory.glob("*.gch")):
            leftover.unlink()
        return Simulation(directory, time.perf_counter() - started, traceable)


def _digest(key: list[Any]) -> str:
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:24]


def _copy_objects(source: Path, target: Path) -> None:
    """Copy the objects of Verilator's own runtime, which are the same in every build.

    They are more than half of the compile time of a small tile.  Their makefile wants them newer
    than itself, and is written later than they are copied: hence a time in the future.
    """
    target.mkdir(parents=True, exist_ok=True)
    for path in source.glob("verilated*.o"):
        if not (target / path.name).exists():
            scratch = target / f".{path.name}-{os.getpid()}"
            shutil.copyfile(path, scratch)
            later = time.time() + 3600
            os.utime(scratch, (later, later))
            scratch.replace(target / path.name)


# Without warnings, since the Verilog is generated; and with only the harness public, which
# makes the simulation three times as fast.
_FLAGS = ("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-MULTIDRIVEN", "--no-public-flat-rw", "-O3")


def _run_verilator(
    directory: Path, files: Sequence[Path], env: dict[str, str], *, traceable: bool
) -> None:
    log = directory / "build.log"
    with _environment(env), _silent():
        try:
            get_runner("verilator").build(
                sources=list(files), hdl_toplevel=TOP, build_dir=directory, build_args=list(_FLAGS),
                always=True, log_file=log, waves=traceable,
            )  # fmt: skip
        except (RuntimeError, SystemExit) as error:
            text = log.read_text() if log.exists() else ""
            first = next(filter(_REASON.search, text.splitlines()), str(error))
            raise ToolError(f"the Verilator build failed: {first.strip()} (log: {log})") from None


@contextmanager
def _locked(path: Path):
    """Hold an exclusive lock, so that two processes do not build the same thing."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _environment(changes: dict[str, str]):
    """Set environment variables for a while; the runner reads the process's own."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _silent():
    """Send this process's standard output to nowhere: the runner prints its commands."""
    sys.stdout.flush()
    saved = os.dup(1)
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            os.dup2(saved, 1)
            os.close(saved)
