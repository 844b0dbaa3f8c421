"""A program in every loop order: what an order costs, fused into one graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

import fuseflow
from fuseflow.comparison.data import KARATE, friendships, numbers
from fuseflow.compiler.program import Program
from fuseflow.outcome import RunResult
from fuseflow.samml.values import ValueType
from fuseflow.tensor import Tensor

CHAIN = "T(i,j) = A(i,k) * B(k,j); X(i,l) = T(i,j) * C(j,l)"
"""The chain of two products; everything is stored sparse by rows."""

WIDTH = 16
"""Columns of the last factor."""

SHARE = 0.2
"""Stored share of the middle factor."""


@dataclass(frozen=True)
class Ordered:
    """A program in one loop order.

    Attributes
    ----------
    order : tuple of str
    run : RunResult
    """

    order: tuple[str, ...]
    run: RunResult

    @property
    def cycles(self) -> int:
        """Cycles of the graph; its operands were converted before."""
        return self.run.graph_cycles

    @property
    def name(self) -> str:
        """Write the order as options have it."""
        return ",".join(self.order)


def run_orders(program: Program | str, tensors: Sequence[Tensor]) -> list[Ordered]:
    """Run a program in one graph in every order of its index variables, the fastest first.

    Operands are converted where the order asks for it.

    Raises
    ------
    LoweringError, CapacityError
        An order cannot be built.
    VerificationError
        In an order, golden meaning, cycle model and truth do not agree.
    """
    if isinstance(program, str):
        program = fuseflow.parse_program(program)
    formats = {each.target.tensor: "sparse" for each in program.statements}
    formats = {name: form for name, form in formats.items() if name in program.results}
    found: list[Ordered] = []
    for order in permutations(program.indices):
        compiled = fuseflow.compile(
            program, *tensors, fusion="full", order=order, formats=formats, auto_convert=True
        )
        found.append(Ordered(compiled.order, compiled.run()))
    return sorted(found, key=lambda each: each.cycles)


def karate_chain(kind: ValueType, seed: int = 1) -> list[Tensor]:
    """Return operands of `CHAIN`: the karate club's adjacency times two random matrices."""
    rng = np.random.default_rng(seed)
    middle = np.argwhere(rng.random((KARATE, KARATE)) < SHARE)
    last = np.argwhere(np.ones((KARATE, WIDTH), bool))
    shapes = {"A": (KARATE, KARATE), "B": (KARATE, KARATE), "C": (KARATE, WIDTH)}
    places = {"A": friendships(), "B": middle, "C": last}
    return [
        Tensor.from_coordinates(
            name, coords, numbers(rng, kind, len(coords)), shapes[name], "sparse", value=kind
        )
        for name, coords in places.items()
    ]
