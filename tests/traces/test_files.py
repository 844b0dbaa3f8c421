"""Trace files through the API and the command line."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fuseflow
from fuseflow import FuseFlowError
from fuseflow.cli import app
from fuseflow.samml.files import OutputError
from fuseflow.traces import check_trace_target
from tests.traces.runs import matrix

STATEMENT = "X(i,j) = B(i,k) * C(k,j)"


@pytest.fixture
def operands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name in "BC":
        matrix(name, 9, 9).write(f"{name}.mtx")
    return ["--tensor", "B=B.mtx", "--tensor", "C=C.mtx"]


def call(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def test_the_suffix_decides_the_format(tmp_path: Path) -> None:
    run = fuseflow.compile(STATEMENT, matrix("B", 9, 9), matrix("C", 9, 9)).run(trace=True)
    for name in ("a.json", "a.json.gz", "b.json.gz", "a.vcd"):
        run.write_trace(tmp_path / name)
    plain = (tmp_path / "a.json").read_bytes()
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == plain
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
    assert json.loads(plain)["traceEvents"]
    assert (tmp_path / "a.vcd").read_text().startswith("$timescale")
    assert len(list(tmp_path.iterdir())) == 4


def test_a_trace_that_fails_leaves_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fuseflow.compile(STATEMENT, matrix("B", 9, 9), matrix("C", 9, 9)).run(trace=True)
    (tmp_path / "a.json").write_text("earlier")
    run.model.traces.popitem()
    with pytest.raises(KeyError):
        run.write_trace(tmp_path / "a.json")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["earlier"]


def test_a_run_without_traces_says_so(tmp_path: Path) -> None:
    run = fuseflow.compile(STATEMENT, matrix("B", 9, 9), matrix("C", 9, 9)).run()
    with pytest.raises(FuseFlowError, match="trace=True"):
        run.stalls()
    with pytest.raises(OutputError, match=r"\.json, \.json\.gz, \.vcd"):
        check_trace_target("x.fst")


def test_run_writes_a_trace_and_the_same_figures(operands: list[str]) -> None:
    plain = json.loads(call("run", STATEMENT, *operands, "--json", "-"))
    traced = json.loads(call("run", STATEMENT, *operands, "--json", "-", "--trace", "t.json"))
    assert json.loads(Path("t.json").read_text())["otherData"]["cycles"] == plain["model_cycles"]
    del plain["seconds"], traced["seconds"]
    assert traced == plain


def test_run_says_what_held_it_back(operands: list[str]) -> None:
    text = call("run", STATEMENT, *operands, "--stalls", "--json", "f.json")
    assert "critical path of" in text
    assert "\n  because " in text
    figures = json.loads(Path("f.json").read_text())
    stalls = figures["stalls"]
    assert sum(part["cycles"] for part in stalls["path"]) == figures["model_cycles"]
    assert {part["why"] for part in stalls["path"]} <= {"busy", "head", "room", "bank"}
    assert [unit["unit"] for unit in stalls["units"]] == [u["unit"] for u in figures["units"]]


@pytest.mark.parametrize("place", ["t.fst", "t", "folder.vcd"])
def test_a_bad_place_is_refused_before_the_run(operands: list[str], place: str) -> None:
    Path("folder.vcd").mkdir()
    error = call("run", STATEMENT, *operands, "--trace", place, "--result", "x.mtx", code=1)
    assert error.startswith("error: cannot write ")
    assert place in error
    assert len(error.splitlines()) == 1
    assert not Path("x.mtx").exists()
