"""Measures, and writes benchmarks.md: cycles of kernels, speed of the models and of the RTL.

Run ``make bench`` from the root of the repository.  Data are seeded, or ship with a dependency;
Cora is measured too where ``../shared/data/cora.npz`` stands beside the repository.
"""

import csv
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp

import fuseflow
from fuseflow import Program, RunResult, Tensor
from fuseflow.compiler import Access, parse
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.graph import Graph
from fuseflow.samml.units import flatten
from gen.tile import Tile
from gen.verilog import verilog
from sim_models.cycle.simulate import simulate
from verif.tile import build_tile

ROOT = Path(__file__).resolve().parent
PAGE = ROOT / "benchmarks.md"
KERNELS = ROOT.parent / "examples" / "kernels.csv"
CORA = ROOT.parents[1] / "shared" / "data" / "cora.npz"

SEED = 1
SQUARE = "X(i,j) = A(i,k) * A(k,j)"
CORA_SHAPE, CORA_NNZ = 2708, 10556
LARGE = "X(i,j) = B(i,k) * C(k,j) + D(i,j) * E(i,j)"
BANKS = (1, 2, 4, 8, 16)
REPEATS = 3

Row = Sequence[object]


# --- data ------------------------------------------------------------------------------------


def random_matrix(rows: int, columns: int, nnz: int, seed: int = SEED) -> sp.csr_array:
    """Return a matrix with that many nonzeros at uniformly drawn places."""
    rng = np.random.default_rng(seed)
    places = rng.choice(rows * columns, size=nnz, replace=False)
    values = rng.choice([-1, 1], nnz) * rng.integers(1, 10, nnz)
    return sp.csr_array((values, (places // columns, places % columns)), shape=(rows, columns))


def karate() -> sp.csr_array:
    """Return the weighted adjacency matrix of Zachary's karate club."""
    return nx.to_scipy_sparse_array(nx.karate_club_graph(), dtype=np.int64, format="csr")


def cora() -> sp.csr_array | None:
    """Return the adjacency matrix of Cora, where it is present."""
    if not CORA.exists():
        return None
    with np.load(CORA) as archive:
        pointers, indices = archive["adj_indptr"], archive["adj_indices"]
    ones = np.ones(len(indices), np.int64)
    return sp.csr_array((ones, indices, pointers), shape=(CORA_SHAPE, CORA_SHAPE))


@dataclass(frozen=True)
class Family:
    """Data for every kernel: operands of any rank over one index size.

    Attributes
    ----------
    name : str
    size : int
    density : dict of int to float
        Share of nonzeros of a compressed operand, by rank.
    matrix : csr_array or None
        Stands for every compressed matrix.
    """

    name: str
    size: int
    density: Mapping[int, float]
    matrix: sp.csr_array | None = None

    def operand(self, access: Access, form: Format, seed: int) -> Tensor:
        """Return an operand; one that is stored dense has no zero."""
        rank = len(access.indices)
        shape = (self.size,) * rank
        if rank == 2 and self.matrix is not None and LevelKind.COMPRESSED in form.levels:
            return Tensor.from_scipy(access.tensor, self.matrix, form)
        rng = np.random.default_rng(seed)
        array = rng.choice([-1, 1], shape) * rng.integers(1, 10, shape)
        if LevelKind.COMPRESSED in form.levels:
            array *= rng.random(shape) < self.density[rank]
        return Tensor.from_numpy(access.tensor, array, form)


FAMILIES = (
    Family("karate", 34, {1: 0.5}, karate()),
    Family("random 100", 100, {1: 0.5, 2: 0.05, 3: 0.02}),
    Family("random 300", 300, {1: 0.5, 2: 0.02}),
)


# --- measurements ----------------------------------------------------------------------------


def kernel_rows() -> Iterator[Row]:
    """Run every kernel of the table on the models."""
    with KERNELS.open(newline="") as file:
        kernels = list(csv.DictReader(file))
    for kernel in kernels:
        formats = {
            name: Format.parse(text)
            for name, _, text in (part.partition("=") for part in kernel["formats"].split(";"))
        }
        accesses = parse(kernel["program"]).operands
        for family in FAMILIES:
            if max(len(access.indices) for access in accesses) > max(2, *family.density):
                continue
            operands = [
                family.operand(access, formats[access.tensor], seed)
                for seed, access in enumerate(accesses, start=SEED)
            ]
            program = fuseflow.compile(
                kernel["program"], *operands, formats=formats, order=kernel["order"]
            )
            yield _kernel_row(f"{kernel['id']} {kernel['name']}", family.name, program.run())


def _kernel_row(kernel: str, data: str, run: RunResult) -> Row:
    return (
        kernel, data, run.cycles, run.ideal, run.ideal_banks,
        f"{run.cycles / run.ideal_banks:.3f}", f"{run.ideal_banks / run.ideal:.3f}",
        run.bottleneck, run.tokens,
    )  # fmt: skip


def square(matrix: sp.csr_array) -> Program:
    """Return the product of a matrix with itself, stored as CSR."""
    return fuseflow.compile(SQUARE, Tensor.from_scipy("A", matrix, "CSR"), order="i,k,j")


def model_speed(program: Program, graph: Graph) -> Row:
    """Measure the cycle model, warm: with and without the digests that verification needs."""
    units = flatten(graph)
    operand = program.tensors["A"]
    images, shapes = {"A": operand.image()}, {"X": operand.shape}
    result = simulate(units, images, shapes)
    rates = [
        result.firings / _best(lambda d=d: simulate(units, images, shapes, digests=d)) / 1e6
        for d in (False, True)
    ]
    return result.cycles, result.firings, *(f"{rate:.1f}" for rate in rates)


def _best(call) -> float:
    """Return the shortest of several times, in seconds."""
    times: list[float] = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def rtl_speed(program: Program) -> Row:
    """Build and run the RTL, from nothing, and compare."""
    verified = program.verify()
    seconds = verified.seconds
    return (
        verified.rtl_cycles, "yes" if verified.bit_exact else "NO", f"{seconds.generate:.1f}",
        f"{seconds.build:.1f}", f"{seconds.rtl:.2f}",
        f"{verified.rtl_cycles / seconds.rtl / 1000:.0f}",
    )  # fmt: skip


def generator_speed() -> Row:
    """Generate and build a tile of more than 20 primitives."""
    graph = fuseflow.compile(LARGE).graph
    verilog(graph)
    seconds = _best(lambda: verilog(graph))
    tile = build_tile(lambda: Tile(graph))
    return len(graph.nodes), f"{seconds:.1f}", f"{tile.simulation.seconds:.1f}"


def bank_rows(program: Program, graph: Graph) -> Iterator[Row]:
    """Run one program with several numbers of accumulator banks."""
    operand = program.tensors["A"]
    images, shapes = {"A": operand.image()}, {"X": operand.shape}
    for banks in BANKS:
        nodes = tuple(
            replace(node, params={**node.params, "banks": banks})
            if node.primitive == "accumulate"
            else node
            for node in graph.nodes
        )
        units = flatten(replace(graph, nodes=nodes))
        cycles = simulate(units, images, shapes).cycles
        ideal = simulate(units, images, shapes, ideal="unlimited").cycles
        ideal_banks = simulate(units, images, shapes, ideal="banks").cycles
        yield (
            banks, cycles, ideal_banks, f"{cycles / ideal_banks:.3f}", f"{ideal_banks / ideal:.3f}",
        )  # fmt: skip


# --- the page --------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Sequence[Row]) -> str:
    """Lay out a table."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def machine() -> str:
    """Describe the machine."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    return (
        f"{os.cpu_count()} cores of {cpu}, {platform.system()}, Python {platform.python_version()}"
    )


def page() -> str:
    """Measure everything and return the page."""
    matrices = {f"random, {CORA_NNZ} nonzeros": random_matrix(CORA_SHAPE, CORA_SHAPE, CORA_NNZ)}
    adjacency = cora()
    if adjacency is not None:
        matrices["Cora"] = adjacency
    programs = {name: square(matrix) for name, matrix in matrices.items()}
    graphs = {name: program.fitted() for name, program in programs.items()}
    banks = [
        (f"{name}, {banks}", *figures)
        for name, program in programs.items()
        for banks, *figures in bank_rows(program, graphs[name])
    ]
    return TEMPLATE.format(
        machine=machine(),
        kernels=table(KERNEL_HEAD, list(kernel_rows())),
        shape=CORA_SHAPE,
        square=SQUARE,
        model=table(
            MODEL_HEAD, [(name, *model_speed(programs[name], graphs[name])) for name in programs]
        ),
        rtl=table(RTL_HEAD, [(name, *rtl_speed(program)) for name, program in programs.items()]),
        large=LARGE,
        generator=table(GENERATOR_HEAD, [generator_speed()]),
        banks=table(BANK_HEAD, banks),
    )


KERNEL_HEAD = (
    "kernel", "data", "cycles", "ideal", "ideal_B", "cycles / ideal_B", "ideal_B / ideal",
    "bottleneck", "tokens",
)  # fmt: skip
MODEL_HEAD = ("matrix", "cycles", "firings", "million firings/s", "with digests")
RTL_HEAD = (
    "matrix", "cycles", "equal to the model", "Verilog, s", "Verilator build, s", "run, s",
    "thousand cycles/s",
)  # fmt: skip
GENERATOR_HEAD = ("primitives", "Verilog warm, s", "Verilator build, s")
BANK_HEAD = ("matrix, banks", "cycles", "ideal_B", "cycles / ideal_B", "ideal_B / ideal")

TEMPLATE = """\
<!-- Written by `make bench`: do not edit. -->

# Benchmarks

Measured by `make bench` on {machine}. Cycles do not depend on the machine; times do.

`ideal` is the cycles of the same graph with unbounded edges, latency 1 and unlimited accumulator
banks; `ideal_B` the same with the tile's own banks; `bottleneck` the most firings of any one unit;
`tokens` those on all edges between primitives. `cycles / ideal_B` is the price of finite edges and
real latencies, `ideal_B / ideal` that of the banks. Runs of few cycles consist of latency mostly.

## Kernels

Statements, formats and orders stand in [examples/kernels.csv](../examples/kernels.csv). Random
operands are seeded: n x n matrices, 5 % (n = 100) or 2 % (n = 300) full; vectors half full;
third-order tensors 2 % full; operands stored dense are full. Golden meaning, cycle model and dense
evaluation agree in every run, or this page is not written.

{kernels}
## Speed of the cycle model

`{square}` on {shape} x {shape} CSR matrices in order i,k,j; warm, the best of several runs,
without Python's imports.

{model}
## RTL under Verilator

The same runs through RTL, compared on every edge and in every bit; times are those of a first
build.

{rtl}
A larger tile, `{large}`:

{generator}
## Accumulator banks

The same product with different numbers of banks in its accumulator (the default is 4).

{banks}"""


def main() -> None:
    """Measure in an empty build cache, and write the page."""
    with tempfile.TemporaryDirectory(prefix="fuseflow-bench-") as scratch:
        os.environ["FUSEFLOW_CACHE"] = scratch
        text = page()
    PAGE.write_text(text.rstrip() + "\n")
    print(f"wrote {PAGE.relative_to(ROOT.parent)}")


if __name__ == "__main__":
    main()
