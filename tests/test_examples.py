"""The examples run, and what the documents show is what the code does."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fuseflow
from docs import generate
from gen.bundle import Bundle

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


def test_the_readme_shows_the_graph_of_today() -> None:
    assert generate.picture() in (ROOT / "README.md").read_text()


def test_python_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = [line for line in code.splitlines() if "verify()" not in line]
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    run = names["run"]
    assert isinstance(run, fuseflow.RunResult)
    np.testing.assert_array_equal(run.result.to_numpy(), [4, 1, 9])


def test_commands_in_the_readme_are_those_of_the_program() -> None:
    shown = re.findall(r"^    fuseflow (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert shown == re.findall(r"^## (\w+)$", generate.cli_page(), re.MULTILINE)


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_kernel_table_compiles_and_is_measured() -> None:
    measured = (ROOT / "docs" / "benchmarks.md").read_text()
    with (ROOT / "examples" / "kernels.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            formats = dict(part.split("=") for part in row["formats"].split(";"))
            program = fuseflow.compile(row["program"], formats=formats, order=row["order"])
            assert ",".join(program.order) == row["order"]
            assert f"| {row['id']} {row['name']} |" in measured
