"""Runs what the documents show: fenced blocks of Python, and of statements with their facts."""

import contextlib
import io
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from typer.testing import CliRunner, Result

from fuseflow.cli import app
from fuseflow.compiler.expr import Statement
from fuseflow.samml.graph import Graph, Node

PLUMBING = {
    "root", "array", "repeat", "drop_value", "drop_empty", "write_crd", "write_val",
}  # fmt: skip
SIZES = {"i": 3, "j": 4, "k": 5, "l": 2}


@dataclass
class Example:
    """A statement and the lines below it, ``key: value``."""

    text: str
    facts: dict[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        return " ".join([self.text, *self.options])

    @property
    def options(self) -> list[str]:
        return shlex.split(self.facts.get("options", ""))


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def links(page: Path) -> list[tuple[str, str]]:
    """Return the files that a page links to, each with the place in it, if any."""
    prose = re.sub(r"```.*?```|`[^`]*`|\n    [^\n]*", "", page.read_text(), flags=re.DOTALL)
    return re.findall(r"\]\((?!\w+://)([^)#]*)#?([^)]*)\)", prose)


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    found = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in found}


def examples(page: Path, language: str = "fuseflow") -> list[Example]:
    """Return the statements, or programs of one line, of a page's blocks of a language."""
    found: list[Example] = []
    for line in "".join(blocks(page, language)).splitlines():
        if line.startswith(" "):
            key, _, value = line.strip().partition(":")
            found[-1].facts[key] = value.strip()
        else:
            found.append(Example(line))
    return found


def call(*arguments: str | Path) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, list(map(str, arguments)))


def operands(statement: Statement, folder: Path) -> list[str]:
    """Write a small random file for every operand, and return the options that name them."""
    rng = np.random.default_rng(5)
    options: list[str] = []
    for name, indices in {each.tensor: each.indices for each in statement.operands}.items():
        shape = [SIZES[index] for index in indices]
        source = "2"
        if shape:
            stored = np.argwhere(rng.random(shape) < 0.5)
            lines = [" ".join(map(str, [*(row + 1), rng.integers(1, 5)])) for row in stored]
            path = folder / f"{name}.tns"
            path.write_text("\n".join([f"# shape {' '.join(map(str, shape))}", *lines, ""]))
            source = str(path)
        options += ["--tensor", f"{name}={source}"]
    return options


def working_nodes(graph: Graph) -> list[str]:
    """Return the nodes that visit and compute, each with its operation."""
    return [_described(node) for node in graph.nodes if node.primitive not in PLUMBING]


def _described(node: Node) -> str:
    words = [node.primitive]
    if node.primitive in ("alu", "unary", "reduce", "accumulate"):
        words.append(str(node.params.get("op", "sum")))
    words += [word for word in ("wide", "relu", "multiply") if node.params.get(word)]
    return " ".join(words)


def run_python(codes: Sequence[str]) -> dict[str, object]:
    """Run the blocks of a page in one namespace; what they print must be what they say."""
    names: dict[str, object] = {}
    for code in codes:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        said = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
        assert printed.getvalue().splitlines() == said
    return names
