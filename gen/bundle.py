"""A bundle: the directory with everything that is generated from one graph.

The graphs of a program have a folder each, and beside them stands how they belong together.
"""

import json
from collections.abc import Mapping
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
PROGRAM = "program.json"
"""What a directory of several graphs holds beside their folders."""


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
        description = _read_manifest(path / MANIFEST)
        if description is None or not isinstance(description.get("top"), str):
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
        The graph is ill-formed, never ends, or two of its names
        clash in the RTL.
    """
    description, files = _contents(graph, gated=gated)
    target = Path(directory)
    write_directory(target, files, written_before(target))
    return Bundle(target, description["top"], description)


def generate_all(
    graphs: Mapping[str, Graph], program: Mapping[str, Any], directory: Path | str
) -> dict[str, Bundle]:
    """Write the bundles of several graphs, each in a folder of its name: all of them, or nothing.

    Parameters
    ----------
    graphs : mapping of str to Graph
    program : mapping
        Says how they belong together; its own ``files`` are replaced by those that are written.
    directory : Path or str
        Made with its parents; earlier bundles there are replaced.

    Raises
    ------
    OutputError, GraphError
        See `generate`.
    """
    target = Path(directory)
    files: dict[str, str] = {}
    bundles: dict[str, Bundle] = {}
    for name, graph in graphs.items():
        description, contents = _contents(graph, gated=False)
        files |= {f"{name}/{file}": text for file, text in contents.items()}
        bundles[name] = Bundle(target / name, description["top"], description)
    listed = {**program, "generator": GENERATOR, "files": sorted((*files, PROGRAM))}
    files[PROGRAM] = json.dumps(listed, indent=1) + "\n"
    write_directory(target, files, written_before(target))
    return bundles


def written_before(directory: Path) -> list[str]:
    """Return the files that a directory's own description lists, none where it has none."""
    found = (_read_manifest(directory / name) for name in (MANIFEST, PROGRAM))
    return [file for each in found if each is not None for file in each["files"]]


def _contents(graph: Graph, *, gated: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a bundle's description, and its files."""
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
    return description, files


def _read_manifest(path: Path) -> dict[str, Any] | None:
    try:
        description = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    match description:
        case {"generator": generator, "files": [*names]} if generator == GENERATOR and all(
            isinstance(name, str) for name in names
        ):
            return description
        case _:
            return None
