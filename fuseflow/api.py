"""The Python API: compile a statement once, then run, generate or verify it.

>>> program = fuseflow.compile("X(i,j) = B(i,k) * C(k,j)", B, C)  # or load("matmul.gv", B, C)
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
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fuseflow.compiler import Access, Lowered, Statement, Truth, compile_statement, parse
from fuseflow.compiler import evaluate as evaluate_dense
from fuseflow.compiler.expr import masks_of
from fuseflow.compiler.truth import DENSE_LIMIT
from fuseflow.samml.errors import (
    CapacityError,
    SimulationError,
    TensorError,
    VerificationError,
)
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Graph, Role
from fuseflow.samml.image import TensorImage
from fuseflow.samml.units import UnitGraph, flatten
from fuseflow.samml.values import INT32, Number, ValueType, value_type
from fuseflow.tensor import Tensor
from fuseflow.tensor.conversion import Conversion, ConversionCost

if TYPE_CHECKING:
    from fuseflow.interchange import Custard, Imported, Signature
    from fuseflow.traces import Stalls
    from gen.bundle import Bundle
    from sim_models.cycle.result import CycleResult


@dataclass(frozen=True)
class ConversionStep:
    """A conversion that a program does before or after its graph runs, with what it costs."""

    conversion: Conversion
    cost: ConversionCost


@dataclass(frozen=True, eq=False)
class Operands:
    """The operands of a run.

    Attributes
    ----------
    given : dict of str to Tensor
        By the statement's names.
    stored : dict of str to Tensor
        As the graph stores them, under its names.
    steps : tuple of ConversionStep
        What it took to bring them there.
    """

    given: dict[str, Tensor]
    stored: dict[str, Tensor]
    steps: tuple[ConversionStep, ...]

    @cached_property
    def images(self) -> dict[str, TensorImage]:
        """The arrays that the tile holds."""
        return {name: tensor.image() for name, tensor in self.stored.items()}


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
    results : dict of str to Tensor
        Everything that the graph stores.
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
        Whether an integer operation wrapped, or a floating-point one gave an infinity.
    max_error : float or None
        Largest distance to the float64 truth; modulo the word where integers wrapped. None where
        the operands are too large to evaluate densely, so that only the golden meaning judges.
    error_bound : float or None
        What rounding explains there (`fuseflow.compiler.truth`); 0 for integers.
    conversions : tuple of ConversionStep
        Conversions of operands before the graph runs, and of its result afterwards; their cycles
        are not among `cycles`.
    model : CycleResult
        Figures per unit and edge, and the traces where they were asked for.
    units : UnitGraph
        The flattened graph that it ran.
    """

    results: dict[str, Tensor]
    cycles: int
    ideal: int
    ideal_banks: int
    tokens: int
    bottleneck: int
    bottleneck_unit: str
    overflow: bool
    max_error: float | None
    error_bound: float | None
    conversions: tuple[ConversionStep, ...]
    seconds: Seconds
    model: CycleResult
    units: UnitGraph

    @property
    def result(self) -> Tensor:
        """The last result: the only one, unless several statements are fused."""
        return list(self.results.values())[-1]

    def write_trace(self, path: str | Path) -> None:
        """Write every token of every edge: ``.json``, ``.json.gz`` (Perfetto, Chrome) or ``.vcd``.

        Raises
        ------
        OutputError
            The suffix is another one, or the path is a directory.
        SimulationError
            The run was not traced.
        """
        from fuseflow.traces import write_trace

        write_trace(path, self.units, self._traced())

    def stalls(self) -> Stalls:
        """Return which units and edges held the run back, and why.

        Raises
        ------
        SimulationError
            The run was not traced.
        """
        from fuseflow.traces import find_stalls

        return find_stalls(self.units, self._traced())

    def _traced(self) -> CycleResult:
        if not self.model.traces:
            raise SimulationError("the run kept no traces: run it with trace=True")
        return self.model


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
    """A compiled statement, or a graph that was read, with the operands it is for, if any.

    Attributes
    ----------
    lowered : Lowered or Imported
    tensors : dict of str to Tensor
        Operands by name.
    capacities : frozenset of str
        Tensors whose capacity was asked for; that of others grows with the result.
    seconds : Seconds
    """

    lowered: Lowered | Imported
    tensors: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    capacities: frozenset[str] = frozenset()
    seconds: Seconds = Seconds()

    @property
    def graph(self) -> Graph:
        """The SAMML graph."""
        return self.lowered.graph

    @property
    def statement(self) -> Statement | Signature:
        """The statement that was compiled, or what is known of a graph that was read."""
        return self.lowered.statement

    @property
    def order(self) -> tuple[str, ...]:
        """Loop variables, outermost first."""
        return self.lowered.order

    def run(self, tensors: Mapping[str, Tensor] | None = None, *, trace: bool = False) -> RunResult:
        """Run on the golden model and the cycle model, and compare the two and the truth.

        Parameters
        ----------
        tensors : mapping of str to Tensor, optional
            Other operands than the program's own.
        trace : bool
            Keep every token of every edge, for `RunResult.write_trace` and `RunResult.stalls`.

        Raises
        ------
        TensorError
            An operand is missing or does not fit the statement.
        CapacityError
            An operand exceeds what the graph declares.
        VerificationError
            Golden meaning, cycle model and dense evaluation do not agree.
        """
        return self._run(self._operands(tensors), trace=trace)

    def _run(self, operands: Operands, *, trace: bool = False) -> RunResult:
        from sim_models.cycle.simulate import simulate

        images = operands.images
        meant, overflow = self._golden(operands, images)
        shapes = {name: tensor.shape for name, tensor in meant.items()}
        units = flatten(self._fitted(meant))
        started = time.perf_counter()
        model = simulate(units, images, shapes, trace=trace)
        seconds = replace(self.seconds, model=time.perf_counter() - started)
        stored = self._tensors(model.outputs)
        differing = [name for name in stored if not _same(stored[name], meant[name])]
        if differing or model.flags.overflow != overflow:
            names = ", ".join(differing or stored)
            raise VerificationError(
                f"golden meaning and cycle model disagree about '{names}': please report the "
                "statement, its formats and its order"
            )
        error, bound = self._errors(stored, operands, overflow=overflow)
        results: dict[str, Tensor] = {}
        steps: list[ConversionStep] = []
        for name, tensor in stored.items():
            results[name], taken = _convert(tensor, name, self.lowered.wanted[name])
            steps += taken
        return RunResult(
            results=results,
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
            error_bound=bound,
            conversions=(*operands.steps, *steps),
            seconds=seconds,
            model=model,
            units=units,
        )

    def fitted(self) -> Graph:
        """Return the graph with room for the result of the program's own operands.

        Without all operands it is `graph`, with the default capacity.

        Raises
        ------
        CapacityError
            The result exceeds the capacity that was asked for.
        """
        if any(access.tensor not in self.tensors for access in self.lowered.inputs):
            return self.graph
        operands = self._operands(None)
        if self._with_room(self._volumes(operands.given)) == self.graph:
            return self.graph
        return self._fitted(self._golden(operands, operands.images)[0])

    def generate(self, directory: str | Path) -> Bundle:
        """Write the Verilog bundle of the graph.

        Raises
        ------
        OutputError
            The directory cannot take it.
        """
        from gen.bundle import generate

        return generate(self.fitted(), directory)

    def verify(
        self, tensors: Mapping[str, Tensor] | None = None, *, waves: str | Path | None = None
    ) -> VerifyResult:
        """Run the RTL under Verilator and compare it with the cycle model on every edge.

        Parameters
        ----------
        tensors : mapping of str to Tensor, optional
            Other operands than the program's own.
        waves : path, optional
            Where the waves of the RTL go, as VCD; also those of a run that fails.

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
        from verif.toolchain import require_tools

        require_tools()
        operands = self._operands(tensors)
        run = self._run(operands)
        tile = build_tile(
            lambda: Tile(run.units.graph), waves=None if waves is None else Path(waves)
        )
        job = Run(
            images=operands.images,
            shapes={name: tensor.shape for name, tensor in run.results.items()},
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

    def _operands(self, tensors: Mapping[str, Tensor] | None) -> Operands:
        given = {**self.tensors, **(tensors or {})}
        known = {access.tensor for access in self.lowered.inputs}
        for name, tensor in given.items():
            if name not in known:
                raise TensorError(f"'{self.statement}' has no operand '{name}'")
            if tensor.value != self.graph.value:
                raise TensorError(
                    f"operand '{name}' is {tensor.value.name}, the program is compiled for "
                    f"{self.graph.value.name}: give both one value type"
                )
        sources = {copy.name: copy.tensor for copy in self.lowered.copies}
        masks = masks_of(self.lowered.results)
        stored: dict[str, Tensor] = {}
        steps: list[ConversionStep] = []
        for declared in self.graph.tensors:
            if declared.role == Role.INPUT:
                source = given.get(sources.get(declared.name, declared.name))
                if source is None:
                    raise TensorError(
                        f"operand '{declared.name}' has no tensor: give one (--tensor "
                        f"{declared.name}=FILE)"
                    )
                if source.fill != declared.fill:
                    raise TensorError(
                        f"operand '{source.name}' has fill {source.fill}, the program is compiled "
                        f"for {declared.fill}: compile it with this operand"
                    )
                _check_mask(source, declared.name in masks)
                stored[declared.name], step = _convert(source, declared.name, declared.format)
                steps += step
                _check_capacity(stored[declared.name], self.graph)
        return Operands({name: given[name] for name in known}, stored, tuple(steps))

    def _golden(
        self, operands: Operands, images: Mapping[str, TensorImage]
    ) -> tuple[dict[str, Tensor], bool]:
        """Return the golden results, however large, and whether an operation wrapped."""
        from sim_models import golden

        meant = golden.evaluate(
            self._with_room(self._volumes(operands.given)), images, self._shapes(operands.given)
        )
        return self._tensors(meant.outputs), meant.flags.overflow

    def _shapes(self, operands: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
        """Return the shape of every result."""
        sizes: dict[str, tuple[int, Access]] = {}
        for access in self.lowered.inputs:
            for index, size in zip(access.indices, operands[access.tensor].shape, strict=True):
                other, first = sizes.setdefault(index, (size, access))
                if other != size:
                    raise TensorError(
                        f"index {index} has size {other} in {first} but {size} in {access}"
                    )
        return {
            target.tensor: tuple(sizes[index][0] for index in target.indices)
            for target in self.lowered.targets
        }

    def _volumes(self, operands: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
        """Return the positions of every level of results without a zero."""
        return {
            name: self.graph.tensor(name).format.volume(shape)
            for name, shape in self._shapes(operands).items()
        }

    def _tensors(self, outputs: Mapping[str, TensorImage]) -> dict[str, Tensor]:
        tensors: dict[str, Tensor] = {}
        for target in self.lowered.targets:
            name = target.tensor
            declared = self.graph.tensor(name)
            tensors[name] = Tensor.from_image(
                name, outputs[name], declared.format, fill=declared.fill, value=self.graph.value,
                computed=True,
            )  # fmt: skip
        return tensors

    def _errors(
        self, stored: Mapping[str, Tensor], operands: Operands, *, overflow: bool
    ) -> tuple[float | None, float | None]:
        """Return the largest distance to the float64 truth, and what rounding explains there.

        Raises
        ------
        VerificationError
            The distance is larger, though nothing overflowed.
        """
        results = self.lowered.results
        if not results:
            return None, None
        tensors = (*stored.values(), *operands.given.values())
        if max(math.prod(tensor.shape) for tensor in tensors) > DENSE_LIMIT:
            return None, None
        arrays = {name: tensor.to_numpy() for name, tensor in operands.given.items()}
        fills = {name: tensor.fill for name, tensor in operands.given.items()}
        for copy in self.lowered.copies:
            arrays[copy.name], fills[copy.name] = arrays[copy.tensor], fills[copy.tensor]
        worst: tuple[float | None, float | None] = None, None
        for result in results:
            truth = evaluate_dense(result, arrays, self.graph.value, fills)
            if truth is None:
                return None, None
            found = self._error(stored[result.target.tensor], truth, overflow=overflow)
            worst = max(worst, found, key=lambda pair: -1.0 if pair[0] is None else pair[0])
        return worst

    def _error(self, result: Tensor, truth: Truth, *, overflow: bool) -> tuple[float, float]:
        value = self.graph.value
        found = result.to_numpy().astype(np.float64)
        with np.errstate(invalid="ignore"):
            error = np.abs(found - truth.value)
        if overflow and not value.is_float:
            word = float(1 << value.bits)
            error = np.minimum(error % word, word - error % word)
        # Where the truth is NaN, it met 0 * inf or inf - inf, which sparsity may leave out.
        same = (found == truth.value) | np.isnan(truth.value)
        error = np.where(same, 0.0, error)
        if not error.size:
            return 0.0, 0.0
        worst = np.unravel_index(np.argmax(error - truth.bound), error.shape)
        blame = "please report the statement, its formats and its order"
        if not isinstance(self.lowered, Lowered):
            blame = f"the graph computes something else than '{self.statement}'"
        if error[worst] > truth.bound[worst] and not overflow:
            raise VerificationError(
                f"result '{result.name}' is {error[worst]} away from the dense evaluation at "
                f"{tuple(map(int, worst))}, rounding explains {truth.bound[worst]}: {blame}"
            )
        largest = np.unravel_index(np.argmax(error), error.shape)
        return float(error[largest]), float(truth.bound[largest])

    def _fitted(self, results: Mapping[str, Tensor]) -> Graph:
        """Return the graph with room for its results; a capacity that was asked for stays.

        Raises
        ------
        CapacityError
            A result exceeds it.
        """
        for name, result in results.items():
            declared = self.graph.tensor(name)
            fits = all(map(operator.le, result.positions, declared.positions))
            if not fits and name in self.capacities:
                raise CapacityError(
                    f"result '{name}' needs {result.positions} positions but the tile declares "
                    f"{declared.positions}: raise its capacity"
                )
        return self._with_room({name: result.positions for name, result in results.items()})

    def _with_room(self, positions: Mapping[str, tuple[int, ...]]) -> Graph:
        """Return the graph with at least these capacities for its results."""
        tensors = tuple(
            replace(tensor, positions=tuple(map(max, tensor.positions, positions[tensor.name])))
            if tensor.name in positions
            else tensor
            for tensor in self.graph.tensors
        )
        return replace(self.graph, tensors=tensors)


def _convert(tensor: Tensor, name: str, form: Format) -> tuple[Tensor, list[ConversionStep]]:
    """Store a tensor in a format under a name; no step where it is stored so already."""
    if tensor.format == form:
        return tensor.rename(name), []
    step = Conversion(tensor.name, name, tensor.format, form)
    copy = step.apply(tensor)
    return copy, [ConversionStep(step, step.cost(tensor, copy))]


def _check_mask(tensor: Tensor, is_mask: bool) -> None:
    if is_mask and (tensor.entries()[1] == tensor.fill).any():
        raise TensorError(
            f"mask '{tensor.name}' stores entries that equal its fill {tensor.fill}: leave them out"
        )


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
    """Tell whether two tensors of one format store the same words at the same places."""
    return all(map(np.array_equal, left.levels.arrays, right.levels.arrays))


def compile(
    statement: Statement | str,
    *operands: Tensor,
    formats: Mapping[str, Format | str] | None = None,
    order: Sequence[str] | str | None = None,
    dims: Mapping[str, int] | None = None,
    capacities: Mapping[str, int | Sequence[int]] | None = None,
    value: ValueType | str | None = None,
    fills: Mapping[str, Number] | None = None,
    auto_convert: bool = False,
    keep_explicit: bool = False,
) -> Program:
    """Compile a statement to a program.

    Parameters
    ----------
    statement : Statement or str
        Such as ``X(i,j) = B(i,k) * C(k,j)``, or what `einsum` returns.
    *operands : Tensor
        Real operands, matched by name; they give formats, fills, capacities and densities.
    formats : mapping of str to Format or str, optional
        By tensor name; a program converts operands where theirs differ, and counts it.
    order : sequence of str or str, optional
        Loop order, such as ``i,k,j``; the cost model picks one otherwise.
    dims : mapping of str to int, optional
        Capacity of index variables that no operand bounds.
    capacities : mapping of str to int or sequence of int, optional
        Positions that the tile reserves for a tensor: of its innermost level, or of every level.
    value : ValueType or str, optional
        The value type: that of the operands by default, or int32.
    fills : mapping of str to number, optional
        What operands that are not given are where they store nothing; 0 by default.
    auto_convert : bool
        Where storage orders contradict each other or the loop order, convert tensors.
    keep_explicit : bool
        Let a compressed result store entries that equal its fill.

    Raises
    ------
    ParseError, LoweringError, CapacityError, TensorError
    """
    started = time.perf_counter()
    if isinstance(statement, str):
        statement = parse(statement)
    wanted = _formats(statement, formats or {})
    tensors, stored = _stored(operands, wanted)
    lowered = compile_statement(
        statement,
        wanted,
        tensors=stored,
        dims=dims,
        order=order,
        capacities=capacities,
        value=_value_type(value, operands),
        fills=fills,
        auto_convert=auto_convert,
        keep_explicit=keep_explicit,
    )
    return Program(
        lowered,
        tensors,
        frozenset(capacities or ()),
        Seconds(compile=time.perf_counter() - started),
    )


def load(
    source: str | Path | Custard,
    *operands: Tensor,
    einsum: str | None = None,
    dims: Mapping[str, int] | None = None,
    capacities: Mapping[str, int | Sequence[int]] | None = None,
    value: ValueType | str | None = None,
) -> Program:
    """Read a dataflow graph of Custard, the compiler of the Sparse Abstract Machine.

    Parameters
    ----------
    source : str or Path or Custard
        A ``.gv`` file.
    *operands : Tensor
        Real operands, matched by name; a program converts them to the formats of the file.
    einsum : str, optional
        The statement that the graph computes; results are judged against it.
    dims, capacities, value
        As for `compile`.

    Raises
    ------
    ParseError, LoweringError, CapacityError, TensorError
    """
    from fuseflow.interchange import Custard, open_custard

    started = time.perf_counter()
    read = source if isinstance(source, Custard) else open_custard(source)
    tensors, stored = _stored(operands, read.formats)
    lowered = read.lower(
        list(stored.values()),
        einsum=einsum,
        dims=dims,
        capacities=capacities,
        value=_value_type(value, operands),
    )
    return Program(
        lowered,
        tensors,
        frozenset(capacities or ()),
        Seconds(compile=time.perf_counter() - started),
    )


def _stored(
    operands: Sequence[Tensor], formats: Mapping[str, Format]
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return operands by name, as they are and in the formats that a graph stores them in."""
    tensors: dict[str, Tensor] = {}
    for tensor in operands:
        if tensor.name in tensors and tensor is not tensors[tensor.name]:
            raise TensorError(f"two operands are named '{tensor.name}': rename one")
        tensors[tensor.name] = tensor
    stored = {
        name: tensor.convert(formats.get(name, tensor.format)) for name, tensor in tensors.items()
    }
    return tensors, stored


def _value_type(value: ValueType | str | None, operands: Sequence[Tensor]) -> ValueType:
    if isinstance(value, str):
        value = value_type(value)
    for tensor in operands:
        if value is not None and tensor.value != value:
            raise TensorError(
                f"operand '{tensor.name}' is {tensor.value.name}, not {value.name}: give all "
                "operands one value type"
            )
        value = tensor.value
    return value or INT32


def _formats(statement: Statement, formats: Mapping[str, Format | str]) -> dict[str, Format]:
    """Read format names; ``dense`` and ``sparse`` take the rank of the tensor."""
    ranks = {
        access.tensor: len(access.indices) for access in (statement.target, *statement.operands)
    }
    return {
        name: Format.parse(form, ranks.get(name)) if isinstance(form, str) else form
        for name, form in formats.items()
    }
