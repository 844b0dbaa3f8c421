"""Rows beside a peer's figures, what they are drawn and printed as, and the command."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fuseflow.cli import app
from fuseflow.comparison.best import find_best
from fuseflow.comparison.compare import Comparison, compare
from fuseflow.comparison.data import families
from fuseflow.comparison.plot import write_plot
from fuseflow.comparison.render import render
from fuseflow.comparison.run import Row, compile_kernel, measure
from fuseflow.comparison.table import select
from fuseflow.samml.values import FP32, INT32
from tests.comparison.files import write_matrix, write_peers

MATMUL = "B=ss01 C=ss01 X=ss01"


@pytest.fixture
def peers(tmp_path: Path) -> Path:
    inputs = tmp_path / "inputs"
    write_matrix(inputs, "a_B", (9, 8), 20)
    write_matrix(inputs, "a_C", (8, 7), 20)
    write_matrix(inputs, "a_vec", (8,), 4)
    return write_peers(
        tmp_path,
        f'matmul,ikj,,"a_B*a_C",{MATMUL},0,,4000',
        f'matmul,ikj,,"a_B*a_C",{MATMUL},1,2,5000',
        'mat_vecmul,ij,,"a_B,a_vec",B=ss01 c=s x=s,0,,40',
        "vec_elemmul-skip,i,,a,,0,,9",
    )


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


# --- rows --------------------------------------------------------------------------------


def test_every_row_of_the_peer_is_beside_the_same_run(peers: Path) -> None:
    outcome = compare(select(["matmul_ikj", "mat_vecmul_ij"]), INT32, peers=peers)
    unbounded, bounded, small = outcome.rows
    assert replace(unbounded, peer=5000, depth=2) == bounded
    assert (unbounded.peer, unbounded.depth, small.peer) == (4000, None, 40)
    assert unbounded.cycles is not None
    assert unbounded.best is not None
    assert unbounded.best <= unbounded.cycles
    assert small.best is None
    same, finite, best = outcome.means
    assert (same.rows, finite.rows, best.rows) == (1, 1, 1)
    assert same.ratio == pytest.approx(unbounded.cycles / 4000)
    assert finite.ratio == pytest.approx(unbounded.cycles / 5000)
    assert best.ratio == pytest.approx(unbounded.best / 4000)
    assert outcome.left_out == ()


def test_means_are_geometric() -> None:
    rows = [Row("k", "d", "i", "", cycles=cycles, peer=4000) for cycles in (2000, 8000)]
    (mean,) = Comparison(FP32, tuple(rows)).means
    assert mean.ratio == pytest.approx(1)


def test_kernels_that_no_peer_measured_run_on_files_that_fit(peers: Path) -> None:
    outcome = compare(select(["vec_identity", "vec_elemmul", "tensor3_ttv"]), INT32, peers=peers)
    assert [(row.kernel, row.data) for row in outcome.rows] == [
        ("vec_elemmul", "a_vec,a_vec"),
        ("vec_identity", "a_vec"),
    ]
    assert [each.what for each in outcome.left_out] == ["vec_elemmul-skip", "tensor3_ttv"]


def test_a_failing_kernel_is_a_row(peers: Path) -> None:
    (peers.parent / "inputs" / "a_C.mtx").unlink()
    outcome = compare(select(["matmul_ikj", "mat_vecmul_ij"]), INT32, peers=peers)
    assert outcome.failed
    assert ["has no a_C.mtx" in row.error for row in outcome.rows] == [True, True, False]
    assert "failed: matmul_ikj on a_B*a_C" in render(outcome, "text")


def test_random_operands_without_files() -> None:
    outcome = compare(select(["vec_elemadd"]), FP32, seed=3)
    assert [row.data for row in outcome.rows] == ["karate", "random 100", "random 300"]
    for row in outcome.rows:
        assert row.cycles is not None
        assert row.ideal is not None
        assert row.ideal <= row.cycles
        assert row.max_error is not None
        assert row.error_bound is not None
        assert 0 < row.max_error <= row.error_bound


def test_the_best_is_found_and_true() -> None:
    (inner,) = select(["matmul_ijk"])
    tensors = families(1)[0].operands(inner, FP32)
    own = compile_kernel(inner, tensors, FP32).run().cycles
    best = find_best(inner, tensors, FP32, own)
    assert best.cycles < own / 4
    stored = [tensor.convert(best.kernel.formats[tensor.name]) for tensor in tensors]
    assert compile_kernel(best.kernel, stored, FP32).run().cycles == best.cycles
    again = find_best(best.kernel, stored, FP32, best.cycles)
    assert again.cycles == best.cycles


# --- forms -------------------------------------------------------------------------------


def test_markdown_and_text_hold_the_figures(peers: Path) -> None:
    outcome = compare(select(["matmul_ikj"]), INT32, peers=peers)
    markdown, text = (render(outcome, form).splitlines() for form in ("markdown", "text"))
    assert markdown[0].startswith("| kernel | data | order | formats | cycles |")
    assert "| RTL" not in markdown[0]
    assert len({line.count("|") for line in markdown[:4]}) == 1
    row = outcome.rows[0]
    assert row.cycles is not None
    assert f"| 4,000 | {row.cycles / 4000:.3f} |" in markdown[2]
    assert "5,000 (depth 2)" in markdown[3]
    assert text[1].split()[:3] == ["matmul_ikj", "a_B*a_C", "i,k,j"]
    assert any("geometric mean" in line for line in text)


def test_json_holds_ratios(peers: Path) -> None:
    figures = json.loads(render(compare(select(["matmul_ikj"]), INT32, peers=peers), "json"))
    assert figures["value_type"] == "int32"
    row = figures["rows"][0]
    assert row["cycles_per_peer"] == row["cycles"] / row["peer"]
    assert row["rtl_cycles"] is None
    assert math.isfinite(figures["means"][0]["ratio"])


def test_json_has_no_infinities() -> None:
    row = Row("k", "d", "i", "", cycles=3, max_error=math.inf, error_bound=0.0, overflow=True)
    outcome = Comparison(FP32, (row,))
    assert json.loads(render(outcome, "json"))["rows"][0]["max_error"] is None
    assert "inf / 0 (overflow)" in render(outcome, "text")


def test_nothing_to_show_is_no_error(peers: Path) -> None:
    outcome = compare(select(["tensor4_elemadd"]), INT32, peers=peers)
    assert not outcome.failed
    for form in ("text", "markdown", "json"):
        assert "no files" in render(outcome, form)


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_plots_repeat_bit_for_bit(peers: Path, tmp_path: Path, suffix: str) -> None:
    outcome = compare(select(["matmul_ikj"]), INT32, peers=peers)
    for name in ("a", "b"):
        write_plot(outcome, tmp_path / f"{name}.{suffix}")
    first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert len(first) > 1000


# --- the command -------------------------------------------------------------------------


def test_command(peers: Path, tmp_path: Path) -> None:
    plot = tmp_path / "p.svg"
    done = call("matmul_ikj", "--type", "int16", "--peers", peers, "--json", "-", "--plot", plot)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["value_type"] == "int16"
    assert "matmul_ikj" in done.stderr
    assert plot.read_text().startswith("<?xml")
    done = call("vec_identity", "--inputs", peers.parent / "inputs", "--format", "markdown")
    assert done.stdout.startswith("| kernel |")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "no kernel is named 'nothing'"),
        (("--format", "html"), "--format html: write one of text, markdown, json"),
        (("--plot", "p.gif"), "'p.gif' is no picture"),
        (("--type", "fp64"), "fp64"),
        (("--peers", "nowhere.csv"), "nowhere.csv"),
        (("--inputs", "nowhere"), "'nowhere' is no directory"),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = call(*arguments)
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert message in line


def test_a_plot_needs_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = call("vec_identity", "--plot", "p.svg")
    assert done.exit_code == 1
    assert done.stderr == "error: --plot needs matplotlib: pip install 'fuseflow[plot]'\n"


def test_a_failing_row_fails_the_command(peers: Path) -> None:
    (peers.parent / "inputs" / "a_B.mtx").write_text("nonsense")
    done = call("matmul_ikj", "--peers", peers)
    assert done.exit_code == 1
    assert "failed: matmul_ikj on a_B*a_C: " in done.stdout
    assert done.stderr == "error: 2 of 2 rows failed: the table says why\n"


@pytest.mark.rtl
def test_rtl_cycles_are_the_models(peers: Path) -> None:
    done = call("vec_identity", "--rtl", "--inputs", peers.parent / "inputs", "--json", "-")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["rows"]
    assert row["rtl_cycles"] == row["cycles"]
    assert "RTL cycles" in done.stderr


def test_a_difference_of_the_rtl_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from fuseflow.api import Program
    from fuseflow.outcome import Seconds, VerifyResult

    def differs(program: Program) -> VerifyResult:
        run = program.run()
        return VerifyResult(run, run.cycles + 1, ("edge a: cycle 3",), Seconds())

    monkeypatch.setattr(Program, "verify", differs)
    (kernel,) = select(["vec_identity"])
    row = measure(kernel, families(1)[0], FP32, rtl=True)
    assert row.error == "model and RTL differ in edge a: cycle 3"
    assert row.cycles is not None
    assert row.rtl_cycles == row.cycles + 1
