"""Every command that takes a statement takes a graph of Custard as well."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fuseflow import Tensor
from fuseflow.cli import app
from fuseflow.samml.text import parse_graph
from tests.interchange.kernels import KERNELS, to_gv


@pytest.fixture
def graph(tmp_path: Path) -> list[str]:
    """A file with its operands, as arguments."""
    kernel = KERNELS["mat_vecmul_ji"]
    path = tmp_path / "spmv.gv"
    path.write_text(to_gv(kernel.graph))
    arguments = [str(path)]
    for name, array in {"B": [[1, 0, 2], [0, 0, 3]], "c": [4, 5, 6]}.items():
        file = tmp_path / f"{name}.mtx"
        Tensor.from_numpy(name, array).write(file)
        arguments += ["--tensor", f"{name}={file}"]
    return arguments


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_run(graph: list[str], tmp_path: Path) -> None:
    text = invoke("run", *graph, "--result", str(tmp_path / "x.mtx"))
    assert "x(i) from B(i,j), c(j)" in text
    assert Tensor.read(tmp_path / "x.mtx", "s").to_numpy().tolist() == [16, 18]


def test_run_with_the_statement(graph: list[str], tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    invoke("run", *graph, "--einsum", KERNELS["mat_vecmul_ji"].statement, "--json", str(figures))
    assert json.loads(figures.read_text())["max_error"] == 0


def test_compile(graph: list[str], tmp_path: Path) -> None:
    invoke("compile", *graph, "-o", str(tmp_path / "out"))
    compiled = parse_graph((tmp_path / "out" / "graph.samml").read_text())
    assert compiled.tensor("B").positions == (2, 3)


def test_generate(graph: list[str], tmp_path: Path) -> None:
    invoke("generate", *graph, "-o", str(tmp_path / "out"))
    assert (tmp_path / "out" / "ff_x.v").exists()


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--order", "i,j"], "leave --format and --order out"),
        (["--format", "x=s"], "leave --format and --order out"),
        (["--tensor", "q=3"], "has no such tensor, only B, c"),
        (["--einsum", "x(i) = B(j,i) * c(j)"], "computes: x(i) from B(i,j), c(j)"),
        (["--dim", "z=3"], "has no index 'z'"),
    ],
)
def test_options_that_do_not_fit(graph: list[str], arguments: list[str], wanted: str) -> None:
    result = CliRunner().invoke(app, ["run", graph[0], *arguments])
    assert result.exit_code == 1
    assert wanted in result.output


def test_a_statement_for_a_statement() -> None:
    result = CliRunner().invoke(app, ["run", "x(i) = b(i)", "--einsum", "x(i) = b(i)"])
    assert result.exit_code == 1
    assert "that is for graphs (.gv files)" in result.output
