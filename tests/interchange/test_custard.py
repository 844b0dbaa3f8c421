"""Graphs of Custard run on both models and under RTL, and compute what they say."""

import csv
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import fuseflow
from fuseflow import Program, Tensor
from fuseflow.interchange import Custard, open_custard
from fuseflow.samml.errors import LoweringError, TensorError, VerificationError
from fuseflow.samml.text import parse_graph, print_graph
from fuseflow.samml.values import BF16, INT32, ValueType
from tests.interchange.kernels import KERNELS, to_gv
from tests.shared_data import shared_path

HAND = Path(__file__).parent / "gv" / "hand.gv"
SIZES = {"i": 6, "j": 7, "k": 5}


@cache
def source(name: str) -> Custard:
    """Read a kernel, once a session: pydot takes a while."""
    with TemporaryDirectory() as directory:
        return read(Path(directory), KERNELS[name].graph)


def read(directory: Path, short: str) -> Custard:
    path = directory / "x.gv"
    path.write_text(to_gv(short))
    return open_custard(path)


def arrays(name: str, share: float, seed: int) -> dict[str, np.ndarray]:
    """Random operands in the order of the file."""
    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}
    for access in source(name).signature.operands:
        shape = tuple(SIZES[index] for index in access.indices)
        array = rng.integers(-4, 5, shape) * (rng.random(shape) < share)
        found[access.tensor] = array if shape else np.asarray(3)
    return found


def load(
    read: Custard, dense: dict[str, np.ndarray], value: ValueType = INT32, **more: Any
) -> Program:
    operands = [
        Tensor.from_numpy(name, array, read.formats[name], value=value)
        for name, array in dense.items()
    ]
    return fuseflow.load(read, *operands, **more)


@pytest.mark.parametrize("share", [0.0, 0.15, 0.5, 1.0])
@pytest.mark.parametrize("name", KERNELS)
def test_both_models_agree_with_numpy(name: str, share: float) -> None:
    for seed in range(3):
        dense = arrays(name, share, seed)
        run = load(source(name), dense).run()
        np.testing.assert_array_equal(run.result.to_numpy(), KERNELS[name].truth(*dense.values()))
        assert run.max_error is None, "nothing told what the graph computes"


@pytest.mark.parametrize("name", KERNELS)
def test_the_graph_takes_about_the_cycles_of_our_own(name: str) -> None:
    kernel = KERNELS[name]
    dense = arrays(name, 0.5, seed=5)
    program = load(source(name), dense, einsum=kernel.statement)
    run = program.run()
    assert run.max_error == 0.0
    own = fuseflow.compile(
        kernel.statement, *program.tensors.values(), formats=kernel.formats, order=kernel.order
    )
    assert run.cycles <= 1.05 * own.run().cycles + 2


@pytest.mark.parametrize("name", KERNELS)
def test_the_graph_prints_and_parses(name: str) -> None:
    graph = source(name).lower().graph
    assert parse_graph(print_graph(graph)) == graph
    assert set(graph.indices) == set(source(name).order)


def test_a_file_written_by_hand() -> None:
    dense = {"b": np.array([1, 0, 2, 3, 0]), "c": np.array([0, 4, 5, 0, 6])}
    program = load(open_custard(HAND), dense)
    run = program.run()
    np.testing.assert_array_equal(run.result.to_numpy(), [0, 0, 10, 0, 0])
    assert str(program.statement) == "x(i) from b(i), c(i)"
    assert [node.primitive for node in program.graph.nodes] == [
        "root", "scan_compressed", "scan_compressed", "intersect", "array", "array", "alu",
        "drop_value", "write_crd", "write_val",
    ]  # fmt: skip


def test_explicit_zeros_stay_where_the_graph_keeps_them() -> None:
    dense = {"B": np.array([[1, 0], [0, 2]]), "C": np.array([[-1, 0], [0, 3]])}
    kept = load(source("mat_elemadd"), dense).run().result
    assert kept.positions == (2, 2)
    assert kept.nnz == 1
    dropped = load(source("matmul_relu"), dense).run().result
    assert dropped.positions == (1, 1)


def test_rows_without_points_vanish_behind_an_accumulator() -> None:
    b, c = np.zeros((4, 3), int), np.zeros((3, 4), int)
    b[0, 0], b[2, 1], c[1, 2] = 5, 6, 7
    run = load(source("matmul_ikj"), {"B": b, "C": c}).run()
    assert run.result.positions == (1, 1)


def test_a_subtraction_takes_the_first_edge_as_its_left_operand() -> None:
    graph = source("mat_residual").lower().graph
    (sub,) = (node for node in graph.nodes if node.params.get("op") == "sub")
    assert [(edge.port, edge.node) for edge in sub.inputs] == [
        ("a", "array_b_4"), ("b", "reduce_2"),
    ]  # fmt: skip


def test_products_stay_wide_on_their_way_into_a_sum() -> None:
    read = source("mat_sddmm")
    wide = {
        node.name: node.params.get("wide", False)
        for node in read.lower(value=BF16).graph.nodes
        if node.primitive == "alu"
    }
    assert wide == {"mul_5": False, "mul_4": True}
    assert not any("wide" in node.params for node in read.lower().graph.nodes)


@pytest.mark.parametrize("value", ["bf16", "fp32", "int8"])
def test_other_value_types(value: str) -> None:
    dense = arrays("mat_residual", 0.7, seed=2)
    kind = fuseflow.load(source("mat_residual"), value=value).graph.value
    einsum = KERNELS["mat_residual"].statement
    run = load(source("mat_residual"), dense, kind, einsum=einsum).run()
    assert run.max_error is not None
    assert run.error_bound is not None
    assert run.max_error <= run.error_bound


def test_a_drop_that_keeps_the_values_of_what_it_drops_is_an_error(tmp_path: Path) -> None:
    """SAM's reducer emits 0 for an empty fiber, so that this graph stores 2 values for 1 row."""
    short = KERNELS["mat_vecmul_ij"].graph.replace("11 1 crd\n", "")
    short += "9x crddrop outer=i inner=j\n11 9x crd i\n6 9x crd in-j\n9x 1 crd outer-i\n"
    dense = {"B": np.array([[1, 0], [0, 2]]), "c": np.array([3, 0])}
    with pytest.raises(TensorError, match=r"tensor 'x': 2 values for 1 positions"):
        load(read(tmp_path, short), dense).run()


def test_the_statement_must_be_about_the_tensors_of_the_graph() -> None:
    with pytest.raises(LoweringError, match=r"computes: X\(i,j\) from B\(i,k\), C\(k,j\)"):
        fuseflow.load(source("matmul_ijk"), einsum="X(i,j) = B(j,k) * C(k,i)")


def test_a_graph_that_computes_something_else_than_its_statement() -> None:
    dense = arrays("mat_elemadd", 1.0, seed=1)
    program = load(source("mat_elemadd"), dense, einsum="X(i,j) = B(i,j) * C(i,j)")
    with pytest.raises(VerificationError, match="the graph computes something else than"):
        program.run()


@pytest.mark.rtl
def test_rtl_agrees_with_the_models() -> None:
    dense = arrays("matmul_ikj", 0.4, seed=3)
    outcome = load(source("matmul_ikj"), dense).verify()
    assert outcome.differences == ()
    assert outcome.rtl_cycles == outcome.run.cycles
    np.testing.assert_array_equal(outcome.run.result.to_numpy(), dense["B"] @ dense["C"])


PEERS = [
    ("matmul_ijk", "matmul", "ijk", "B C"),
    ("matmul_ikj", "matmul", "ikj", "B C"),
    ("matmul_kij", "matmul", "kij", "B C"),
    ("mat_elemadd", "mat_elemadd", "ij", "B C"),
    ("mat_elemadd3", "mat_elemadd3", "ij", "B C D"),
    ("mat_elemmul", "mat_elemmul", "ij", "B C"),
    ("mat_vecmul_ij", "mat_vecmul", "ij", "B vec_a"),
    ("mat_vecmul_ji", "mat_vecmul", "ji", "B vec_a"),
    ("mat_residual", "mat_residual", "ij", "vec_b B vec_a"),
    ("vec_elemmul", "vec_elemmul", "i", "vec_a vec_b"),
]


@pytest.mark.parametrize(("name", "kernel", "order", "files"), PEERS, ids=[p[0] for p in PEERS])
def test_cycles_are_those_of_sam_or_fewer(name: str, kernel: str, order: str, files: str) -> None:
    """SAM's simulator spends a cycle on every stop, and none on memories: 5 % either way."""
    inputs = [shared_path(f"peers/inputs/r100_{file}.mtx") for file in files.split()]
    operands = [
        Tensor.read(
            file, source(name).formats[access.tensor], name=access.tensor, round_values=True
        )
        for file, access in zip(inputs, source(name).signature.operands, strict=True)
    ]
    assert fuseflow.load(source(name), *operands).run().cycles <= 1.05 * _sam(kernel, order, files)


def _sam(kernel: str, order: str, files: str) -> int:
    wanted = [f"r100_{file}" for file in files.split()]
    with shared_path("peers/sam_cycles.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            given = [part.split("=")[-1] for part in row["inputs"].replace("*", ",").split(",")]
            unbounded = (kernel, order, "0") == (row["kernel"], row["order"], row["backpressure"])
            if unbounded and given == wanted:
                return int(row["cycles"])
    raise AssertionError(f"no cycles of {kernel} {order} {files}")
