"""The Python API: compile a statement once, then run, generate or verify it.

>>> program = fuseflow.compile("X(i,j) = B(i,k) * C(k,j)", B, C)
>>> program.run().cycles
>>> program.generate("rtl")
>>> program.verify().bit_exact
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fuseflow.compiler import Access, Lowered, Statement, compile_statement, parse
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

ERROR_BOUND = 0.0
"""What integer results may differ from the truth by, modulo the word."""

DENSE_LIMIT = 1 << 24
"""Most elements of a tensor that is evaluated densely, for the float64 truth."""


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
    bottleneck : int
        The most firings of any one unit; no schedule of the graph takes fewer cycles.
    bottleneck_unit : str
        That unit.
    overflow : bool
        Whether an integer operation wrapped.
    max_error : float or None
        Largest distance to the float64 truth, modulo the integers' word; None where the operands
        are too large to evaluate densely, so that only the golden meaning judges.
    error_bound : float
        What it may be.
    model : CycleResult
        Figures per unit and edge.
    """

    result: Tensor
    cycles: int
    ideal: int
    ideal_banks: int
    tokens: int
    bottleneck: int
    bottleneck_unit: str
    overflow: bool
    max_error: float | None
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
        The earliest first; empty where values, tokens and cycles agree on every edge.
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
        operands = self._operands(tensors)
        return self._run(operands, _images(operands))

    def _run(self, operands: Mapping[str, Tensor], images: Mapping[str, TensorImage]) -> RunResult:
        from sim_models.cycle.simulate import simulate

        meant, overflow = self._golden(operands, images)
        shapes = {meant.name: meant.shape}
        units = flatten(self._fitted(meant))
        started = time.perf_counter()
        model = simulate(units, images, shapes)
        seconds = replace(self.seconds, model=time.perf_counter() - started)
        result = self._tensor(model.outputs)
        if not _same(result, meant) or model.flags.overflow != overflow:
            raise VerificationError(
                f"golden meaning and cycle model disagree about '{result.name}': please report the "
                "statement, its formats and its order"
            )
        error = self._error(result, operands)
        # Where sums wrap, float64 may have lost the low bits that int32 keeps.
        if error is not None and error > ERROR_BOUND and not overflow:
            raise VerificationError(
                f"result '{result.name}' is {error} away from the dense evaluation: please report "
                "the statement, its formats and its order"
            )
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
            bottleneck=model.bottleneck.firings,
            bottleneck_unit=model.bottleneck.name,
            overflow=model.flags.overflow,
            max_error=error,
            error_bound=ERROR_BOUND,
            seconds=seconds,
            model=model,
        )

    def fitted(self) -> Graph:
        """Return the graph with room for the result of the program's own operands.

        Without all operands it is `graph`, with the default capacity.

        Raises
        ------
        CapacityError
            The result exceeds the capacity that was asked for.
        """
        if any(access.tensor not in self.tensors for access in self.statement.operands):
            return self.graph
        operands = self._operands(None)
        declared = self.graph.tensor(self.statement.target.tensor)
        if all(map(operator.le, self._volume(operands), declared.positions)):
            return self.graph
        return self._fitted(self._golden(operands, _images(operands))[0])

    def generate(self, directory: str | Path) -> Bundle:
        """Write the Verilog bundle of the graph.

        Raises
        ------
        OutputError
            The directory cannot take it.
        """
        from gen.bundle import generate

        return generate(self.fitted(), directory)

    def verify(self, tensors: Mapping[str, Tensor] | None = None) -> VerifyResult:
        """Run the RTL under Verilator and compare it with the cycle model on every edge.

        Raises
        ------
        ToolError
            A tool is missing or a build failed.
        """
        from gen.tile import Tile
        from sim_models.cycle.simulate import simulate
        from verif.compare import differences, first_difference
        from verif.job import Run
        from verif.tile import build_tile

        operands = self._operands(tensors)
        images = _images(operands)
        run = self._run(operands, images)
        graph = self._fitted(run.result)
        tile = build_tile(lambda: Tile(graph))
        job = Run(
            images=images,
            shapes={run.result.name: run.result.shape},
            limit=2 * run.cycles + 1000,
        )
        (record,) = tile.play([job])
        found = differences(tile.plan.units, run.model, record)
        if found:
            (traced,) = tile.play([replace(job, trace=True)])
            model = simulate(tile.plan.units, job.images, job.shapes, trace=True)
            first = first_difference(tile.plan.units, model, traced.events)
            found = [first, *found] if first else found
        return VerifyResult(
            run=run,
            rtl_cycles=record.cycles,
            differences=tuple(found),
            seconds=replace(
                run.seconds,
                generate=tile.generate_seconds,
                build=tile.simulation.seconds,
                rtl=record.seconds,
            ),
        )

    def _operands(self, tensors: Mapping[str, Tensor] | None) -> dict[str, Tensor]:
        given = {**self.tensors, **(tensors or {})}
        known = [access.tensor for access in self.statement.operands]
        for name in given:
            if name not in known:
                raise TensorError(f"'{self.statement}' has no operand '{name}'")
        operands: dict[str, Tensor] = {}
        for access in self.statement.operands:
            tensor = given.get(access.tensor)
            if tensor is None:
                raise TensorError(
                    f"operand '{access.tensor}' has no tensor: give one (--tensor "
                    f"{access.tensor}=FILE)"
                )
            wanted = self.lowered.formats[access.tensor]
            if tensor.format != wanted:
                tensor = tensor.convert(wanted)
            _check_capacity(tensor, self.graph)
            operands[access.tensor] = tensor
        return operands

    def _golden(
        self, operands: Mapping[str, Tensor], images: Mapping[str, TensorImage]
    ) -> tuple[Tensor, bool]:
        """Return the golden result, however large it is, and whether an operation wrapped."""
        from sim_models import golden

        target = self.statement.target
        meant = golden.evaluate(
            self._with_room(self._volume(operands)),
            images,
            {target.tensor: self._shape(operands)},
        )
        return self._tensor(meant.outputs), meant.flags.overflow

    def _shape(self, operands: Mapping[str, Tensor]) -> tuple[int, ...]:
        sizes: dict[str, tuple[int, Access]] = {}
        for access in self.statement.operands:
            for index, size in zip(access.indices, operands[access.tensor].shape, strict=True):
                other, first = sizes.setdefault(index, (size, access))
                if other != size:
                    raise TensorError(
                        f"index {index} has size {other} in {first} but {size} in {access}"
                    )
        return tuple(sizes[index][0] for index in self.statement.target.indices)

    def _volume(self, operands: Mapping[str, Tensor]) -> tuple[int, ...]:
        """Return the positions of every level of a result without a zero."""
        shape = self._shape(operands)
        form = self.lowered.formats[self.statement.target.tensor]
        return tuple(accumulate([shape[mode] for mode in form.order], operator.mul))

    def _tensor(self, outputs: Mapping[str, TensorImage]) -> Tensor:
        name = self.statement.target.tensor
        declared = self.graph.tensor(name)
        return Tensor.from_image(
            name, outputs[name], declared.format, fill=declared.fill, value=self.graph.value
        )

    def _error(self, result: Tensor, operands: Mapping[str, Tensor]) -> float | None:
        """Return the largest distance to the float64 truth, modulo the integers' word."""
        if max(math.prod(tensor.shape) for tensor in (result, *operands.values())) > DENSE_LIMIT:
            return None
        truth = evaluate_dense(
            self.statement, {name: tensor.to_numpy() for name, tensor in operands.items()}
        )
        word = float(1 << self.graph.value.bits)
        difference = np.abs(result.to_numpy() - truth) % word
        return float(np.minimum(difference, word - difference).max(initial=0.0))

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
                f"result '{declared.name}' needs {result.positions} positions but the tile "
                f"declares {declared.positions}: raise its capacity"
            )
        return self._with_room(result.positions)

    def _with_room(self, positions: tuple[int, ...]) -> Graph:
        """Return the graph with at least these capacities for its result."""
        name = self.statement.target.tensor
        tensors = tuple(
            replace(tensor, positions=tuple(map(max, tensor.positions, positions)))
            if tensor.name == name
            else tensor
            for tensor in self.graph.tensors
        )
        return replace(self.graph, tensors=tensors)


def _images(operands: Mapping[str, Tensor]) -> dict[str, TensorImage]:
    return {name: tensor.image() for name, tensor in operands.items()}


def _check_capacity(tensor: Tensor, graph: Graph) -> None:
    declared = graph.tensor(tensor.name)
    for what, needs, has in (
        ("shape", tensor.shape, declared.dims),
        ("positions", tensor.positions, declared.positions),
    ):
        if not all(map(operator.le, needs, has)):
            raise CapacityError(
                f"operand '{tensor.name}' has {what} {needs} but the tile declares {has}: compile "
                "with larger dims and capacities"
            )


def _same(left: Tensor, right: Tensor) -> bool:
    """Tell whether two tensors store the same entries at the same places."""
    same = all(map(np.array_equal, left.entries(), right.entries()))
    return same and left.positions == right.positions


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
    if isinstance(statement, str):
        statement = parse(statement)
    wanted = _formats(statement, formats or {})
    tensors: dict[str, Tensor] = {}
    for tensor in operands:
        if tensor.name in tensors and tensor is not tensors[tensor.name]:
            raise TensorError(f"two operands are named '{tensor.name}': rename one")
        tensors[tensor.name] = tensor
    for name, tensor in tensors.items():
        form = wanted.get(name, tensor.format)
        tensors[name] = tensor if tensor.format == form else tensor.convert(form)
    lowered = compile_statement(
        statement, wanted, tensors=tensors, dims=dims, order=order, capacities=capacities
    )
    return Program(
        lowered,
        tensors,
        frozenset(capacities or ()),
        Seconds(compile=time.perf_counter() - started),
    )


def _formats(statement: Statement, formats: Mapping[str, Format | str]) -> dict[str, Format]:
    """Read format names; ``dense`` and ``sparse`` take the rank of the tensor."""
    ranks = {
        access.tensor: len(access.indices) for access in (statement.target, *statement.operands)
    }
    return {
        name: Format.parse(form, ranks.get(name)) if isinstance(form, str) else form
        for name, form in formats.items()
    }
