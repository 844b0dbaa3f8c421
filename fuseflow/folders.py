"""The folders of a program: its graphs, or their Verilog, and how they belong together.

One graph is written flat.  Several are written in a folder each, called after their place and
their last result, such as ``1_T0``, beside ``program.json``.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuseflow.compiler.program import Program
from fuseflow.compiler.program_text import print_program
from fuseflow.kernel import Kernel
from fuseflow.samml.dot import to_dot
from fuseflow.samml.errors import ParseError
from fuseflow.samml.files import write_directory
from fuseflow.samml.graph import Graph, Role
from fuseflow.samml.json_form import to_json
from fuseflow.samml.text import parse_graph, print_graph
from gen.bundle import PROGRAM, Bundle, generate, generate_all, written_before
from gen.manifest import GENERATOR

GRAPH = "graph.samml"
TABLE = "table.txt"
_FORMS = {GRAPH: print_graph, "graph.json": to_json, "graph.dot": to_dot}


@dataclass(frozen=True)
class Graphs:
    """The graphs of a program.

    Attributes
    ----------
    graphs : dict of str to Graph
        By kernel, in order.
    manifest : dict
        How they belong together; empty for one.
    tables : dict of str to str
        The fusion tables of those that have one.
    """

    graphs: dict[str, Graph]
    manifest: dict[str, Any] = field(default_factory=dict[str, Any])
    tables: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def read(cls, directory: Path) -> "Graphs":
        """Read what `write` wrote.

        Raises
        ------
        ParseError, GraphError
            The directory holds something else.
        """
        if not (directory / PROGRAM).exists():
            return cls({"": _read_graph(directory)})
        try:
            manifest = json.loads((directory / PROGRAM).read_text(encoding="utf-8"))
            names = [str(region["directory"]) for region in manifest["regions"]]
            if any(Path(name).name != name for name in names):
                raise ValueError
        except (ValueError, KeyError, TypeError):
            raise ParseError(
                f"'{directory / PROGRAM}' describes no program: write it with `fuseflow compile`"
            ) from None
        return cls({name: _read_graph(directory / name) for name in names}, manifest)

    def write(self, directory: Path) -> None:
        """Write every graph as text, JSON and DOT, and its table: all of them, or nothing.

        Raises
        ------
        OutputError
            The directory cannot take them.
        """
        texts = {
            (name, file): form(graph)
            for name, graph in self.graphs.items()
            for file, form in _FORMS.items()
        }
        texts |= {(name, TABLE): table for name, table in self.tables.items()}
        files = {
            f"{name}/{file}" if self.manifest else file: text
            for (name, file), text in texts.items()
        }
        if self.manifest:
            listed = {**self.manifest, "files": sorted((*files, PROGRAM))}
            files[PROGRAM] = json.dumps(listed, indent=1) + "\n"
        write_directory(directory, files, {*_FORMS, TABLE, *written_before(directory)})

    def generate(self, directory: Path) -> dict[str, Bundle]:
        """Write the Verilog bundle of every graph, by kernel: all of them, or nothing.

        Raises
        ------
        OutputError
            The directory cannot take them.
        """
        if self.manifest:
            return generate_all(self.graphs, self.manifest, directory)
        return {name: generate(graph, directory) for name, graph in self.graphs.items()}


def describe(program: Program, kernels: Sequence[Kernel]) -> dict[str, Any]:
    """Say how the graphs of a program belong together.

    Parameters
    ----------
    program : Program
    kernels : sequence of Kernel
        In the order in which they run.
    """
    readers = {
        name: [each.name for each in kernels if name in each.inputs]
        for kernel in kernels
        for name in kernel.targets
    }
    return {
        "generator": GENERATOR,
        "program": print_program(program),
        "value": kernels[0].graph.value.name,
        "results": list(program.results),
        "regions": [_region(kernel) for kernel in kernels],
        "shared": {
            name: {
                "stored_by": kernel.name,
                "read_by": readers[name],
                "format": str(form),
                "result": name in program.results,
            }
            for kernel in kernels
            for name, form in kernel.lowered.wanted.items()
            if readers[name]
        },
    }


def _region(kernel: Kernel) -> dict[str, Any]:
    """Describe a region: an array whose tensor or format differs is converted by the host."""
    sources = {copy.name: copy.tensor for copy in kernel.lowered.copies}
    reads, writes = (
        [tensor for tensor in kernel.graph.tensors if tensor.role == role]
        for role in (Role.INPUT, Role.RESULT)
    )
    return {
        "directory": kernel.name,
        "statements": list(map(str, kernel.statements)),
        "order": list(kernel.order),
        "reads": {
            each.name: {
                "tensor": sources.get(each.name, each.name),
                "format": str(each.format),
                "fill": str(each.fill),
            }
            for each in reads
        },
        "writes": {
            each.name: {
                "format": str(each.format),
                "wanted": str(kernel.lowered.wanted[each.name]),
                "fill": str(each.fill),
            }
            for each in writes
        },
    }


def _read_graph(directory: Path) -> Graph:
    path = directory / GRAPH
    if not path.exists():
        raise ParseError(f"'{directory}' holds no {GRAPH}: write one with `fuseflow compile`")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ParseError(f"'{path}' is not text: write it with `fuseflow compile`") from None
    return parse_graph(text, str(path))
