"""The corpus of programs, with seeded operands, at every granularity and iteration."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from networkx.utils import UnionFind

import fuseflow
from fuseflow import parse_program
from fuseflow.api import Kernel
from fuseflow.api import Program as Compiled
from fuseflow.compiler.expr import Constant, Where, walk
from fuseflow.compiler.program import Program
from fuseflow.compiler.schedule import Scheduler
from fuseflow.samml.formats import Format
from fuseflow.samml.functions import FLOATING
from fuseflow.samml.values import FP32, ValueType
from fuseflow.tensor import Tensor

FOLDER = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.ff")))

FEATURES, FEW = "768", 8
"""What a layernorm of the corpus normalises over, and what it does here."""

Shapes = dict[str, tuple[int, ...]]


def load(name: str) -> Program:
    """Read a program of the corpus, with few features under its layernorm."""
    return parse_program((FOLDER / f"{name}.ff").read_text().replace(FEATURES, str(FEW)))


def is_exact(program: Program) -> bool:
    """Whether integers have every operation, constant and fill of a program."""
    parts = [part for each in program.statements for part in walk(each.value)]
    numbers = [part.number for part in parts if isinstance(part, Constant)]
    numbers += [part.fill for part in parts if isinstance(part, Where)]
    whole = all(float(number).is_integer() for number in (*numbers, *program.fills.values()))
    return whole and not {getattr(part, "op", "") for part in parts} & {*FLOATING}


@dataclass(frozen=True)
class Sizes:
    """The sizes of a program's modes and index variables; equal ones are drawn once."""

    program: Program

    def shapes(self, rng: np.random.Generator, choices: list[int]) -> Shapes:
        """Draw the shapes of a program's inputs."""
        forest: Any = UnionFind()
        fixed: list[Any] = []
        for position, statement in enumerate(self.program.statements):
            for access in (statement.target, *statement.operands):
                for mode, index in enumerate(access.indices):
                    forest.union((access.tensor, mode), (position, index))
            if statement.target.tensor.endswith("_mean"):
                fixed += [
                    (position, index)
                    for index in statement.indices
                    if index not in statement.target.indices
                ]
        known = {forest[place]: FEW for place in fixed}
        return {
            name: tuple(
                known.setdefault(forest[name, mode], int(rng.choice(choices)))
                for mode in range(rank)
            )
            for name, rank in self.program.inputs.items()
        }


def shapes(program: Program, seed: int) -> Shapes:
    """Draw small shapes; those of high rank are smaller."""
    largest = max(program.ranks.values())
    choices = {4: [2, 4, 5], 3: [4, 5, 7]}.get(largest, [4, 5, 7, 9, 12])
    return Sizes(program).shapes(np.random.default_rng(seed), choices)


def operands(
    program: Program, shapes: Shapes, density: float, seed: int, kind: ValueType = FP32
) -> dict[str, Tensor]:
    """Return operands of full mantissas and both signs, with products that cancel.

    Neighbours along the last mode are opposite and along the first one equal, so that sums over
    rows times columns meet x * y - x * y.  Compressed tensors have empty rows.
    """
    rng = np.random.default_rng(seed)
    found: dict[str, Tensor] = {}
    for name, shape in shapes.items():
        form = Format.parse(program.formats[name], len(shape))
        fill = program.fills.get(name, 0)
        array = rng.uniform(-2, 2, shape) if kind.is_float else 1.0 * rng.integers(-4, 5, shape)
        array = np.where(array == 0, 1.0, array)
        stored = rng.random(shape) < density
        if shape:
            if shape[-1] > 1:
                array[..., 1] = -array[..., 0]
            if shape[0] > 1:
                array[1] = array[0]
            stored[-1] &= density == 1
        array = np.where(stored, array, float(fill))
        found[name] = Tensor.from_numpy(name, array, form, fill=fill, value=kind)
    return found


def compiled(
    program: Program,
    tensors: Mapping[str, Tensor],
    fusion: str,
    iteration: str = "factored",
    value: ValueType = FP32,
    auto_convert: bool = False,
) -> Compiled:
    """Compile a program for operands; the single global nest is for comparisons only."""
    if iteration == "factored":
        return fuseflow.compile(
            program, *tensors.values(), fusion=fusion, value=value, auto_convert=auto_convert
        )
    options = {"iteration": iteration, "auto_convert": auto_convert}
    scheduled = Scheduler(program, tensors, value=value, options=options).compile(fusion)
    kernels = [Kernel(lowered, lowered.targets[-1].tensor) for lowered in scheduled.regions]
    made = {name for kernel in kernels for name in kernel.targets}
    kernels = [replace(each, computed=made.intersection(each.inputs)) for each in kernels]
    return Compiled(tuple(kernels), program.results, program, dict(tensors))
