"""The command line: every command, its files and figures, and how it reports mistakes."""

import io
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from typer.testing import CliRunner, Result

from fuseflow import Tensor
from fuseflow.cli import app
from fuseflow.progress import progress

MATMUL = "X(i,j) = B(i,k) * C(k,j)"
B = np.array([[2, 0, -1, 0], [0, 0, 0, 0], [0, 5, 0, 7]])
C = np.array([[1, 0], [0, 3], [0, 0], [-2, 4]])
PRODUCT = B @ C
VERIFY_KEYS = {
    "model_cycles", "rtl_cycles", "bit_exact", "max_error", "error_bound", "tokens", "bottleneck",
    "ideal", "ideal_banks", "nnz_out", "primitives", "seconds",
}  # fmt: skip


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def succeed(*arguments: str | Path) -> str:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def fail(*arguments: str | Path) -> str:
    """Return the one line that a mistake is reported in."""
    result = call(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder that holds the operands of the product."""
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("b.mtx", sp.coo_array(B))
    scipy.io.mmwrite("c.mtx", sp.coo_array(C))
    return tmp_path


OPERANDS = ("--tensor", "B=b.mtx", "--tensor", "C=c.mtx")


# --- what commands do --------------------------------------------------------------------


def test_run_prints_figures_and_the_values_of_a_small_result(folder: Path) -> None:
    text = succeed("run", MATMUL, *OPERANDS, "--format", "B=DCSR", "--order", "i,k,j")
    assert "model_cycles" in text
    assert "X(2,1) = 43" in text


def test_json_on_standard_output_stands_alone(folder: Path) -> None:
    result = call("run", MATMUL, *OPERANDS, "--format", "C=CSC", "--json", "-")
    figures = json.loads(result.stdout)
    assert figures["nnz_out"] == np.count_nonzero(PRODUCT)
    assert figures["max_error"] == figures["error_bound"] == 0
    assert figures["model_cycles"] >= figures["ideal_banks"] >= figures["ideal"]
    assert figures["ideal"] >= figures["bottleneck"]
    assert figures["formats"]["C"] == "ds:1,0"
    assert set(figures["seconds"]) == {"compile", "model"}
    assert sum(edge["tokens"] for edge in figures["edges"]) >= figures["tokens"]
    assert "model_cycles" in result.stderr


def _scipy_npz(path: Path) -> np.ndarray:
    return sp.load_npz(path).toarray()


def _dense_npz(path: Path) -> np.ndarray:
    with np.load(path) as archive:
        return archive["array"]


@pytest.mark.parametrize(
    ("form", "name", "read"),
    [
        ("CSR", "x.mtx", lambda path: scipy.io.mmread(path).toarray()),
        ("DCSC", "x.tns", lambda path: Tensor.read(path, "dd").to_numpy()),
        ("CSR", "x.npz", _scipy_npz),
        ("dense", "x.npz", _dense_npz),
    ],
)
def test_result_files(folder: Path, form: str, name: str, read: Any) -> None:
    order = ("--order", "j,i,k", "--format", "C=CSC") if form == "DCSC" else ()
    succeed("run", MATMUL, *OPERANDS, "--format", f"X={form}", *order, "--result", name)
    np.testing.assert_array_equal(read(folder / name), PRODUCT)
    assert sorted(path.name for path in folder.iterdir()) == ["b.mtx", "c.mtx", name]


def test_operands_of_every_rank_and_file(folder: Path) -> None:
    np.savez("v.npz", array=np.array([1, 0, 3]))
    scipy.io.mmwrite("w.mtx", np.array([[5], [0], [-5]]))
    (folder / "t.tns").write_text("# shape 3 2 2\n1 1 2 4\n3 2 1 6\n")
    text = succeed(
        "run", "x(i) = b * v(i) + w(i) * T(i,j,k)", "--tensor", "b=-2", "--tensor", "v=v.npz",
        "--tensor", "w=w.mtx", "--tensor", "T=t.tns", "--format", "T=dense", "--format", "x=dense",
    )  # fmt: skip
    assert "x(0) = 18\n" in text
    assert "x(2) = -36\n" in text


def test_fractions_are_rounded_only_where_asked(folder: Path) -> None:
    scipy.io.mmwrite("b.mtx", sp.coo_array(B + 0.25 * (B != 0)))
    assert "--round" in fail("run", MATMUL, *OPERANDS)
    assert "X(2,1) = 43" in succeed("run", MATMUL, *OPERANDS, "--round")


def test_compile_writes_the_graph_and_generate_takes_it(folder: Path) -> None:
    options = ("--format", "B=CSR", "--order", "i,k,j", *OPERANDS)
    succeed("compile", MATMUL, *options, "-o", "graph", "--json", "c.json")
    assert {path.name for path in Path("graph").iterdir()} == {
        "graph.samml", "graph.json", "graph.dot", "table.txt",
    }  # fmt: skip
    figures = json.loads(Path("c.json").read_text())
    succeed("generate", "graph", "-o", "from_graph", "--json", "g.json")
    succeed("generate", MATMUL, *options, "-o", "from_statement")
    names = {path.name for path in Path("from_graph").iterdir()}
    assert names == {path.name for path in Path("from_statement").iterdir()}
    for name in names:
        assert Path("from_graph", name).read_bytes() == Path("from_statement", name).read_bytes()
    generated = json.loads(Path("g.json").read_text())
    assert generated["primitives"] == figures["primitives"]
    assert Path(generated["verilog"]).is_file()


def test_compile_twice_replaces_what_it_wrote(folder: Path) -> None:
    succeed("compile", MATMUL, "-o", "graph")
    before = Path("graph/graph.samml").read_text()
    succeed("compile", MATMUL, "-o", "graph", "--dim", "i=8", "--capacity", "B=8,20")
    after = Path("graph/graph.samml").read_text()
    assert before != after
    assert "index i 8\n" in after
    assert "tensor B input ds:0,1 dims 8,1024 positions 8,20 " in after


CHAIN = "T(i,j) = B(i,k) * C(k,j); Y(i) = max[j](T(i,j))"


def documented() -> set[str]:
    """Return every key that the page of the figures explains."""
    page = Path(__file__).resolve().parents[1] / "docs" / "figures.md"
    return set(re.findall(r"`(\w+)`", page.read_text()))


def keys(figures: Any, given: tuple[str, ...] = ("formats", "results")) -> set[str]:
    """Return the keys of a document and of all in it, but for those that are the user's names."""
    match figures:
        case dict():
            deeper = [part for name, part in figures.items() if name not in given]
            return set(figures).union(*map(keys, deeper))
        case list():
            return set().union(*map(keys, figures))
        case _:
            return set()


def test_a_program_runs_from_its_file(folder: Path) -> None:
    Path("chain.ff").write_text(f"# two\n{CHAIN}\nresult T, Y\n".replace("; ", "\n"))
    text = succeed("run", "chain.ff", *OPERANDS, "--result", "y.tns", "--result", "T=t.mtx")
    assert re.search(r"^region +model_cycles .*\n1_T .*\n2_Y ", text)
    assert "T(2,1) = 43\n" in text
    assert text.endswith("Y(0) = 2\nY(1) = 0\nY(2) = 43\n")
    np.testing.assert_array_equal(scipy.io.mmread("t.mtx").toarray(), PRODUCT)
    np.testing.assert_array_equal(Tensor.read("y.tns", "s").to_numpy(), PRODUCT.max(axis=1))
    fused = json.loads(succeed("run", "chain.ff", *OPERANDS, "--fusion", "full", "--json", "-"))
    apart = json.loads(succeed("run", CHAIN, *OPERANDS, "--fusion", "none", "--json", "-"))
    assert [row["region"] for row in fused["regions"]] == ["1_Y"]
    assert fused["results"] == {"T": 3, "Y": 3}
    assert apart["model_cycles"] == sum(row["model_cycles"] for row in apart["regions"])
    assert apart["model_cycles"] > fused["model_cycles"]


def test_every_figure_is_documented(folder: Path) -> None:
    for arguments in (
        ("run", CHAIN, *OPERANDS), ("run", MATMUL, *OPERANDS),
        ("compile", CHAIN, *OPERANDS, "-o", "g"), ("compile", MATMUL, *OPERANDS, "-o", "g"),
        ("generate", "g", "-o", "rtl"), ("generate", CHAIN, *OPERANDS, "-o", "rtl"),
        ("run", MATMUL, *OPERANDS, "--format", "C=CSC", "--order", "i,k,j", "--auto-convert"),
        ("compare", "vec_identity"),
    ):  # fmt: skip
        figures = json.loads(succeed(*arguments, "--json", "-"))
        assert keys(figures) - documented() == set()


def test_traces_and_stalls_are_of_every_region(folder: Path) -> None:
    text = succeed("run", CHAIN, *OPERANDS, "--trace", "run.json.gz", "--stalls", "--json", "j")
    assert {path.name for path in folder.iterdir()} >= {"run.1_T.json.gz", "run.2_Y.json.gz"}
    assert "1_T: critical path of " in text
    assert set(json.loads(Path("j").read_text())["stalls"]) == {"1_T", "2_Y"}


def test_compile_and_generate_write_a_folder_a_region(folder: Path) -> None:
    succeed("compile", CHAIN, *OPERANDS, "-o", "graphs")
    assert {path.name for path in Path("graphs").iterdir()} == {"1_T", "2_Y", "program.json"}
    succeed("generate", "graphs", "-o", "from_graphs")
    text = succeed("generate", CHAIN, *OPERANDS, "-o", "from_statements")
    assert re.search(r"^1_T +ff_T +from_statements/1_T/ff_T\.v$", text, re.MULTILINE)
    one, other = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (Path("from_graphs"), Path("from_statements"))
    )
    assert one == other
    succeed("compile", CHAIN, *OPERANDS, "--fusion", "full", "-o", "graphs")
    assert {path.name for path in Path("graphs").iterdir()} == {
        "graph.samml", "graph.json", "graph.dot", "table.txt",
    }  # fmt: skip


@pytest.mark.rtl
def test_verify(folder: Path) -> None:
    text = succeed("verify", MATMUL, *OPERANDS, "--result", "x.mtx", "--json", "-")
    figures = json.loads(text)
    assert set(figures) >= VERIFY_KEYS
    assert keys(figures) - documented() == set()
    assert set(figures["seconds"]) == {"compile", "model", "generate", "build", "rtl"}
    assert figures["bit_exact"] is True
    assert figures["model_cycles"] == figures["rtl_cycles"]
    assert figures["differences"] == []
    np.testing.assert_array_equal(scipy.io.mmread("x.mtx").toarray(), PRODUCT)


def test_doctor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = call("doctor", "--json", "-")
    figures = json.loads(result.stdout)
    assert set(figures) == {"verilator", "g++", "make", "perl"}
    monkeypatch.setenv("PATH", str(tmp_path))
    result = call("doctor")
    assert result.exit_code == 1
    assert "missing g++" in result.stdout
    assert "apt-get install perl" in result.stdout
    (tmp_path / "g++").write_text("#!/no/such/shell")
    (tmp_path / "g++").chmod(0o755)
    assert f"{tmp_path}/g++ does not run" in call("doctor").stdout


def test_verify_looks_for_its_tools_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("fuseflow.kernel.Kernel._run", None)
    assert "missing g++ (install it" in fail("verify", MATMUL, *OPERANDS)


# --- mistakes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("X(i,j) = B(i,k * C(k,j)",), "expected ')'"),
        ((MATMUL, *OPERANDS, "--tensor", "D=b.mtx"), "no such tensor, only B, C"),
        ((MATMUL, *OPERANDS, "--tensor", "X=b.mtx"), "no such tensor, only B, C"),
        ((MATMUL, *OPERANDS, "--format", "D=CSR"), "no such tensor, only X, B, C"),
        ((MATMUL, *OPERANDS, "--tensor", "B=c.mtx"), "--tensor B is given twice"),
        ((MATMUL, *OPERANDS, "--format", "B"), "write NAME=VALUE"),
        ((MATMUL, *OPERANDS, "--format", "B=CSX"), "unknown format 'CSX'"),
        ((MATMUL, *OPERANDS, "--format", "B=sss"), "has rank 3"),
        ((MATMUL, *OPERANDS, "--order", "i,j"), "must name each of i, j, k once"),
        ((MATMUL, *OPERANDS, "--order", "k,j,i"), "Fusion constraint violation"),
        ((MATMUL, *OPERANDS, "--dim", "i=0"), "write a positive number"),
        ((MATMUL, *OPERANDS, "--dim", "z=4"), "no index 'z'"),
        ((MATMUL, *OPERANDS, "--capacity", "X=1"), "raise its capacity"),
        ((MATMUL, "--tensor", "B=b.mtx"), "operand 'C' has no tensor"),
        ((MATMUL, "--tensor", "B=b.mtx", "--tensor", "C=b.mtx"), "index k has size 4"),
        ((MATMUL, "--tensor", "B=missing.mtx"), "cannot read 'missing.mtx'"),
        ((MATMUL, "--tensor", "B=."), "unknown suffix"),
        ((MATMUL, "--tensor", "B=broken.mtx"), "cannot read 'broken.mtx'"),
        ((MATMUL, "--tensor", "B=broken.npz"), "cannot read 'broken.npz'"),
        ((MATMUL, *OPERANDS, "--result", "x.txt"), "unknown suffix '.txt'"),
        ((MATMUL, *OPERANDS, "--result", "no/x.mtx"), "there is no folder 'no'"),
        ((MATMUL, *OPERANDS, "--json", "taken"), "--json taken: that is a directory"),
        ((MATMUL, *OPERANDS, "--json", "b.mtx/x"), "b.mtx' is not a folder"),
        ((MATMUL, *OPERANDS, "--trace", "b.mtx/x.vcd"), "b.mtx' is not a folder"),
        ((MATMUL, *OPERANDS, "--trace", "x.vcd", "--json", "c.mtx/x"), "c.mtx' is not a folder"),
        (("missing.ff",), "cannot read 'missing.ff'"),
        (("T(i) = b(i); Y(i) = U(i",), "<program>:1:24: expected"),
        ((CHAIN, *OPERANDS, "--tensor", "T=b.mtx"), "the program has no such tensor, only B, C"),
        ((CHAIN, *OPERANDS, "--format", "U=CSR"), "no such tensor, only T, Y, B, C"),
        ((CHAIN, *OPERANDS, "--fusion", "some"), "choose none, regions, full, auto"),
        ((CHAIN, *OPERANDS, "--order", "z"), "names 'z', which no statement of it has"),
        ((CHAIN, *OPERANDS, "--result", "T=x.mtx"), "there is no such result, only Y"),
        ((CHAIN, *OPERANDS, "--result", "x.mtx", "--result", "x.tns"), "a second file for one"),
        ((CHAIN, "--tensor", "B=b.mtx"), "operand 'C' has no tensor"),
        ((CHAIN, "--tensor", "B=b.mtx", "--tensor", "C=b.mtx"), "statement 1 'T(i,j) = "),
        (("x = " + 9999 * "(" + "b" + 9999 * ")",), "nested deeper than 50"),
        (("x = b" + 9999 * " + b",), "more than 150 operations in one statement: split it"),
        (("x = b + " + 5000 * "9",), "constant inf is no value of int32"),
        (("x = b + 1e39", "--type", "fp32"), "is beyond 3.40282e+38, the largest value of fp32"),
    ],
)
def test_mistakes_are_one_line(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    Path("broken.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n")
    Path("taken").mkdir()
    Path("broken.npz").write_bytes(b"PK\x03\x04")
    before = sorted(folder.iterdir())
    assert message in fail("run", *arguments)
    assert sorted(folder.iterdir()) == before


def test_a_quoted_statement_is_cut_short() -> None:
    message = fail("run", "x = " + 9999 * "b + " + "?")
    assert len(message) < 2100
    assert message.startswith("error: unexpected '?' at position 40001 of 'x = b")
    assert message.endswith("b + ?'")


def test_nothing_is_written_over_foreign_files(folder: Path) -> None:
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    for command in ("compile", "generate"):
        assert "'notes.txt'" in fail(command, MATMUL, "-o", "mine")
        assert "not a directory" in fail(command, MATMUL, "-o", "b.mtx")
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


def test_generate_names_what_it_cannot_take(folder: Path) -> None:
    assert "neither a statement, a program, a model, a graph nor a directory" in fail(
        "generate", "nowhere", "-o", "rtl"
    )
    assert "holds no graph.samml" in fail("generate", ".", "-o", "rtl")
    succeed("compile", MATMUL, "-o", "graph")
    assert "compiled already" in fail("generate", "graph", "--order", "i,j,k", "-o", "rtl")
    Path("graph/graph.samml").write_bytes(b"\xff\xfe")
    assert "is not text" in fail("generate", "graph", "-o", "rtl")
    Path("graph/graph.samml").write_text("samml 1 X int32\nnode\n")
    assert "graph.samml" in fail("generate", "graph", "-o", "rtl")
    Path("graph/program.json").write_text('{"regions": [1]}')
    assert "graph/program.json' describes no program" in fail("generate", "graph", "-o", "rtl")
    assert not Path("rtl").exists()


def test_wrong_usage_has_its_own_exit_code() -> None:
    assert call("run").exit_code == 2
    assert call("run", MATMUL, "--bogus").exit_code == 2
    assert call("compile", MATMUL).exit_code == 2


# --- how it feels ------------------------------------------------------------------------


def test_help_is_fast_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['fuseflow', '--help']\n"
        "from fuseflow.cli import app\n"
        "app(standalone_mode=False)\n"
        "assert not {'numpy', 'scipy', 'numba', 'amaranth'} & sys.modules.keys()\n"
    )
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    assert time.perf_counter() - started < 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_appears_late_and_on_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for screen, patience, shown in (
        (Terminal(), 0.0, True), (Terminal(), 60.0, False), (io.StringIO(), 0.0, False),
    ):  # fmt: skip
        monkeypatch.setattr("sys.stderr", screen)
        monkeypatch.setattr("fuseflow.progress.PATIENCE", patience)
        deadline = time.monotonic() + 10
        with progress("thinking"):
            while shown and "thinking" not in screen.getvalue() and time.monotonic() < deadline:
                time.sleep(0.01)
        assert ("thinking" in screen.getvalue()) == shown


def test_waves_need_their_suffix(folder: Path) -> None:
    message = fail("verify", MATMUL, "--waves", "tile.fst")
    assert "cannot write waves to 'tile.fst': its suffix must be one of .vcd" in message


@pytest.mark.rtl
def test_verify_writes_waves(folder: Path) -> None:
    scipy.io.mmwrite("v.mtx", sp.coo_array(np.array([[1.5], [0.0], [2.5]])))
    succeed(
        "verify", "x(i) = 2 * v(i)", "--tensor", "v=v.mtx", "--type", "bf16",
        "--waves", "tile.vcd", "--json", "out.json",
    )  # fmt: skip
    assert json.loads(Path("out.json").read_text())["bit_exact"]
    text = Path("tile.vcd").read_text()
    assert "$timescale" in text
    assert "scale" in text
