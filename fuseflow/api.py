"""The Python API: compile a statement once, then run, generate or verify it.

>>> program = fuseflow.compile("X(i,j) = B(i,k) * C(k,j)", B, C)
>>> program.run().cycles
>>> program.generate("rtl")
>>> program.verify().bit_exact
"""

from __future__ import annotations

import operator
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fuseflow.compiler import Lowered, Statement, compile_statement
from fuseflow.compiler import evaluate as evaluate_dense
from fuseflow.samml.errors import CapacityError, TensorError, VerificationError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Graph
from fuseflow.samml.image import TensorImage
from fuseflow.samml.units import flatten
from fuseflow.tensor import Tensor

if TYPE_CHECKING:
    from gen.bundle import Bundle
    from sim_models.cycle.result import CycleResult


@dataclass(frozen=True)
class Seconds:
    """Wall time of every step, in seconds; 0 for a step that was not taken.

    `generate` is elaboration to Verilog, `build` the Verilator build (0 where it was kept from
    an earlier one), `rtl` the simulation from start to done.
    """

    compile: float = 0.0
    model: float = 0.0
    generate: float = 0.0
    build: float = 0.0
    rtl: float = 0.0


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a program computed on the golden model and how long the cycle model says it takes.

    Attributes
    ----------
    result : Tensor
    cycles : int
        From the start to `done`.
    ideal, ideal_banks : int
        Cycles of the same graph with unbounded edges, latency 1, and unlimited banks or the
        tile's own (DESIGN section 3).
    tokens : int
        Tokens on all edges between primitives.
    bottleneck : tuple of (str, int)
        The unit with the most firings, and their number.
    overflow : bool
        Whether an integer operation wrapped.
    max_error, error_bound : float
        Largest distance to the float64 truth, and the bound it is judged by.
    model : CycleResult
        Figures per unit and edge.
    """

    result: Tensor
    cycles: int
    ideal: int
    ideal_banks: int
    tokens: int
    bottleneck: tuple[str, int]
    overflow: bool
    max_error: float
    error_bound: float
    seconds: Seconds
    model: CycleResult


@dataclass(frozen=True, eq=False)
class VerifyResult:
    """A run together with the RTL's, and every difference between the two.

    Attributes
    ----------
    run : RunResult
    rtl_cycles : int
    differences : tuple of str
        Empty where values, tokens and cycles agree on every edge.
    seconds : Seconds
    """

    run: RunResult
    rtl_cycles: int
    differences: tuple[str, ...]
    seconds: Seconds

    @property
    def bit_exact(self) -> bool:
        """Whether model and RTL agree in every bit and cycle."""
        return not self.differences


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled statement with the operands it was compiled for, if any.

    Attributes
    ----------
    lowered : Lowered
    tensors : dict of str to Tensor
        Operands by name.
    capacities : frozenset of str
        Tensors whose capacity was asked for; that of others grows with the result.
    seconds : Seconds
    """

    lowered: Lowered
    tensors: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    capacities: frozenset[str] = frozenset()
    seconds: Seconds = Seconds()

    @property
    def graph(self) -> Graph:
        """The SAMML graph."""
        return self.lowered.graph

    @property
    def statement(self) -> Statement:
        """The statement that was compiled."""
        return self.lowered.statement

    @property
    def order(self) -> tuple[str, ...]:
        """Loop variables, outermost first."""
        return self.lowered.order

    def run(self, tensors: Mapping[str, Tensor] | None = None) -> RunResult:
        """Run on the golden model and the cycle model, and compare the two and the truth.

        Parameters
        ----------
        tensors : mapping of str to Tensor, optional
            Other operands than the program's own.

        Raises
        ------
        TensorError
            An operand is missing or does not fit the statement.
        CapacityError
            An operand exceeds what the graph declares.
        VerificationError
            Golden meaning, cycle model and dense evaluation do not agree.
        """
        from sim_models import golden
        from sim_models.cycle.simulate import simulate

        operands = self._operands(tensors)
        truth = self._truth(operands)
        images = {name: tensor.image() for name, tensor in operands.items()}
        shapes = {self.statement.target.tensor: truth.shape}
        meant = golden.evaluate(self.graph, images, shapes)
        expected = self._tensor(meant.outputs)
        units = flatten(self._fitted(expected))
        started = time.perf_counter()
        model = simulate(units, images, shapes)
        seconds = replace(self.seconds, model=time.perf_counter() - started)
        result = self._tensor(model.outputs)
        _agree(result, expected, model.flags.overflow, meant.flags.overflow)
        return RunResult(
            result=result,
            cycles=model.cycles,
            ideal=simulate(units, images, shapes, ideal="unlimited").cycles,
            ideal_banks=simulate(units, images, shapes, ideal="banks").cycles,
            tokens=sum(
                report.tokens
                for report, edge in zip(model.edges, units.edges, strict=True)
                if edge.gated
            ),
            bottleneck=(model.bottleneck.name, model.bottleneck.firings),
            overflow=model.flags.overflow,
            max_error=self._error(result, truth),
            error_bound=0.0,
            seconds=seconds,
            model=model,
        )

    def generate(self, directory: str | Path) -> Bundle:
        """Write the Verilog bundle of the graph.

        Raises
        ------
        BundleError
            The directory cannot take it.
        """
        from gen.bundle import generate

        graph = self.graph
        if all(access.tensor in self.tensors for access in self.statement.operands):
            truth = self._truth(self._operands(None))
            form = self.lowered.formats[self.statement.target.tensor]
            graph = self._fitted(Tensor.from_numpy("result", truth.astype(np.int64), form))
        return generate(graph, directory)

    def verify(self, tensors: Mapping[str, Tensor] | None = None) -> VerifyResult:
        """Run the RTL under Verilator and compare it with the cycle model on every edge.

        Raises
        ------
        ToolError
            A tool is missing or a build failed.
        """
        from gen.tile import Tile
        from verif.compare import differences
        from verif.job import Run
        from verif.tile import build_tile

        run = self.run(tensors)
        graph = self._fitted(run.result)
        tile = build_tile(lambda: Tile(graph))
        job = Run(
            images={name: tensor.image() for name, tensor in self._operands(tensors).items()},
            shapes={self.statement.target.tensor: run.result.shape},
            limit=2 * run.cycles + 1000,
        )
        (record,) = tile.play([job])
        return VerifyResult(
            run=run,
            rtl_cycles=record.cycles,
            differences=tuple(differences(tile.plan.units, run.model, record)),
            seconds=replace(
                run.seconds,
                generate=tile.generate_seconds,
                build=tile.simulation.seconds,
                rtl=record.seconds,
            ),
        )

    def _operands(self, tensors: Mapping[str, Tensor] | None) -> dict[str, Tensor]:
        given = {**self.tensors, **(tensors or {})}
        operands: dict[str, Tensor] = {}
        for access in self.statement.operands:
            tensor = given.get(access.tensor)
            if tensor is None:
                raise TensorError(f"operand '{access.tensor}' has no tensor: give one")
            wanted = self.lowered.formats[access.tensor]
            operands[access.tensor] = tensor if tensor.format == wanted else tensor.convert(wanted)
        return operands

    def _tensor(self, outputs: Mapping[str, TensorImage]) -> Tensor:
        name = self.statement.target.tensor
        declared = self.graph.tensor(name)
        return Tensor.from_image(
            name, outputs[name], declared.format, fill=declared.fill, value=self.graph.value
        )

    def _error(self, result: Tensor, truth: np.ndarray[Any, np.dtype[np.float64]]) -> float:
        """Return the largest error; integers are judged modulo their word."""
        bits = self.graph.value.bits
        difference = np.abs(result.to_numpy() - truth) % float(1 << bits)
        difference = np.minimum(difference, float(1 << bits) - difference)
        return float(difference.max(initial=0.0))

    def _truth(self, operands: Mapping[str, Tensor]) -> np.ndarray[Any, np.dtype[np.float64]]:
        return evaluate_dense(
            self.statement, {name: tensor.to_numpy() for name, tensor in operands.items()}
        )

    def _fitted(self, result: Tensor) -> Graph:
        """Return the graph with room for a result; a capacity that was asked for stays.

        Raises
        ------
        CapacityError
            The result exceeds it.
        """
        declared = self.graph.tensor(self.statement.target.tensor)
        if all(map(operator.le, result.positions, declared.positions)):
            return self.graph
        if declared.name in self.capacities:
            raise CapacityError(
                f"result '{declared.name}' needs {result.positions} positions but the tile declares "
                f"{declared.positions}: raise its capacity"
            )
        roomy = replace(declared, positions=tuple(map(max, declared.positions, result.positions)))
        tensors = tuple(roomy if t.name == roomy.name else t for t in self.graph.tensors)
        return replace(self.graph, tensors=tensors)


def _agree(model: Tensor, meant: Tensor, model_overflow: bool, meant_overflow: bool) -> None:
    same = all(
        np.array_equal(ours, theirs)
        for ours, theirs in zip(model.entries(), meant.entries(), strict=True)
    )
    if not same or model_overflow != meant_overflow:
        raise VerificationError(
            f"golden meaning and cycle model disagree about '{model.name}': please report the "
            "statement, its formats and its order"
        )


def compile(
    statement: Statement | str,
    *operands: Tensor,
    formats: Mapping[str, Format | str] | None = None,
    order: Sequence[str] | str | None = None,
    dims: Mapping[str, int] | None = None,
    capacities: Mapping[str, int | Sequence[int]] | None = None,
) -> Program:
    """Compile a statement to a program.

    Parameters
    ----------
    statement : Statement or str
        Such as ``X(i,j) = B(i,k) * C(k,j)``, or what `einsum` returns.
    *operands : Tensor
        Real operands, matched by name; they give formats, capacities and densities.
    formats : mapping of str to Format or str, optional
        By tensor name; operands are converted where theirs differ.
    order : sequence of str or str, optional
        Loop order, such as ``i,k,j``; the cost model picks one otherwise.
    dims : mapping of str to int, optional
        Capacity of index variables that no operand bounds.
    capacities : mapping of str to int or sequence of int, optional
        Positions that the tile reserves for a tensor: of its innermost level, or of every level.

    Raises
    ------
    ParseError, LoweringError, CapacityError, TensorError
    """
    started = time.perf_counter()
    wanted = dict(formats or {})
    tensors: dict[str, Tensor] = {}
    for tensor in operands:
        form = wanted.get(tensor.name, tensor.format)
        form = Format.parse(form) if isinstance(form, str) else form
        tensors[tensor.name] = tensor if tensor.format == form else tensor.convert(form)
    lowered = compile_statement(
        statement, wanted, tensors=tensors, dims=dims, order=order, capacities=capacities
    )
    return Program(
        lowered,
        tensors,
        frozenset(capacities or ()),
        Seconds(compile=time.perf_counter() - started),
    )
