"""Three kernels on Zachary's karate club: compile, generate Verilog, run it, compare.

The matrix ships with networkx, so the example needs no other data.
"""

import argparse
import time
from pathlib import Path

import networkx as nx
import numpy as np
from rich.console import Console
from rich.table import Table

import fuseflow
from fuseflow import Tensor

KERNELS = {
    "A*A": ("X(i,j) = A(i,k) * A(k,j)", "i,k,j"),
    "A*x": ("y(i) = A(i,j) * x(j)", "i,j"),
    "A.*A+A": ("X(i,j) = A(i,j) * A(i,j) + A(i,j)", "i,j"),
}


def operands() -> dict[str, Tensor]:
    """Return the weighted adjacency matrix of the karate club and a dense vector."""
    adjacency = nx.to_scipy_sparse_array(nx.karate_club_graph(), dtype=np.int64, format="csr")
    vector = np.arange(1, adjacency.shape[0] + 1)
    return {
        "A": Tensor.from_scipy("A", adjacency, "CSR"),
        "x": Tensor.from_numpy("x", vector, "dense1"),
    }


def main() -> None:
    """Print the comparison table and leave one Verilog bundle per kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_out"))
    output: Path = parser.parse_args().output
    tensors = operands()
    table = Table(title="karate club: 34 nodes, 78 weighted edges, int32")
    for column in ("kernel", "primitives", "nonzeros out", "model cycles", "RTL cycles",
                   "ideal", "bit exact", "seconds"):  # fmt: skip
        table.add_column(column, justify="right")
    console = Console()
    exact = True
    for number, (kernel, (expression, order)) in enumerate(KERNELS.items()):
        started = time.perf_counter()
        used = [
            tensor for name, tensor in tensors.items() if f"{name}(" in expression.split("=")[1]
        ]
        with console.status(f"{kernel}: compiling, generating and running the RTL"):
            program = fuseflow.compile(expression, *used, order=order)
            program.generate(output / f"kernel{number}")
            result = program.verify()
        exact &= result.bit_exact
        table.add_row(
            kernel, str(len(program.graph.nodes)), str(result.run.result.nnz),
            str(result.run.cycles), str(result.rtl_cycles), str(result.run.ideal),
            "yes" if result.bit_exact else "NO", f"{time.perf_counter() - started:.1f}",
        )  # fmt: skip
    console.print(table)
    console.print(
        f"Verilog bundles: {', '.join(str(output / f'kernel{k}') for k in range(len(KERNELS)))}"
    )
    raise SystemExit(0 if exact else 1)


if __name__ == "__main__":
    main()
