"""PageRank of Zachary's karate club in fp32: a fill that is not 0, a conversion, and stalls.

``y(i) = 0.85 * P(i,j) * x(j) + t`` is ``t`` where nothing is stored, so `t` is the fill of its
result and of the next ``x``.  P is stored by columns: summing rows takes a converted copy of P,
accumulating columns takes it as it is.  A dense ``x`` is located, a compressed one is merged with
every row, for its fill does not annihilate the product.
"""

import networkx as nx
import numpy as np

import fuseflow
from fuseflow import Tensor, value_type

DAMPING = 0.85
FP32 = value_type("fp32")
VARIANTS = (("i,j", "s"), ("i,j", "d"), ("j,i", "s"))


def links() -> Tensor:
    """Return the matrix of transition probabilities, stored by columns."""
    weights = nx.to_scipy_sparse_array(nx.karate_club_graph(), dtype=np.float64, format="csc")
    return Tensor.from_scipy("P", weights / weights.sum(axis=0), "CSC", value=FP32)


def rank(program: fuseflow.Program, x: Tensor) -> tuple[fuseflow.RunResult, int]:
    """Repeat a program until nothing changes; return its last run, and how many it took."""
    for runs in range(1, 100):
        y = program.run({"x": x}).result.rename("x")
        if np.abs(y.to_numpy() - x.to_numpy()).max() < 1e-6:
            return program.run({"x": y}, trace=True), runs + 1
        x = y
    raise SystemExit("no convergence")


def main() -> None:
    """Rank the members in three ways, and say what each costs and where its time goes."""
    matrix = links()
    size = matrix.shape[0]
    teleport = FP32.decode(FP32.encode((1 - DAMPING) / size))
    statement = f"y(i) = {DAMPING} * P(i,j) * x(j) + {teleport}"
    expected = list(nx.pagerank(nx.karate_club_graph(), alpha=DAMPING, tol=1e-9).values())
    for order, form in VARIANTS:
        start = Tensor.from_coordinates("x", [], [], (size,), form, value=FP32, fill=teleport)
        program = fuseflow.compile(
            statement, matrix, start, formats={"y": form}, order=order,
            capacities={"x": size}, auto_convert=True,
        )  # fmt: skip
        run, runs = rank(program, start)
        error = np.abs(run.result.to_numpy() - expected).max()
        converting = sum(step.cost.cycles for step in run.conversions)
        print(f"order {order}, x stored as {form}: {error:.0e} from networkx after {runs} runs")
        print(f"  {run.cycles:,} cycles a run, {converting:,} to convert P; where they went:")
        print(str(run.stalls()).splitlines()[1])


if __name__ == "__main__":
    main()
