"""A bundle: the directory with everything that is generated from one graph."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuseflow.samml.errors import FuseFlowError
from fuseflow.samml.files import write_directory
from fuseflow.samml.graph import Graph
from fuseflow.samml.text import print_graph
from gen.manifest import GENERATOR, manifest
from gen.register_docs import c_header, markdown
from gen.verilog import verilog

MANIFEST = "manifest.json"


class BundleError(FuseFlowError):
    """A directory holds no bundle."""


@dataclass(frozen=True)
class Bundle:
    """A generated bundle.

    Attributes
    ----------
    directory : Path
    top : str
        Name of the top module.
    manifest : dict
        The contents of ``manifest.json``.
    """

    directory: Path
    top: str
    manifest: dict[str, Any]

    @property
    def verilog(self) -> Path:
        """The Verilog file."""
        return self.directory / f"{self.top}.v"

    @classmethod
    def load(cls, directory: Path | str) -> "Bundle":
        """Open a bundle that was generated before.

        Raises
        ------
        BundleError
            The directory holds none.
        """
        path = Path(directory)
        description = _read_manifest(path)
        if description is None:
            raise BundleError(f"'{directory}' holds no bundle: generate one there first")
        return cls(path, description["top"], description)


def generate(graph: Graph, directory: Path | str, *, gated: bool = False) -> Bundle:
    """Write a graph's bundle: all of it, or nothing.

    Parameters
    ----------
    graph : Graph
    directory : Path or str
        Made with its parents; an earlier bundle there is replaced.
    gated : bool
        Build the benches' gates.

    Raises
    ------
    OutputError
        The directory holds something that is not an earlier bundle.
    GraphError
        The graph is ill-formed, never ends, has an operation without RTL, or two of its names
        clash in the RTL.
    """
    description = manifest(graph, gated=gated)
    top = description["top"]
    files = {
        f"{top}.v": verilog(graph, gated=gated),
        f"{top}.h": c_header(description),
        "graph.samml": print_graph(graph),
        "registers.md": markdown(description),
    }
    description["files"] = sorted((*files, MANIFEST))
    files[MANIFEST] = json.dumps(description, indent=1) + "\n"
    target = Path(directory)
    earlier = _read_manifest(target)
    write_directory(target, files, earlier["files"] if earlier else ())
    return Bundle(target, top, description)


def _read_manifest(directory: Path) -> dict[str, Any] | None:
    try:
        description = json.loads((directory / MANIFEST).read_text())
    except (OSError, ValueError, RecursionError):
        return None
    match description:
        case {"generator": generator, "top": str(), "files": [*names]} if (
            generator == GENERATOR and all(isinstance(name, str) for name in names)
        ):
            return description
        case _:
            return None
