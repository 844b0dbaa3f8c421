"""The kernel table on the peers' inputs, and expected text beside the tests."""

import os
from pathlib import Path

import numpy as np
import pytest

from fuseflow.comparison.data import numbers
from fuseflow.comparison.fitting import fitting
from fuseflow.comparison.table import Kernel, kernels, select
from fuseflow.samml.values import ValueType
from fuseflow.tensor import Tensor
from tests.shared_data import SHARED

EXPECT = Path(__file__).parent / "expect"
INPUTS = SHARED / "peers" / "inputs"

SINGLE = select(["single"])
"""The field's standard kernels."""

KERNELS = kernels()
"""Every kernel of the table."""

needs_inputs = pytest.mark.skipif(
    not INPUTS.exists(), reason="the peers' inputs are not beside the repository"
)


def on_inputs(chosen: list[Kernel]) -> list[object]:
    """Return a test's parameters: every kernel on all of the peers' inputs that fit it."""
    if not INPUTS.exists():
        return []
    return [
        pytest.param(kernel, data, id=f"{kernel.name}-{data.name}")
        for kernel in chosen
        for data in fitting(kernel, INPUTS)
    ]


def renumbered(tensors: list[Tensor], kind: ValueType, seed: int) -> list[Tensor]:
    """Return tensors with other numbers at the same places, of full mantissas for floats."""
    found: list[Tensor] = []
    for position, tensor in enumerate(tensors):
        places, _ = tensor.entries()
        drawn = numbers(np.random.default_rng([seed, position]), kind, len(places))
        found.append(
            Tensor.from_coordinates(
                tensor.name, places, drawn, tensor.shape, tensor.format,
                fill=tensor.fill, value=kind,
            )
        )  # fmt: skip
    return found


def expected(name: str, text: str) -> str:
    """Return the expected text of a case; with FUSEFLOW_REGENERATE set, write it first."""
    path = EXPECT / f"{name}.txt"
    if os.environ.get("FUSEFLOW_REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return path.read_text()
