"""A kernel: one compiled graph that is run, sized, or compared with its RTL."""

from __future__ import annotations

import operator
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fuseflow.closed import Meant, corrected, ideal_cycles, is_closed
from fuseflow.compiler import Access, Lowered, Statement, Truth
from fuseflow.compiler.expr import masks_of
from fuseflow.judge import dense, judge, truth_of
from fuseflow.outcome import ConversionStep, KernelRun, KernelVerify, Seconds
from fuseflow.samml.errors import CapacityError, SimulationError, TensorError, VerificationError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Graph, Role
from fuseflow.samml.image import TensorImage
from fuseflow.samml.units import flatten
from fuseflow.tensor import Tensor
from fuseflow.tensor.conversion import Conversion

if TYPE_CHECKING:
    from fuseflow.interchange import Imported, Signature

SHORT = 100_000
"""Cycles up to which RTL is sooner built and run without the C++ compiler's optimizations."""


@dataclass(frozen=True, eq=False)
class Operands:
    """The operands of a run.

    Attributes
    ----------
    given : dict of str to Tensor
        By the statements' names.
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


@dataclass
class Shelf:
    """The tensors that are there while the graphs of a program run one after the other.

    Attributes
    ----------
    tensors : dict of str to Tensor
    copies : dict of (str, Format) to Tensor
        In other formats: what one graph had converted, the next ones read too.
    """

    tensors: dict[str, Tensor]
    copies: dict[tuple[str, Format], Tensor] = field(
        default_factory=dict[tuple[str, Format], Tensor]
    )

    def take(self, tensor: Tensor, name: str, form: Format) -> tuple[Tensor, list[ConversionStep]]:
        """Return a tensor in a format under a name, with the conversion that this took, if any."""
        if tensor.format == form:
            return tensor.rename(name), []
        key = tensor.name, form
        if key in self.copies:
            return self.copies[key].rename(name), []
        step = Conversion(tensor.name, name, tensor.format, form)
        self.copies[key] = copy = step.apply(tensor)
        return copy, [ConversionStep(step, step.cost(tensor, copy))]


@dataclass(frozen=True, eq=False)
class Kernel:
    """One graph of a program.

    Attributes
    ----------
    lowered : Lowered or Imported
    name : str
        Its place in the program and its last result, such as ``1_T0``.
    fixed : frozenset of str
        Tensors whose capacity was asked for; that of others grows with the result.
    computed : frozenset of str
        Operands that an earlier graph stores: their capacity grows too.
    """

    lowered: Lowered | Imported
    name: str = ""
    fixed: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()

    @property
    def graph(self) -> Graph:
        """The SAMML graph."""
        return self.lowered.graph

    @property
    def statement(self) -> Statement | Signature:
        """The last statement, or what is known of a graph that was read."""
        return self.lowered.statement

    @property
    def statements(self) -> tuple[Statement | Signature, ...]:
        """Every statement that became the graph."""
        return self.lowered.statements if isinstance(self.lowered, Lowered) else (self.statement,)

    @property
    def order(self) -> tuple[str, ...]:
        """Loop variables, outermost first."""
        return self.lowered.order

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tensors that it reads."""
        return tuple(dict.fromkeys(access.tensor for access in self.lowered.inputs))

    @property
    def targets(self) -> tuple[str, ...]:
        """The tensors that it stores."""
        return tuple(target.tensor for target in self.lowered.targets)

    def run(
        self, shelf: Shelf, *, trace: bool = False, closed_form: bool | None = None
    ) -> KernelRun:
        """Run on the golden model and the cycle model, and compare the two and the truth.

        Parameters
        ----------
        shelf : Shelf
            Holds the operands.
        trace : bool
            Keep every token of every edge.
        closed_form : bool or None
            See `fuseflow.api.Program.run`.

        Raises
        ------
        TensorError
            An operand is missing or does not fit the statement.
        CapacityError
            An operand exceeds what the graph declares.
        VerificationError
            Golden meaning, cycle model and dense evaluation do not agree.
        """
        return self._run(self._operands(shelf), shelf, trace=trace, closed_form=closed_form)

    def _run(
        self,
        operands: Operands,
        shelf: Shelf,
        *,
        trace: bool = False,
        closed_form: bool | None = False,
    ) -> KernelRun:
        from sim_models.cycle.simulate import simulate

        if trace and closed_form:
            raise SimulationError("a traced run keeps every token: run it without closed_form")
        images = operands.images
        golden = self._golden(operands, closed=not trace and is_closed(self.lowered, closed_form))
        meant, overflow = self._tensors(golden.outputs), golden.flags.overflow
        form = golden.form(closed_form)
        shapes = {name: tensor.shape for name, tensor in meant.items()}
        units = flatten(self._fitted(operands, meant))
        started = time.perf_counter()
        model = simulate(units, images, shapes, trace=trace, digests=form is None, closed=form)
        seconds = Seconds(model=time.perf_counter() - started)
        wrong: frozenset[str] = frozenset()
        if model.skipped:
            model, wrong = corrected(units, model, golden)
        stored = self._tensors(model.outputs)
        differing = [
            name for name in stored if name in wrong or not _same(stored[name], meant[name])
        ]
        if differing or model.flags.overflow != overflow:
            names = ", ".join(differing or stored)
            raise VerificationError(
                f"golden meaning and cycle model disagree about '{names}': please report the "
                "statement, its formats and its order"
            )
        truths = self.truths({name: dense(each) for name, each in operands.given.items()}, shelf)
        verdicts = {
            name: judge(stored[name], truth, overflow=overflow, blame=self.blame)
            for name, truth in truths.items()
        }
        results, steps = self._wanted(stored, shelf)
        ideal, ideal_banks = ideal_cycles(units, images, shapes, form)
        return KernelRun(
            name=self.name,
            results=results,
            ideal=ideal,
            ideal_banks=ideal_banks,
            verdicts=verdicts,
            conversions=(*operands.steps, *steps),
            seconds=seconds,
            model=model,
            units=units,
            truths=truths,
        )

    def measure(self, shelf: Shelf, *, closed_form: bool | None = None) -> KernelRun:
        """Run on the cycle model alone, for cycles of runs that are too large for the golden one.

        No value is checked, and the ideal cycles are 0. Where periods were skipped, the values
        are golden ones.

        Parameters
        ----------
        shelf : Shelf
            Holds the operands.
        closed_form : bool or None
            See `fuseflow.api.Program.run`.

        Raises
        ------
        TensorError, CapacityError
            See `run`.
        """
        from sim_models.cycle.simulate import simulate

        operands = self._operands(shelf)
        graph = self._with_room(self._volumes(operands), self._needs(operands))
        units = flatten(graph)
        started = time.perf_counter()
        golden, form = None, None
        if is_closed(self.lowered, closed_form):
            golden = self._golden(operands, closed=True)
            form = golden.form(closed_form)
        shapes = self._shapes(operands)
        model = simulate(units, operands.images, shapes, digests=False, closed=form)
        if golden is not None and model.skipped:
            model, _ = corrected(units, model, golden)
        seconds = Seconds(model=time.perf_counter() - started)
        results, steps = self._wanted(self._tensors(model.outputs), shelf)
        conversions = (*operands.steps, *steps)
        return KernelRun(
            self.name, results, 0, 0, {}, conversions, seconds, model, units, truths={}
        )

    @property
    def blame(self) -> str:
        """What to do where a result is wrong."""
        if isinstance(self.lowered, Lowered):
            return "please report the statement, its formats and its order"
        return f"the graph computes something else than '{self.statement}'"

    def truths(
        self, arrays: Mapping[str, np.ndarray[Any, Any] | Truth | None], shelf: Shelf
    ) -> dict[str, Truth | None]:
        """Evaluate the results on dense operands, in float64.

        Parameters
        ----------
        arrays : mapping of str to ndarray, Truth or None
            Every operand; None where it is too large.
        shelf : Shelf
            Holds the operands, whose fills it needs.
        """
        fills = {name: shelf.tensors[name].fill for name in arrays}
        copies = {copy.name: copy.tensor for copy in self.lowered.copies}
        arrays = {**arrays, **{name: arrays[source] for name, source in copies.items()}}
        fills |= {name: fills[source] for name, source in copies.items()}
        return {
            result.target.tensor: truth_of(result, arrays, self.graph.value, fills)
            for result in self.lowered.results
        }

    def size(self, shelf: Shelf, *, store: bool) -> Graph:
        """Return the graph with room for what it meets; without all operands, as it is.

        Parameters
        ----------
        shelf : Shelf
        store : bool
            Put the results on it: later graphs read them.

        Raises
        ------
        CapacityError
            A result exceeds the capacity that was asked for.
        """
        if any(name not in shelf.tensors for name in self.inputs):
            return self.graph
        operands = self._operands(shelf)
        roomy = self._with_room(self._volumes(operands), self._needs(operands))
        if roomy == self.graph and not store:
            return roomy
        found = self._golden(operands, closed=is_closed(self.lowered, None))
        meant = self._tensors(found.outputs)
        graph = self._fitted(operands, meant)
        shelf.tensors |= self._wanted(meant, shelf)[0]
        return graph

    def verify(self, shelf: Shelf, *, waves: Path | None = None) -> KernelVerify:
        """Run the RTL under Verilator and compare it with the cycle model on every edge.

        Parameters
        ----------
        shelf : Shelf
            Holds the operands.
        waves : Path, optional
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

        operands = self._operands(shelf)
        run = self._run(operands, shelf)
        tile = build_tile(lambda: Tile(run.units.graph), optimize=run.cycles > SHORT, waves=waves)
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
        return KernelVerify(
            run=run,
            rtl_cycles=record.cycles,
            differences=tuple(found),
            seconds=run.seconds
            + Seconds(
                generate=tile.generate_seconds, build=tile.simulation.seconds, rtl=record.seconds
            ),
        )

    def _operands(self, shelf: Shelf) -> Operands:
        sources = {copy.name: copy.tensor for copy in self.lowered.copies}
        masks = masks_of(self.lowered.results)
        stored: dict[str, Tensor] = {}
        steps: list[ConversionStep] = []
        for declared in self.graph.tensors:
            if declared.role == Role.INPUT:
                source = shelf.tensors[sources.get(declared.name, declared.name)]
                if source.fill != declared.fill:
                    raise TensorError(
                        f"operand '{source.name}' has fill {source.fill}, the program is compiled "
                        f"for {declared.fill}: compile it with this operand"
                    )
                _check_mask(source, declared.name in masks)
                stored[declared.name], step = shelf.take(source, declared.name, declared.format)
                steps += step
                self._check_capacity(stored[declared.name], source.name)
        return Operands({n: shelf.tensors[n] for n in self.inputs}, stored, tuple(steps))

    def _check_capacity(self, tensor: Tensor, source: str) -> None:
        declared = self.graph.tensor(tensor.name)
        grows = source in self.computed and source not in self.fixed
        for what, needs, has in (
            ("shape", tensor.shape, declared.dims),
            ("positions", tensor.positions, tensor.positions if grows else declared.positions),
        ):
            if not all(map(operator.le, needs, has)):
                raise CapacityError(
                    f"operand '{tensor.name}' has {what} {needs} but the tile declares {has}: "
                    "compile with larger dims and capacities"
                )

    def _golden(self, operands: Operands, *, closed: bool) -> Meant:
        """Return the golden results, however large; of large runs in slices."""
        from sim_models import golden, sliced

        graph = self._with_room(self._volumes(operands), self._needs(operands))
        shapes = self._shapes(operands)
        if closed:
            return Meant.of(sliced.evaluate(graph, operands.images, shapes))
        meant = golden.evaluate(graph, operands.images, shapes)
        return Meant(meant.outputs, meant.flags)

    def _wanted(
        self, stored: Mapping[str, Tensor], shelf: Shelf
    ) -> tuple[dict[str, Tensor], list[ConversionStep]]:
        """Return results in the formats that were asked for, with the conversions."""
        results: dict[str, Tensor] = {}
        steps: list[ConversionStep] = []
        for name, tensor in stored.items():
            results[name], taken = shelf.take(tensor, name, self.lowered.wanted[name])
            steps += taken
        return results, steps

    def _shapes(self, operands: Operands) -> dict[str, tuple[int, ...]]:
        """Return the shape of every result."""
        sizes: dict[str, tuple[int, Access]] = {}
        for access in self.lowered.inputs:
            shape = operands.given[access.tensor].shape
            for index, size in zip(access.indices, shape, strict=True):
                other, first = sizes.setdefault(index, (size, access))
                if other != size:
                    raise TensorError(
                        f"index {index} has size {other} in {first} but {size} in {access}"
                    )
        return {
            target.tensor: tuple(sizes[index][0] for index in target.indices)
            for target in self.lowered.targets
        }

    def _volumes(self, operands: Operands) -> dict[str, tuple[int, ...]]:
        """Return the positions of every level of results without a zero."""
        return {
            name: self.graph.tensor(name).format.volume(shape)
            for name, shape in self._shapes(operands).items()
        }

    def _needs(self, operands: Operands) -> dict[str, tuple[int, ...]]:
        """Return the positions of operands; those that exceed the graph's are known to grow."""
        return {name: tensor.positions for name, tensor in operands.stored.items()}

    def _tensors(self, outputs: Mapping[str, TensorImage]) -> dict[str, Tensor]:
        tensors: dict[str, Tensor] = {}
        for name in self.targets:
            declared = self.graph.tensor(name)
            tensors[name] = Tensor.from_image(
                name, outputs[name], declared.format, fill=declared.fill, value=self.graph.value,
                computed=True,
            )  # fmt: skip
        return tensors

    def _fitted(self, operands: Operands, results: Mapping[str, Tensor]) -> Graph:
        """Return the graph with room for all tensors; a capacity that was asked for stays.

        Raises
        ------
        CapacityError
            A result exceeds it.
        """
        for name, result in results.items():
            declared = self.graph.tensor(name)
            fits = all(map(operator.le, result.positions, declared.positions))
            if not fits and name in self.fixed:
                raise CapacityError(
                    f"result '{name}' needs {result.positions} positions but the tile declares "
                    f"{declared.positions}: raise its capacity"
                )
        needed = {name: result.positions for name, result in results.items()}
        return self._with_room(needed, self._needs(operands))

    def _with_room(self, *needs: Mapping[str, tuple[int, ...]]) -> Graph:
        """Return the graph with at least these capacities."""
        positions = {name: most for each in needs for name, most in each.items()}
        tensors = tuple(
            replace(tensor, positions=tuple(map(max, tensor.positions, positions[tensor.name])))
            if tensor.name in positions
            else tensor
            for tensor in self.graph.tensors
        )
        return replace(self.graph, tensors=tensors)


def _check_mask(tensor: Tensor, is_mask: bool) -> None:
    if is_mask and (tensor.entries()[1] == tensor.fill).any():
        raise TensorError(
            f"mask '{tensor.name}' stores entries that equal its fill {tensor.fill}: leave them out"
        )


def _same(left: Tensor, right: Tensor) -> bool:
    """Tell whether two tensors of one format store the same words at the same places."""
    return all(map(np.array_equal, left.levels.arrays, right.levels.arrays))
