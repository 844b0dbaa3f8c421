"""Measures example models, and writes their section of benchmarks.md.

Run ``make bench-models`` from the root of the repository. Weights and inputs are seeded, or
trained; Cora and Citeseer are measured where the folder ``shared`` stands beside the repository.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from docs.benchmarks import MODELS_MARK, PAGE, machine, split_page, table
from docs.model_accuracy import accuracy_section
from docs.model_cases import cases
from docs.model_plots import write_bars
from docs.model_reasons import reasons
from docs.model_runs import Comparison, measure, rows

ROOT = Path(__file__).resolve().parent
CYCLES, OPERATIONS = ROOT / "models-cycles.svg", ROOT / "models-operations.svg"

HEAD = (
    "model", "data", "fusion", "graphs", "cycles", "speed-up", "operations", "bytes", "tokens",
    "busiest unit", "how", "error / bound", "compile, s", "run, s",
)  # fmt: skip


def main() -> None:
    """Measure in an empty build cache, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="only these, such as GCN SAE")
    chosen = parser.parse_args().models
    started = time.perf_counter()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="fuseflow-bench-") as scratch:
        os.environ["FUSEFLOW_CACHE"] = scratch
        accuracy = accuracy_section()
        compared = [measure(case, _report) for case in cases(chosen)]
    PAGE.write_text(split_page()[0].rstrip() + "\n\n" + section(compared, accuracy, started))
    print(f"wrote {PAGE.relative_to(ROOT.parent)}")


def _report(line: str) -> None:
    print(line, flush=True)


def section(compared: Sequence[Comparison], accuracy: str, started: float) -> str:
    """Return the section, and draw its plots."""
    write_bars(compared, lambda each: each.cycles, "cycles / cycles of single statements", CYCLES)
    write_bars(
        compared, lambda each: each.operations, "operations / those of single statements",
        OPERATIONS,
    )  # fmt: skip
    minutes = (time.perf_counter() - started) / 60
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    return TEMPLATE.format(
        mark=MODELS_MARK,
        machine=machine(),
        minutes=f"{minutes:.0f}",
        memory=f"{memory:.1f}",
        cycles=CYCLES.name,
        operations=OPERATIONS.name,
        table=table(HEAD, [row for each in compared for row in rows(each)]),
        reasons=reasons(compared),
        accuracy=accuracy,
    )


TEMPLATE = """\
{mark}

## Models

Measured by `make bench-models` on {machine}, in {minutes} minutes and {memory} GiB.

The [example models](../examples/models/) in fp32, each computing the same at every granularity:
`none` is a graph a statement, `regions` the modules that the example names (partial fusion),
`full` one graph or as few as can be, `auto` the cut of least expected cycles. `speed-up` is over
`none`; `cycles` include conversions of what crosses graphs. GCN and GraphSAGE have 16 hidden
units, adjacency and features are CSR; GCN on Cora is trained, other weights are seeded.
Autoencoders, perceptron and convolutions have 90 % of their weights pruned; inputs of the first
two are a batch of 4, half of it zero. The decoder block is that of GPT-3 small (768 hidden, 12
heads, 3,072 inside) with BigBird masks; its runs are
[closed-form](rfcs/0010-closed-form-runs.md), which changes no figure.

`error / bound` is the largest distance to PyTorch in float64, and what rounding explains. `how`:

- `run`: golden meaning, cycle model and float64 evaluation of the program agree as well;
- `measured`: cycle model alone, its values compared with PyTorch's only, within the bound of
  `none` where it is known and 1e-4 of the largest result;
- `forecast`: not simulated, for it takes too long; figures are expected ones, and there are no
  values.

![cycles over those of single statements]({cycles})

![operations over those of single statements]({operations})

{table}
{reasons}
{accuracy}"""


if __name__ == "__main__":
    main()
