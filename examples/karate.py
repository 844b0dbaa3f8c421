"""Three kernels on Zachary's karate club: compile, generate Verilog, run it, compare.

The matrix ships with networkx, so the example needs no other data.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
from rich.console import Console
from rich.table import Table

import fuseflow
from fuseflow import Tensor


@dataclass(frozen=True)
class Kernel:
    """A statement with its loop order, and the folder that takes its Verilog."""

    name: str
    folder: str
    statement: str
    order: str


KERNELS = (
    Kernel("A*A", "square", "X(i,j) = A(i,k) * A(k,j)", "i,k,j"),
    Kernel("A*x", "spmv", "y(i) = A(i,j) * x(j)", "i,j"),
    Kernel("A.*A + A", "polynomial", "X(i,j) = A(i,j) * A(i,j) + A(i,j)", "i,j"),
)
COLUMNS = (
    "kernel", "primi-\ntives", "nonzeros\nout", "model\ncycles", "RTL\ncycles", "ideal\ncycles",
    "bit\nexact", "seconds",
)  # fmt: skip


def operands() -> tuple[Tensor, Tensor]:
    """Return the weighted adjacency matrix of the karate club and a dense vector."""
    adjacency = nx.to_scipy_sparse_array(nx.karate_club_graph(), dtype=np.int64, format="csr")
    vector = np.arange(1, adjacency.shape[0] + 1)
    return Tensor.from_scipy("A", adjacency, "CSR"), Tensor.from_numpy("x", vector, "dense")


def run(kernel: Kernel, output: Path) -> tuple[bool, Path, tuple[str, ...]]:
    """Compile a kernel, write its Verilog and verify it.

    Returns
    -------
    exact : bool
    verilog : Path
    row : tuple of str
        Of the comparison table.
    """
    started = time.perf_counter()
    matrix, vector = operands()
    used = (matrix, vector) if "x(" in kernel.statement else (matrix,)
    program = fuseflow.compile(kernel.statement, *used, order=kernel.order)
    bundle = program.generate(output / kernel.folder)
    verified = program.verify()
    model = verified.run
    figures = (model.result.nnz, model.cycles, verified.rtl_cycles, model.ideal)
    seconds = time.perf_counter() - started
    row = (
        kernel.name, str(len(program.graph.nodes)), *map(str, figures),
        "yes" if verified.bit_exact else "NO", f"{seconds:.1f}",
    )  # fmt: skip
    return verified.bit_exact, bundle.verilog, row


def main() -> None:
    """Print the comparison table and leave one Verilog bundle per kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_out"), help="for the bundles")
    output: Path = parser.parse_args().output
    table = Table(title="karate club: 34 nodes, 78 weighted edges, int32")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    console = Console(soft_wrap=True)
    exact = True
    places: list[str] = []
    for kernel in KERNELS:
        console.print(f"{kernel.name}: compiling, generating, building and running the RTL ...")
        same, verilog, row = run(kernel, output)
        exact &= same
        table.add_row(*row)
        places.append(f"Verilog of {kernel.name}: {verilog}")
    console.print(table, soft_wrap=False)
    console.print("\n".join(places))
    console.print("Beside each: registers.md and a C header for the host, manifest.json, the graph")
    raise SystemExit(0 if exact else 1)


if __name__ == "__main__":
    main()
