"""Closed-form runs of programs: results, figures and options."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fuseflow
from fuseflow.cli import app
from fuseflow.figures import run_figures
from fuseflow.outcome import RunResult
from fuseflow.samml.errors import SimulationError, VerificationError
from fuseflow.tensor import Tensor

STATEMENTS = "T(i,f) = relu(X(i,m) * W(m,f)); Y(i,m) = T(i,f) * V(f,m)"


@pytest.fixture(autouse=True)
def _looks_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuseflow.closed.CHEAP", 0)


def compiled(sign: float = 1.0) -> fuseflow.Program:
    rng = np.random.default_rng(4)
    operands = [
        Tensor.from_numpy(name, sign * rng.standard_normal(shape), "dense", value="fp32")
        for name, shape in (("X", (60, 7)), ("W", (7, 9)), ("V", (9, 5)))
    ]
    return fuseflow.compile(STATEMENTS, *operands, formats={"T": "dense", "Y": "dense"})


def figures(program: fuseflow.Program, run: RunResult) -> dict[str, object]:
    found = run_figures(program, run)
    del found["seconds"]
    found["closed_form"] = {}
    for region in found["regions"]:
        region["skipped"] = []
    return found


def words(run: RunResult) -> Sequence[int]:
    return run.result.levels.vals.tolist()


def test_figures_and_words_are_those_of_the_token_level() -> None:
    program = compiled()
    token, closed = program.run(closed_form=False), program.run(closed_form=True)
    assert [len(region.skipped) > 0 for region in closed.regions] == [True, True]
    assert not any(region.skipped for region in token.regions)
    assert figures(program, token) == figures(program, closed)
    assert words(token) == words(closed)
    assert closed.max_error is not None


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_ideal_cycles_are_those_of_both_ideal_runs(share: float) -> None:
    """Rows of few products wait for the banks of rows that are emitted densely."""
    from sim_models.cycle.simulate import simulate

    kept = np.random.default_rng(8).random((40, 30)) < share
    operands = [
        Tensor.from_numpy("A", np.where(kept, 1.5, 0), "CSR", value="fp32"),
        Tensor.from_numpy("B", np.where(kept.T[:, :12], 2.5, 0), "CSR", value="fp32"),
    ]
    program = fuseflow.compile("X(i,j) = A(i,k) * B(k,j)", *operands, formats={"X": "dense"})
    run = program.run()
    images = {tensor.name: tensor.image() for tensor in operands}
    free, banks = (
        simulate(run.units, images, {"X": (40, 12)}, ideal=ideal)
        for ideal in ("unlimited", "banks")
    )
    assert (run.ideal, run.ideal_banks) == (free.cycles, banks.cycles)
    assert any(unit.bank for unit in banks.units) == (share < 0.5)


def test_a_measured_run_has_golden_values() -> None:
    program = compiled()
    closed = program.measure(closed_form=True)
    assert closed.regions[1].skipped
    assert words(closed) == words(program.run(closed_form=False))


def test_small_runs_are_at_token_level_unasked() -> None:
    assert not any(region.skipped for region in compiled().run().regions)


def test_graphs_that_fire_often_are_closed_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuseflow.closed.WORTH", 1000)
    assert all(region.skipped for region in compiled().run().regions)
    assert not any(region.skipped for region in compiled().run(trace=True).regions)


def test_a_traced_run_has_no_closed_form() -> None:
    with pytest.raises(SimulationError, match="run it without closed_form"):
        compiled().run(trace=True, closed_form=True)


def test_words_before_the_first_skip_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    from sim_models import sliced

    right = sliced.evaluate

    def wrong(*args: object) -> sliced.SlicedResult:
        found = right(*args)  # pyright: ignore[reportArgumentType]
        for image in found.outputs.values():
            image.vals[0] ^= 1  # pyright: ignore[reportIndexIssue]
        return found

    monkeypatch.setattr(sliced, "evaluate", wrong)
    with pytest.raises(VerificationError, match="disagree"):
        compiled().run(closed_form=True)


def test_the_command(tmp_path: Path) -> None:
    paths = []
    for tensor in compiled().tensors.values():
        path = tmp_path / f"{tensor.name}.npz"
        tensor.write(path)
        paths += ["--tensor", f"{tensor.name}={path}"]
    command = ["run", STATEMENTS, *paths, "--type", "fp32", "--format", "T=dense"]
    target = str(tmp_path / "run.json")
    shown = CliRunner().invoke(app, [*command, "--closed-form", "--json", target])
    assert shown.exit_code == 0, shown.output
    found = json.loads(Path(target).read_text())
    assert found["closed_form"]["1_T"].startswith("scan_X_i ")
    assert found["regions"][0]["skipped"][0]["loop"] == "scan_X_i"
    assert "closed_form" in shown.output
    shown = CliRunner().invoke(app, [*command, "--no-closed-form", "--json", "-"])
    assert json.loads(shown.stdout)["closed_form"] == {}
