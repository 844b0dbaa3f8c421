"""Measures programs of several statements: graph neural networks and a chain of products."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp

import fuseflow
from fuseflow import Tensor
from fuseflow.api import prepare
from fuseflow.comparison.orders import CHAIN, karate_chain, run_orders
from fuseflow.explore import explore
from fuseflow.outcome import RunResult
from fuseflow.samml.values import FP32, INT32

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
GCN = ROOT / "examples" / "gcn.ff"
FUSIONS = ("none", "regions", "full", "auto")
HIDDEN = 16
LARGEST_GOLDEN = 5_000_000
"""Cycles beyond which values are compared with those of another granularity alone."""

Row = Sequence[object]


@dataclass(frozen=True)
class Network:
    """A two-layer network with its graph and features."""

    name: str
    tensors: tuple[Tensor, ...]


def networks() -> Iterator[Network]:
    """Yield the karate club, and the citation graphs where they stand beside the repository."""
    club = nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None)
    yield _network("karate", sp.csr_array(club), sp.eye_array(club.shape[0], format="csr"), 2)
    for name in ("cora", "citeseer"):
        path = DATA / f"{name}.npz"
        if path.exists():
            with np.load(path) as found:
                nodes = len(found["adj_indptr"]) - 1
                ones = np.ones(len(found["adj_indices"]))
                links = sp.csr_array((ones, found["adj_indices"], found["adj_indptr"]),
                                     shape=(nodes, nodes))  # fmt: skip
                features = sp.csr_array(
                    (found["x_data"], found["x_indices"], found["x_indptr"]),
                    shape=tuple(found["shape_x"]),
                )
                yield _network(name, links, features, int(found["labels"].max()) + 1)


def _network(name: str, links: sp.csr_array, features: sp.csr_array, classes: int) -> Network:
    rng = np.random.default_rng(1)
    linked = links + sp.eye_array(links.shape[0])
    scale = sp.diags_array(1 / np.sqrt(np.asarray(linked.sum(axis=1)).ravel()))
    width = features.shape[1]
    dense = {
        "W1": rng.standard_normal((width, HIDDEN)) / np.sqrt(HIDDEN),
        "b1": rng.standard_normal(HIDDEN),
        "W2": rng.standard_normal((HIDDEN, classes)),
        "b2": rng.standard_normal(classes),
    }
    return Network(
        name,
        (
            Tensor.from_scipy("A", scale @ linked @ scale, "CSR", value=FP32),
            Tensor.from_scipy("X", features, "CSR", value=FP32),
            *(Tensor.from_numpy(each, array, "dense", value=FP32) for each, array in dense.items()),
        ),
    )


def network_rows() -> Iterator[Row]:
    """Yield network, granularity, graphs, cycles, speed-up, operations, bytes and forecast."""
    for network in networks():
        cycles: dict[str, int] = {}
        value: np.ndarray | None = None
        for fusion in FUSIONS:
            program = fuseflow.compile(GCN, *network.tensors, fusion=fusion)
            expected = sum(each.cycles for each in program.forecasts)
            run: RunResult = program.run() if expected < LARGEST_GOLDEN else program.measure()
            found = run.result.to_numpy().astype(np.float64)
            if value is None:
                value = found
            np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-6)
            cycles[fusion] = run.cycles
            yield (
                network.name, fusion, len(program.kernels), run.cycles,
                f"{cycles['none'] / run.cycles:.2f}", run.operations, run.bytes, round(expected),
                "all" if run.max_error is not None else "others",
            )  # fmt: skip
        assert cycles["auto"] <= 1.05 * min(cycles.values()), "auto lost to another granularity"


def chain_rows() -> Iterator[Row]:
    """Yield every loop order of a chain of two products: cycles in int32 and fp32, conversions."""
    whole = {each.order: each for each in run_orders(CHAIN, karate_chain(INT32))}
    for real in run_orders(CHAIN, karate_chain(FP32)):
        each = whole[real.order]
        converted = ", ".join(step.conversion.tensor for step in each.run.conversions) or "none"
        yield each.name, each.cycles, real.cycles, converted


def pruning_rows() -> Iterator[Row]:
    """Yield explorations: how many candidates are kept, and whether the best is among them."""
    chain = prepare(CHAIN, *karate_chain(INT32), auto_convert=True)
    found = explore(chain, orders=True, count=24, simulate=True)
    yield "chain, loop orders", len(found.candidates), found.kept, _said(found.held)
    for network in networks():
        if network.name == "karate":
            found = explore(prepare(GCN, *network.tensors), count=12, simulate=True)
            yield "GCN on karate, cuts", len(found.candidates), found.kept, _said(found.held)


def _said(held: bool | None) -> str:
    return "yes" if held else "no"
