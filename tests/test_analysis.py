"""Analyses: figures of statements add up to those of their region, and name the bottleneck."""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import fuseflow
from fuseflow import Tensor
from fuseflow import analysis as analysis_module
from fuseflow.analysis import Activity, Analysis, Bound, Metric, analyse, simulated
from fuseflow.api import Program
from fuseflow.samml.errors import ParseError
from tests.test_cli import documented, fail, keys, succeed

LAYERS = """
T(i,j) = A(i,k) * X(k,j)
H(i,l) = relu(T(i,j) * W(j,l))
S(i,l) = A(i,k) * H(k,l)
y(i) = max[l](S(i,l))
"""
SIZE = 12


def operands(density: float = 0.3) -> list[Tensor]:
    rng = np.random.default_rng(3)
    sparse = np.where(rng.random((SIZE, SIZE)) < density, rng.random((SIZE, SIZE)), 0)
    return [
        Tensor.from_numpy("A", sparse, "CSR", value="fp32"),
        Tensor.from_numpy("X", rng.random((SIZE, 5)), "dense", value="fp32"),
        Tensor.from_numpy("W", rng.random((5, 4)), "dense", value="fp32"),
    ]


def compiled(fusion: str, **options: object) -> Program:
    formats = {"y": "dense", "H": "dense", "T": "dense", "S": "dense"}
    return fuseflow.compile(LAYERS, *operands(), fusion=fusion, formats=formats, **options)  # pyright: ignore


def add_up(parts: Iterable[Activity], whole: Activity) -> None:
    """Check that statements have what their region has."""
    found = list(parts)
    for figure in ("tokens", "operations", "coordinates", "segments", "values"):
        total = sum(getattr(each, figure) for each in found)
        assert total == pytest.approx(getattr(whole, figure))
    assert max(each.firings for each in found) == whole.firings


FUSIONS = pytest.mark.parametrize("fusion", ["none", "full"])


@FUSIONS
def test_statements_add_up_to_their_region(fusion: str) -> None:
    program = compiled(fusion)
    run = program.run(trace=True)
    found = analyse(program, "flops", run)
    for region, ran, forecast in zip(found.regions, run.regions, program.forecasts, strict=True):
        assert region.expected is not None
        assert region.measured is not None
        add_up((each.expected for each in region.statements if each.expected), region.expected)
        add_up((each.measured for each in region.statements if each.measured), region.measured)
        assert region.measured.bytes == ran.bytes
        assert region.measured.tokens == ran.tokens
        assert region.measured.operations == ran.operations
        assert region.measured.firings == ran.bottleneck
        assert region.measured.cycles == ran.cycles
        assert region.expected.bytes == pytest.approx(forecast.bytes)
        assert region.expected.operations == pytest.approx(forecast.operations)
        assert region.expected.firings == pytest.approx(forecast.bottleneck)
        cycles = [each.measured.cycles for each in region.statements if each.measured]
        assert sum(each for each in cycles if each is not None) == ran.cycles
        assert region.traced
        assert sum(region.bounds.values()) == ran.cycles
        assert region.bounds[region.bound] == max(region.bounds.values())


@FUSIONS
def test_tensors_add_up_to_their_statement(fusion: str) -> None:
    program = compiled(fusion)
    for region in analyse(program, run=program.run()).regions:
        for each in region.statements:
            for whole, parts in (
                (each.expected, [traffic.expected for traffic in each.tensors]),
                (each.measured, [traffic.measured for traffic in each.tensors]),
            ):
                assert whole is not None
                for figure in ("coordinates", "segments", "values"):
                    total = sum(getattr(part, figure) for part in parts)
                    assert total == pytest.approx(getattr(whole, figure))


def test_what_a_tensor_moves_is_what_its_arrays_hold() -> None:
    """One pass over a CSR matrix reads its segments, coordinates and values once."""
    matrix = operands()[0]
    program = fuseflow.compile("y(i) = sum[j](A(i,j))", matrix, formats={"y": "dense"})
    (region,) = analyse(program, run=program.run()).regions
    (statement,) = region.statements
    moved = {(each.tensor, each.access): each.measured for each in statement.tensors}
    read, written = moved["A", "read"], moved["y", "written"]
    assert read is not None
    assert written is not None
    assert read.coordinates == 4 * matrix.nnz
    assert read.segments == 4 * 2 * SIZE
    # A row without entries makes the array fire once too.
    empty = SIZE - len(np.unique(matrix.entries()[0][:, 0]))
    assert read.values == 4 * (matrix.nnz + empty)
    assert (written.coordinates, written.segments, written.values) == (0, 0, 4 * SIZE)


def test_statements_have_the_work_of_their_own_nodes() -> None:
    program = compiled("full")
    (region,) = analyse(program, run=program.run()).regions
    found = {each.target: each for each in region.statements}
    assert set(found) == {"T", "H", "S", "y"}
    assert {each.tensor for each in found["H"].tensors} == {"W"}
    assert {each.tensor for each in found["y"].tensors} == {"y"}
    assert {each.tensor for each in found["T"].tensors} == {"A", "X"}


def test_copies_are_read_by_the_statement_of_their_tensor() -> None:
    a, x, _ = operands()
    program = fuseflow.compile(
        "T(i,j) = A(i,k) * X(k,j); Z(i,j) = T(k,j) * A(k,i)", a, x, fusion="full",
        formats={"Z": "dense"}, auto_convert=True,
    )  # fmt: skip
    assert {copy.tensor for copy in program.kernels[0].lowered.copies}
    (region,) = analyse(program).regions
    found = {each.target: each for each in region.statements}
    read = {t.tensor for t in found["Z"].tensors if t.access == "read"}
    assert any(name.startswith("A") for name in read)
    assert not any(name.startswith("X") for name in read)


@pytest.mark.parametrize("metric", list(Metric))
def test_the_metric_sorts_and_names_the_bottleneck(metric: Metric) -> None:
    program = compiled("none")
    found = analyse(program, metric, program.run(trace=True))
    for region in found.regions:
        amounts = [each.best.amount(metric) for each in region.statements]
        assert amounts == sorted(amounts, reverse=True)
    _, worst = found.bottleneck
    every = [each.best.amount(metric) for r in found.regions for each in r.statements]
    assert worst.best.amount(metric) == max(every)
    assert found.total == pytest.approx(sum(every))


def test_without_a_run_there_is_what_is_expected() -> None:
    found = analyse(fuseflow.compile(LAYERS, fusion="none", value="fp32"), "cycles")
    assert found.measured is None
    assert found.expected is not None
    for region in found.regions:
        assert region.expected is not None
        assert region.measured is None
        assert not region.traced
        assert set(region.bounds) <= {Bound.MEMORY, Bound.COMPUTE, Bound.ITERATION}
        assert region.bounds[region.bound] == region.expected.firings
        assert region.best is region.expected


@pytest.mark.parametrize(("width", "hazards"), [(2, True), (100, False)])
def test_a_region_is_bound_by_what_its_cycles_are_spent_on(width: int, hazards: bool) -> None:
    """Sums of few columns, row by row, wait for the adder at the coordinate that comes again."""
    matrix = Tensor.from_numpy("A", np.ones((50, width)), "dense", value="fp32")
    weights = Tensor.from_numpy("z", np.ones(50), "dense", value="fp32")
    program = fuseflow.compile(
        "y(j) = A(i,j) * z(i)", matrix, weights, order="i,j", formats={"y": "dense"}
    )
    (region,) = analyse(program, run=program.run(trace=True)).regions
    assert (region.bound is Bound.HAZARDS) == hazards
    measured = region.measured
    assert measured is not None
    assert measured.cycles is not None
    assert measured.bytes_per_cycle == measured.bytes / measured.cycles
    assert measured.operations_per_cycle == measured.operations / measured.cycles
    assert measured.intensity == measured.operations / measured.bytes


def test_large_runs_are_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled("full")
    assert simulated(program).regions[0].model.traces
    monkeypatch.setattr(analysis_module, "TRACED", 10)
    run = simulated(program)
    assert not run.regions[0].model.traces
    (region,) = analyse(program, "cycles", run).regions
    assert not region.traced
    assert region.bounds[region.bound] == run.bottleneck
    assert region.measured is not None
    assert region.measured.cycles == run.cycles
    assert all(each.measured and each.measured.cycles is None for each in region.statements)


def test_crossing_conversions_count_in_the_total() -> None:
    program = compiled("none")
    run = program.run()
    found: Analysis = analyse(program, "cycles", run)
    assert found.measured is not None
    assert found.measured.cycles == run.cycles


# --- the command -------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Operand files of the program."""
    monkeypatch.chdir(tmp_path)
    for tensor in operands():
        tensor.write(f"{tensor.name}.npz")
    Path("layers.ff").write_text(LAYERS)
    return [part for name in "AXW" for part in ("--tensor", f"{name}={name}.npz")]


DENSE = [part for name in "XWTHSy" for part in ("--format", f"{name}=dense")]


def test_the_command_tells_of_statements_and_their_bottleneck(files: list[str]) -> None:
    arguments = ("analyze", LAYERS, "--type", "fp32", *DENSE, "--fusion", "none")
    text = succeed(*arguments, *files, "--metric", "flops")
    assert "measured" in text
    assert "operations per byte" in text
    last = text.rstrip().splitlines()[-1]
    assert last.startswith("bottleneck: ")
    assert "operations per cycle" in last
    assert "measured" not in succeed(*arguments, "--metric", "tokens")
    assert "measured" not in succeed(*arguments, *files, "--no-simulate")


def test_the_figures_of_the_command(files: list[str]) -> None:
    figures = json.loads(
        succeed("analyze", "--model", "layers.ff", "--type", "fp32", *DENSE, *files, "--fusion",
                "full", "--metric", "cycles", "--json", "-")
    )  # fmt: skip
    (region,) = figures["regions"]
    assert figures["metric"] == "cycles"
    assert keys(figures) - set(map(str, Bound)) - documented() == set()
    assert figures["measured"]["cycles"] == region["measured"]["cycles"]
    spent = [each["measured"]["cycles"] for each in region["statements"]]
    assert sum(spent) == region["measured"]["cycles"] == sum(region["bounds"].values())
    assert figures["bottleneck"]["statement"] == region["statements"][0]["statement"]
    assert figures["bottleneck"]["share"] == pytest.approx(max(spent) / sum(spent), abs=1e-4)
    assert {each["access"] for s in region["statements"] for each in s["tensors"]} == {
        "read", "written"
    }  # fmt: skip


def test_mistakes(files: list[str]) -> None:
    assert "one of EXPR and --model" in fail("analyze")
    assert "one of EXPR and --model" in fail("analyze", "y(i) = x(i)", "--model", "layers.ff")
    assert "unknown metric 'bytes'" in fail("analyze", "y(i) = x(i)", "--metric", "bytes")
    assert "operand 'x' has no tensor" in fail("analyze", "y(i) = x(i)", "--simulate")
    with pytest.raises(ParseError, match="unknown metric"):
        analyse(fuseflow.compile("y(i) = x(i)"), "speed")
