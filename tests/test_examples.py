"""The examples run, and what the documents show is what the code does."""

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import fuseflow
from docs import generate
from fuseflow.comparison.table import kernels
from gen.bundle import Bundle
from tests.pages import blocks, call, headings, links, run_python

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.rtl
def test_karate(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "karate.py", "--output", tmp_path / "out"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    rows = [line for line in done.stdout.splitlines() if line.startswith("│")]
    assert len(rows) == 3
    for row in rows:
        _, _, _, model, rtl, ideal, exact, _ = row.strip("│").replace(" ", "").split("│")
        assert model == rtl
        assert int(ideal) <= int(model)
        assert exact == "yes"
    folders = sorted((tmp_path / "out").iterdir())
    assert len(folders) == 3
    for folder in folders:
        assert str(Bundle.load(folder).verilog) in done.stdout


def test_pagerank(tmp_path: Path) -> None:
    """It ends at networkx's ranks in every variant, each with its cost."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "pagerank.py"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 9
    errors = [float(error) for error in re.findall(r"(\S+) from networkx", done.stdout)]
    assert len(errors) == 3
    assert max(errors) < 1e-5
    figures = [re.findall(r"\d+", line.replace(",", "")) for line in lines[1::3]]
    cycles, converting = ([int(row[k]) for row in figures] for k in (0, 1))
    assert cycles[1] < cycles[2] < cycles[0]
    assert converting[0] == converting[1] > converting[2] == 0
    assert all("fired" in line for line in lines[2::3])


def test_the_readme_shows_the_graph_of_today() -> None:
    assert generate.picture() in (ROOT / "README.md").read_text()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, as the root of the repository is for a reader."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def test_python_in_the_readme_prints_what_it_says(root: Path) -> None:
    names = run_python(blocks(ROOT / "README.md", "python"))
    assert isinstance(names["program"], fuseflow.Program)
    assert (root / "rtl" / "manifest.json").exists()


@pytest.mark.parametrize("page", ["interchange", "tensors"])
def test_python_on_a_page_prints_what_it_says(root: Path, page: str) -> None:
    run_python(blocks(ROOT / "docs" / f"{page}.md", "python"))


def test_python_on_the_page_of_models_prints_what_it_says(root: Path) -> None:
    pytest.importorskip("torch_mlir", reason="needs torch-mlir")
    run_python(blocks(ROOT / "docs" / "models.md", "python"))
    assert (root / "layer_rtl" / "manifest.json").exists()


def _commands(page: str) -> list[list[str]]:
    shown = re.findall(r"^    (fuseflow .*)$", (ROOT / page).read_text(), re.MULTILINE)
    return [shlex.split(line)[1:] for line in shown]


def test_commands_in_the_readme_are_those_of_the_program() -> None:
    listed = re.findall(r"^## (\w+)$", generate.cli_page(), re.MULTILINE)
    assert list(dict.fromkeys(command[0] for command in _commands("README.md"))) == listed


@pytest.mark.parametrize(
    "page", ["README.md", "docs/traces.md", "docs/interchange.md", "docs/models.md"]
)
def test_commands_on_a_page_run(root: Path, page: str) -> None:
    """All but those that need the tools of the RTL: their options are read, no more."""
    commands = _commands(page)
    assert commands
    for command in commands:
        if command[0] in ("verify", "doctor"):
            command = [*command, "--help"]
        if any(word.endswith(".mlir") for word in command) and find_spec("torch_mlir") is None:
            continue
        ran = call(*command)
        assert ran.exit_code == 0, ran.output


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")))
def test_links_lead_somewhere(page: Path) -> None:
    for target, place in links(page):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not place or place in headings(linked), f"{target}#{place}"


def test_what_is_measured_are_kernels_of_the_table() -> None:
    measured = (ROOT / "docs" / "benchmarks.md").read_text().partition("## Speed")[0]
    names = set(re.findall(r"^\| (?:\d+ )?([a-z]\w+) \| (?:karate|random)", measured, re.MULTILINE))
    assert len(names) > 10
    assert names <= {kernel.name for kernel in kernels()}
