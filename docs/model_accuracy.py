"""Measures the trained network: accuracy in several value types and in RTL, and times."""

import numpy as np
import torch

from docs.benchmarks import table
from docs.model_cases import DATA, SEED
from docs.model_runs import timed
from examples.models.accuracy import Trained
from examples.models.train_gcn import train
from fuseflow.data import citation

AROUND = 25
"""Test nodes whose neighbourhood goes through RTL."""


def accuracy_section() -> str:
    """Return what rounding does to the trained network; nothing where Cora is absent."""
    path = DATA / "cora.npz"
    if not path.exists():
        return ""
    torch.manual_seed(SEED)
    graph = citation(path)
    trained = Trained.on(graph, train(graph)[0])
    exact, part = trained.exact(), trained.around(AROUND)
    # The models are compiled when they are first run.
    part.compile("fp32").run()
    accuracy = [("float64, PyTorch", f"{trained.accuracy(exact):.1%}", "", "")]
    times: list[tuple[object, ...]] = []
    for value in ("fp32", "bf16"):
        model, compiling = timed(lambda value=value: trained.compile(value))
        _, golden = timed(model.program.graphs)
        run, whole = timed(model.run)
        changed = (trained.classes(run.output) != trained.classes(exact)).sum()
        share, worst = f"{trained.accuracy(run.output):.1%}", np.abs(run.output - exact).max()
        accuracy.append((f"{value}, golden meaning = cycle model", share, changed, f"{worst:.1e}"))
        seconds = (compiling, golden, run.run.seconds.model, whole)
        times.append((value, f"{run.cycles:,}", *(f"{each:.1f}" for each in seconds)))
    verified = part.compile("fp32").verify()
    assert verified.bit_exact, verified.differences
    return TEMPLATE.format(
        test=trained.judged.sum(),
        accuracy=table(["value type", "accuracy", "nodes that change", "largest error"], accuracy),
        around=AROUND,
        nodes=len(part.labels),
        cycles=f"{verified.rtl_cycles:,}",
        times=table(["value type", "cycles", "compile, s", "golden meaning, s", "cycle model, s",
                     "whole run, s"], times),
    )  # fmt: skip


TEMPLATE = """\
### A trained network

The graph convolutional network of [train_gcn.py](../examples/models/train_gcn.py), trained with
plain PyTorch on Cora, on its {test} test nodes. Nodes change where the class is another one than
that of float64.

{accuracy}
Through RTL, bit and cycle exact: the first {around} test nodes with the neighbourhood that two
layers read ({nodes} nodes, {cycles} cycles); `make regress` takes all of Cora through RTL.

Times of the whole graph, one graph a layer; a whole run has the ideal cycles and the float64
evaluation in it, too:

{times}"""
