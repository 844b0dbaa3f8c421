"""Measures, and writes benchmarks.md: cycles of kernels, speed of the models and of the RTL.

Run ``make bench`` from the root of the repository.  Data are seeded, or ship with a dependency;
Cora, and SAM's cycles on its own inputs, are measured too where the folder ``shared`` stands
beside the repository.
"""

import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import fuseflow
from docs.program_benchmarks import chain_rows, network_rows, pruning_rows
from fuseflow import Program, Tensor
from fuseflow.comparison.compare import LARGE as COUNTED
from fuseflow.comparison.compare import Comparison, compare
from fuseflow.comparison.plot import write_plot
from fuseflow.comparison.render import render
from fuseflow.comparison.table import select
from fuseflow.samml.graph import Graph
from fuseflow.samml.image import TensorImage
from fuseflow.samml.units import flatten
from fuseflow.samml.values import FP32, INT32, ValueType
from gen.tile import Tile
from gen.verilog import verilog
from sim_models.cycle.simulate import simulate
from verif.tile import build_tile

ROOT = Path(__file__).resolve().parent
PAGE = ROOT / "benchmarks.md"
PLOT = ROOT / "compare.svg"
SHARED = ROOT.parents[1] / "shared"
CORA = SHARED / "data" / "cora.npz"
PEERS = SHARED / "peers" / "sam_cycles.csv"

SEED = 1
SQUARE = "X(i,j) = A(i,k) * A(k,j)"
LAYER = "X(i,j) = A(i,k) * H(k,j)"
WIDTH = 16
CORA_SHAPE, CORA_NNZ = 2708, 10556
LARGE = "X(i,j) = B(i,k) * C(k,j) + D(i,j) * E(i,j)"
BANKS = (1, 2, 4, 8, 16)
REPEATS = 3
SAM_CYCLES = 60_000
"""Cycles a second of SAM's Python simulator: between 45,000 and 75,000."""
COMAL_TOKENS = 850_000
"""Tokens a second of Comal: between 0.8 and 0.9 million."""

Row = Sequence[object]


# --- data ------------------------------------------------------------------------------------


def random_matrix(rows: int, columns: int, nnz: int) -> sp.csr_array:
    """Return a matrix with that many nonzeros at uniformly drawn places."""
    rng = np.random.default_rng(SEED)
    places = rng.choice(rows * columns, size=nnz, replace=False)
    values = rng.choice([-1, 1], nnz) * rng.integers(1, 10, nnz)
    return sp.csr_array((values, (places // columns, places % columns)), shape=(rows, columns))


def short_rows(size: int = 2000, entries: int = 2) -> sp.csr_array:
    """Return a square matrix with equally many nonzeros in every row."""
    rng = np.random.default_rng(SEED)
    columns = np.concatenate([rng.choice(size, entries, replace=False) for _ in range(size)])
    values = rng.uniform(-2, 2, size * entries).astype(np.float32)
    return sp.csr_array((values, columns, np.arange(0, size * entries + 1, entries)), (size, size))


def cora() -> sp.csr_array | None:
    """Return the adjacency matrix of Cora, where it is present."""
    if not CORA.exists():
        return None
    with np.load(CORA) as archive:
        pointers, indices = archive["adj_indptr"], archive["adj_indices"]
    ones = np.ones(len(indices), np.int64)
    return sp.csr_array((ones, indices, pointers), shape=(CORA_SHAPE, CORA_SHAPE))


@dataclass(frozen=True)
class Product:
    """A program on one matrix, ready to be measured.

    Attributes
    ----------
    name : str
    program : Program
    """

    name: str
    program: Program

    @property
    def images(self) -> dict[str, TensorImage]:
        """The operands' arrays."""
        return {name: tensor.image() for name, tensor in self.program.tensors.items()}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The result's shape: rows of the first operand, columns of the last."""
        first, *_, last = [self.program.tensors["A"], *self.program.tensors.values()]
        return {"X": (first.shape[0], last.shape[-1])}


def square(name: str, matrix: sp.csr_array, value: ValueType = INT32) -> Product:
    """Return the product of a matrix with itself, stored as CSR."""
    operand = Tensor.from_scipy("A", matrix, "CSR", value=value)
    return Product(name, fuseflow.compile(SQUARE, operand, order="i,k,j"))


def layer(name: str, matrix: sp.csr_array) -> Product:
    """Return the product of a CSR matrix with a dense one of few columns, in fp32."""
    rng = np.random.default_rng(SEED)
    features = rng.uniform(-1, 1, (CORA_SHAPE, WIDTH)).astype(np.float32)
    operands = (
        Tensor.from_scipy("A", matrix, "CSR", value=FP32),
        Tensor.from_numpy("H", features, "dd", value=FP32),
    )
    program = fuseflow.compile(LAYER, *operands, formats={"X": "dd"}, order="i,k,j")
    return Product(name, program)


# --- measurements ----------------------------------------------------------------------------


def beside_peers() -> Comparison | None:
    """Return the rows that SAM was measured on; None where its figures are absent."""
    if not PEERS.exists():
        return None
    outcome = compare(select(["single", "vec_elemmul_dense"]), FP32, peers=PEERS)
    known = {kernel.name for kernel in select(["*"])}
    return replace(
        outcome,
        rows=tuple(row for row in outcome.rows if row.peer),
        left_out=tuple(each for each in outcome.left_out if each.what not in known),
    )


def model_speed(product: Product, graph: Graph) -> Row:
    """Measure the cycle model, warm: with and without the digests that verification needs."""
    units, images, shapes = flatten(graph), product.images, product.shapes
    result = simulate(units, images, shapes)
    seconds = [_best(lambda d=d: simulate(units, images, shapes, digests=d)) for d in (False, True)]
    tokens = sum(
        report.tokens for report, edge in zip(result.edges, units.edges, strict=True) if edge.gated
    )
    return (
        product.name, result.cycles, result.firings,
        *(f"{result.firings / each / 1e6:.1f}" for each in seconds),
        *_rates(result.cycles, tokens, seconds[0]),
    )  # fmt: skip


def _rates(cycles: int, tokens: int, seconds: float) -> Row:
    return (
        f"{cycles / seconds / 1e6:.2f}", f"{cycles / seconds / SAM_CYCLES:.1f}",
        f"{tokens / seconds / 1e6:.2f}", f"{tokens / seconds / COMAL_TOKENS:.1f}",
    )  # fmt: skip


def _best(call: Callable[[], object]) -> float:
    """Return the shortest of several times, in seconds."""
    times: list[float] = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def rtl_speed(product: Product) -> Row:
    """Build and run the RTL, from nothing, and compare."""
    verified = product.program.verify()
    seconds = verified.seconds
    return (
        product.name, verified.rtl_cycles, "yes" if verified.bit_exact else "NO",
        f"{seconds.generate:.1f}", f"{seconds.build:.1f}", f"{seconds.rtl:.2f}",
        *_rates(verified.rtl_cycles, verified.run.tokens, seconds.rtl),
    )  # fmt: skip


def generator_speed() -> Row:
    """Generate and build a tile of more than 20 primitives."""
    graph = fuseflow.compile(LARGE, value=FP32).graph
    verilog(graph)
    seconds = _best(lambda: verilog(graph))
    tile = build_tile(lambda: Tile(graph))
    return len(graph.nodes), f"{seconds:.1f}", f"{tile.simulation.seconds:.1f}"


def bank_rows(product: Product, graph: Graph) -> Iterator[Row]:
    """Run one program with several numbers of accumulator banks."""
    images, shapes = product.images, product.shapes
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
            product.name, banks, cycles, ideal_banks, f"{cycles / ideal_banks:.3f}",
            f"{ideal_banks / ideal:.3f}",
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


def products() -> list[Product]:
    """Return the large programs."""
    random = random_matrix(CORA_SHAPE, CORA_SHAPE, CORA_NNZ)
    found = [
        square(f"A * A, random, {CORA_NNZ} nonzeros, int32", random),
        square("A * A, rows of 2, fp32", short_rows(), FP32),
        layer(f"A * H, random, {CORA_NNZ} nonzeros, fp32", random),
    ]
    adjacency = cora()
    if adjacency is not None:
        found.append(square("A * A, Cora, int32", adjacency))
        found.append(layer("A * H, Cora, fp32", adjacency))
    return found


def kernels() -> Comparison:
    """Run the table of kernels on random operands."""
    outcome = compare(select(["single", "extra"]), FP32, seed=SEED)
    assert not outcome.failed, [row for row in outcome.rows if row.error]
    return outcome


def peers_section() -> str:
    """Return what SAM needs beside ours, and draw it; nothing where its figures are absent."""
    outcome = beside_peers()
    if outcome is None:
        return ""
    drawn = [row for row in outcome.rows if row.peer and row.peer > COUNTED and row.depth is None]
    write_plot(replace(outcome, rows=tuple(drawn)), PLOT)
    return PEERS_TEMPLATE.format(plot=PLOT.name, table=render(outcome, "markdown"))


def page() -> str:
    """Measure everything and return the page."""
    measured = products()
    graphs = [product.program.fitted() for product in measured]
    squares = [
        (product, graph)
        for product, graph in zip(measured, graphs, strict=True)
        if str(product.program.statement) == SQUARE
    ]
    return TEMPLATE.format(
        machine=machine(),
        kernels=render(kernels(), "markdown"),
        peers=peers_section(),
        programs=programs_section(),
        square=SQUARE,
        layer=LAYER,
        width=WIDTH,
        shape=CORA_SHAPE,
        model=table(MODEL_HEAD, list(map(model_speed, measured, graphs))),
        rtl=table(RTL_HEAD, list(map(rtl_speed, measured))),
        large=LARGE,
        generator=table(GENERATOR_HEAD, [generator_speed()]),
        banks=table(BANK_HEAD, [row for each in squares for row in bank_rows(*each)]),
    )


RATES = ("million cycles/s", "/ SAM", "million tokens/s", "/ Comal")
MODEL_HEAD = ("program", "cycles", "firings", "million firings/s", "with digests", *RATES)
RTL_HEAD = (
    "program", "cycles", "equal to the model", "Verilog, s", "Verilator build, s", "run, s", *RATES,
)  # fmt: skip
GENERATOR_HEAD = ("primitives", "Verilog warm, s", "Verilator build, s")
BANK_HEAD = ("program", "banks", "cycles", "ideal_B", "cycles / ideal_B", "ideal_B / ideal")

MODELS_MARK = "<!-- Written by `make bench-models`: do not edit. -->"
"""Begins the section that docs/model_benchmarks.py writes."""

TEMPLATE = """\
<!-- Written by `make bench`: do not edit. -->

# Benchmarks

Measured by `make bench` on {machine}. Cycles do not depend on the machine; times do.

`ideal` is the cycles of the same graph with unbounded edges, latency 1 and unlimited accumulator
banks; `ideal_B` the same with the tile's own banks; `bottleneck` the unit that fires most; `tokens`
those on all edges between primitives. `cycles / ideal_B` is the price of finite edges and real
latencies, `ideal_B / ideal` that of the banks. Runs of few cycles consist of latency mostly.

## Kernels

Statements, formats and orders stand in [kernels.csv](../fuseflow/comparison/kernels.csv);
`fuseflow compare single extra` prints this table. Values are fp32 with full mantissas; operands are
seeded: n x n matrices, 5 % (n = 100) or 2 % (n = 300) full; vectors half full; third-order tensors
5 % full (n = 50); operands stored dense are full. Golden meaning and cycle model agree in every
run, and the dense evaluation in float64 within the bound of rounding, or this page is not written.

{kernels}

{peers}{programs}
## Speed of the cycle model

A is a {shape} x {shape} matrix in CSR (2000 x 2000 where every row has 2 entries); `{square}` and
`{layer}` in order i,k,j, where H is dense and has {width} columns; warm, the best of several runs,
without Python's imports. SAM's Python simulator runs 45,000 to 75,000 cycles/s, Comal 0.8 to 0.9
million tokens/s: the ratios are to the middle of each.

{model}
## RTL under Verilator

The same runs through RTL, compared on every edge and in every bit; times are those of a first
build.

{rtl}
A larger tile, `{large}` in fp32:

{generator}
## Accumulator banks

Products with different numbers of banks in the accumulator (the default is 4).

{banks}"""

PEERS_TEMPLATE = """\
## Beside SAM

Cycles of the Sparse Abstract Machine's simulator on the same statements, formats, orders and
inputs, with unbounded queues unless a depth is given. `best` is the fewest cycles of ours in any
order, every tensor stored in that order, compressed as in the kernel or as CSR (vectors: dense).

![cycles, ideal and best of the rows above 2,000 cycles beside SAM]({plot})

{table}

"""


def programs_section() -> str:
    """Return what fusing statements does to programs."""
    chain = list(chain_rows())
    best, worst = min(chain, key=_second), max(chain, key=_second)
    networks = table(
        ["network", "fusion", "graphs", "cycles", "speed-up", "operations", "bytes", "forecast",
         "checked against"],
        list(network_rows()),
    )  # fmt: skip
    orders = table(["order", "cycles, int32", "cycles, fp32", "converted"], chain)
    pruned = table(["candidates", "how many", "kept", "best kept"], list(pruning_rows()))
    return f"""## Programs

Two-layer graph convolutional networks ([gcn.ff](../examples/gcn.ff), hidden 16, seeded weights):
the same values at every granularity. `cycles` include conversions of what crosses regions;
`speed-up` is over `none`; `forecast` is what the cost model expected. Results are checked against
everything (golden meaning, cycle model, truth), or, where the golden meaning would keep too many
streams in memory, against the other granularities.

{networks}

A layer fused saves its intermediates; the whole network fused computes a hidden row anew for every
neighbour that reads it, which costs what the graph's mean degree says.

X(i,l) = A(i,k) B(k,j) C(j,l) in all of its loop orders, each fused into one graph: the karate
club's adjacency, B 34 x 34, C 34 x 16, all stored by rows; operands are converted where the order
asks for it, which is not among the cycles. The best is {best[0]} ({best[1]} cycles), the worst
{worst[0]} ({worst[1]}).

{orders}

`fuseflow explore` keeps candidates that are expected to cost at most a quarter more than the best:

{pruned}
"""


def _second(row: Row) -> int:
    cycles = row[1]
    assert isinstance(cycles, int)
    return cycles


def split_page() -> tuple[str, str]:
    """Return what `make bench` wrote, and the section of models behind it."""
    text = PAGE.read_text() if PAGE.exists() else ""
    own, mark, models = text.partition(MODELS_MARK)
    return own, mark + models


def main() -> None:
    """Measure in an empty build cache, and write the page."""
    with tempfile.TemporaryDirectory(prefix="fuseflow-bench-") as scratch:
        os.environ["FUSEFLOW_CACHE"] = scratch
        text = page()
    PAGE.write_text(text.rstrip() + "\n\n" + split_page()[1])
    print(f"wrote {PAGE.relative_to(ROOT.parent)}")


if __name__ == "__main__":
    main()
