"""The Python API: compile a program once, then run, generate or verify it.

>>> program = fuseflow.compile("X(i,j) = B(i,k) * C(k,j)", B, C)  # or load("matmul.gv", B, C)
>>> program.run().cycles
>>> program.generate("rtl")
>>> program.verify().bit_exact
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fuseflow.compiler import Lowered, Statement, Truth
from fuseflow.compiler.expr import masks_of
from fuseflow.compiler.forecast import Forecast
from fuseflow.compiler.passes import Passes
from fuseflow.compiler.program import Program as Source
from fuseflow.compiler.schedule import Scheduled, Scheduler
from fuseflow.folders import Graphs, describe
from fuseflow.judge import Verdict, dense, judge, worst_of
from fuseflow.kernel import Kernel, Shelf
from fuseflow.outcome import (
    KernelRun,
    KernelVerify,
    RunResult,
    Seconds,
    VerifyResult,
    only,
    region_path,
)
from fuseflow.samml.errors import LoweringError, TensorError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Graph
from fuseflow.samml.values import Number, ValueType
from fuseflow.sources import (
    Anything,
    check_names,
    check_sizes,
    common_type,
    convert_operands,
    read,
    read_formats,
)
from fuseflow.tensor import Tensor

if TYPE_CHECKING:
    from fuseflow.interchange import Custard, Imported, Signature
    from gen.bundle import Bundle

T = TypeVar("T")

TUNED = 4
"""How many cuts ``tune`` runs."""


@dataclass(frozen=True, eq=False)
class Program:
    """Compiled graphs that run in order over shared arrays, with their operands, if any.

    Attributes
    ----------
    kernels : tuple of Kernel
        One per region.
    results : tuple of str
        What the program is run for.
    source : fuseflow.compiler.program.Program or None
        Its statements and schedule; None for a graph that was read.
    tensors : dict of str to Tensor
        Operands by name.
    seconds : Seconds
    arranged : mapping of str to Format
        How operands are stored whose mode order was to be chosen.
    """

    kernels: tuple[Kernel, ...]
    results: tuple[str, ...]
    source: Source | None = None
    tensors: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    seconds: Seconds = field(default_factory=Seconds)
    arranged: Mapping[str, Format] = field(default_factory=dict[str, Format])

    @property
    def lowered(self) -> Lowered | Imported:
        """What became of the only graph's statements."""
        return only(self.kernels, "a form").lowered

    @property
    def graph(self) -> Graph:
        """The only SAMML graph."""
        return only(self.kernels, "nodes").graph

    @property
    def statement(self) -> Statement | Signature:
        """The last statement of the only graph, or what is known of a graph that was read."""
        return only(self.kernels, "a statement").statement

    @property
    def order(self) -> tuple[str, ...]:
        """Loop variables of the only graph, outermost first."""
        return only(self.kernels, "an order").order

    @property
    def value(self) -> ValueType:
        """The value type of every tensor."""
        return self.kernels[0].graph.value

    @property
    def inputs(self) -> tuple[str, ...]:
        """The operands that it needs."""
        made = {name for kernel in self.kernels for name in kernel.targets}
        names = dict.fromkeys(name for kernel in self.kernels for name in kernel.inputs)
        return tuple(name for name in names if name not in made)

    @property
    def crossing(self) -> frozenset[str]:
        """The tensors that one graph stores and another reads."""
        return frozenset(name for kernel in self.kernels for name in kernel.computed)

    @property
    def forecasts(self) -> tuple[Forecast, ...]:
        """What every graph that was compiled is expected to do."""
        found = (kernel.lowered for kernel in self.kernels)
        return tuple(each.forecast for each in found if isinstance(each, Lowered))

    def run(
        self,
        tensors: Mapping[str, Tensor] | None = None,
        *,
        trace: bool = False,
        closed_form: bool | None = None,
    ) -> RunResult:
        """Run on the golden model and the cycle model, and compare the two and the truth.

        Parameters
        ----------
        tensors : mapping of str to Tensor, optional
            Other operands than the program's own.
        trace : bool
            Keep every token of every edge, for `RunResult.write_trace` and `RunResult.stalls`.
        closed_form : bool or None
            Skip the iterations of loops in which the state of the cycle model repeats, which
            changes no figure (docs/rfcs/0010-closed-form-runs.md); None: in graphs that are
            expected to fire often, and not while they are traced.

        Raises
        ------
        TensorError
            An operand is missing or does not fit the statement.
        CapacityError
            An operand exceeds what the graph declares.
        VerificationError
            Golden meaning, cycle model and dense evaluation do not agree.
        """
        shelf = self._complete(tensors)
        return self._run(
            shelf,
            lambda kernel: kernel.run(shelf, trace=trace, closed_form=closed_form),
            lambda run: run,
        )[1]

    def measure(
        self, tensors: Mapping[str, Tensor] | None = None, *, closed_form: bool | None = None
    ) -> RunResult:
        """Run on the cycle model alone: the golden meaning keeps every stream in memory.

        No value is checked; compare the results with those of a checked run.

        Parameters
        ----------
        tensors : mapping of str to Tensor, optional
            Other operands than the program's own.
        closed_form : bool or None
            See `run`.

        Raises
        ------
        TensorError, CapacityError
            See `run`.
        """
        shelf = self._complete(tensors)
        runs: list[KernelRun] = []
        for kernel in self.kernels:
            runs.append(kernel.measure(shelf, closed_form=closed_form))
            shelf.tensors |= runs[-1].results
        return RunResult(
            regions=tuple(runs),
            results={name: shelf.tensors[name] for name in self.results},
            max_error=None,
            error_bound=None,
            crossing=self.crossing,
            seconds=sum((run.seconds for run in runs), self.seconds),
        )

    def fitted(self) -> Graph:
        """Return the only graph with room for the result of the program's own operands.

        Without all operands it is `graph`, with the default capacity.

        Raises
        ------
        CapacityError
            The result exceeds the capacity that was asked for.
        SeveralGraphsError
            There are several: see `graphs`.
        """
        only(self.kernels, "nodes")
        return next(iter(self.graphs().values()))

    def graphs(self) -> dict[str, Graph]:
        """Return every graph, by its kernel's name, with room for what the operands make of it.

        Raises
        ------
        CapacityError
            A result exceeds the capacity that was asked for.
        """
        shelf = self._shelf(None)
        found: dict[str, Graph] = {}
        for kernel in self.kernels:
            needed = any(name in self.crossing for name in kernel.targets)
            found[kernel.name] = kernel.size(shelf, store=needed)
        return found

    def sized(self) -> Graphs:
        """Return every graph with room for what the operands make of it, ready to be written.

        Raises
        ------
        CapacityError
            A result exceeds the capacity that was asked for.
        """
        graphs, tables = self.graphs(), self.tables()
        if self.source is None or len(graphs) == 1:
            return Graphs(graphs, tables=tables)
        return Graphs(graphs, describe(self.source, self.kernels), tables)

    def tables(self) -> dict[str, str]:
        """Return the fusion table of every graph that was compiled, by its kernel's name."""
        return {
            kernel.name: str(kernel.lowered.table)
            for kernel in self.kernels
            if isinstance(kernel.lowered, Lowered)
        }

    def generate(self, directory: str | Path) -> Bundle | dict[str, Bundle]:
        """Write the Verilog bundle of the graph; of several, one a folder, by kernel.

        Raises
        ------
        OutputError
            The directory cannot take it.
        """
        bundles = self.sized().generate(Path(directory))
        return bundles if len(bundles) > 1 else next(iter(bundles.values()))

    def verify(
        self, tensors: Mapping[str, Tensor] | None = None, *, waves: str | Path | None = None
    ) -> VerifyResult:
        """Run the RTL of every graph under Verilator and compare it with the cycle model.

        Parameters
        ----------
        tensors : mapping of str to Tensor, optional
            Other operands than the program's own.
        waves : path, optional
            Where the waves of the RTL go, as VCD; also those of a run that fails. Of several
            graphs, one file each, as `RunResult.write_trace` names them.

        Raises
        ------
        ToolError
            A tool is missing or a build failed.
        """
        from verif.toolchain import require_tools

        require_tools()
        shelf = self._complete(tensors)
        several = len(self.kernels) > 1

        def verified(kernel: Kernel) -> KernelVerify:
            file = None if waves is None else region_path(waves, kernel.name, several=several)
            return kernel.verify(shelf, waves=file)

        parts, run = self._run(shelf, verified, lambda part: part.run)
        return VerifyResult(
            run=run,
            rtl_cycles=sum(part.rtl_cycles for part in parts),
            differences=tuple(
                f"{part.run.name}: {text}" if several else text
                for part in parts
                for text in part.differences
            ),
            seconds=sum((part.seconds for part in parts), self.seconds),
            regions=tuple(parts),
        )

    def _shelf(self, tensors: Mapping[str, Tensor] | None) -> Shelf:
        """Return the operands of a run.

        Raises
        ------
        TensorError
            One is none of the program's, or of another value type, or two do not fit.
        """
        given = {**self.tensors, **(tensors or {})}
        for name, tensor in given.items():
            if name not in self.inputs:
                raise TensorError(f"{self._title} has no operand '{name}'")
            if tensor.value != self.value:
                raise TensorError(
                    f"operand '{name}' is {tensor.value.name}, the program is compiled for "
                    f"{self.value.name}: give both one value type"
                )
        if self.source is not None:
            check_sizes(self.source, given)
        return Shelf(
            {
                name: each.convert(self.arranged.get(name, each.format))
                for name, each in given.items()
            }
        )

    def _complete(self, tensors: Mapping[str, Tensor] | None) -> Shelf:
        """Return the operands of a run, all of them.

        Raises
        ------
        TensorError
            One is missing, or see `_shelf`.
        """
        shelf = self._shelf(tensors)
        for name in self.inputs:
            if name not in shelf.tensors:
                raise TensorError(
                    f"operand '{name}' has no tensor: give one (--tensor {name}=FILE)"
                )
        return shelf

    @property
    def _title(self) -> str:
        return f"'{self.statement}'" if len(self.kernels) == 1 else "the program"

    def _run(
        self, shelf: Shelf, act: Callable[[Kernel], T], run_of: Callable[[T], KernelRun]
    ) -> tuple[list[T], RunResult]:
        """Let every kernel act, one after the other, and judge what comes out in the end."""
        truths: dict[str, Truth | None] = {}
        verdicts: dict[str, Verdict] = {}
        parts: list[T] = []
        overflow = False
        for kernel in self.kernels:
            part = act(kernel)
            run = run_of(part)
            parts.append(part)
            shelf.tensors |= run.results
            overflow |= run.overflow
            if not kernel.computed:
                truths |= run.truths
                verdicts |= run.verdicts
                continue
            truths |= self._truths(kernel, shelf, truths)
            for name in run.truths.keys() & {*self.results}:
                verdicts[name] = judge(
                    run.results[name], truths[name], overflow=overflow, blame=kernel.blame
                )
        runs = tuple(map(run_of, parts))
        error, bound = worst_of([verdicts[name] for name in self.results if name in verdicts])
        return parts, RunResult(
            regions=runs,
            results={name: shelf.tensors[name] for name in self.results},
            max_error=error,
            error_bound=bound,
            crossing=self.crossing,
            seconds=sum((run.seconds for run in runs), self.seconds),
        )

    def _truths(
        self, kernel: Kernel, shelf: Shelf, truths: Mapping[str, Truth | None]
    ) -> dict[str, Truth | None]:
        """Evaluate a kernel on the truth of what it reads.

        A mask is taken as it was computed: where rounding decides whether it stores an entry, the
        truth does not know better.
        """
        masks = masks_of(kernel.lowered.results)
        arrays = {
            name: truths[name]
            if name in truths and name not in masks
            else dense(shelf.tensors[name])
            for name in kernel.inputs
        }
        return kernel.truths(arrays, shelf)


def compile(
    source: Anything,
    *operands: Any,
    fusion: str = "regions",
    formats: Mapping[str, Format | str] | None = None,
    order: Sequence[str] | str | None = None,
    dims: Mapping[str, int] | None = None,
    capacities: Mapping[str, int | Sequence[int]] | None = None,
    value: ValueType | str | None = None,
    fills: Mapping[str, Number] | None = None,
    auto_convert: bool = False,
    keep_explicit: bool = False,
    without: Collection[str] = (),
    iteration: str = "factored",
    densities: Mapping[str, float] | None = None,
) -> Program:
    """Compile a statement, or a program of several.

    Parameters
    ----------
    source : str, Path, Statement, fuseflow.compiler.program.Program or lang.Computed
        A statement such as ``X(i,j) = B(i,k) * C(k,j)``, or what `einsum` returns; the text of a
        program or what `parse_program` returns; the path of a ``.ff`` file; or a value of
        `fuseflow.lang`, several as a mapping from the names that they get.
    *operands : Tensor
        Real operands, matched by name; they give formats, fills, capacities and densities. Those
        that a value of `fuseflow.lang` was made of are known; further values are results too.
    fusion : str
        ``none``: a graph a statement; ``regions``: as the program says; ``full``: one graph;
        ``auto``: by cost; ``tune``: by running the best on the cycle model.
    formats : mapping of str to Format or str, optional
        By tensor name; a program converts operands where theirs differ, and counts it.
    order : sequence of str or str, optional
        Loop order of a single statement, such as ``i,k,j``; the cost model picks one otherwise.
        For several statements a priority, in the place of the program's own.
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
    without : collection of str
        Passes to leave out (`fuseflow.compiler.passes.Passes`), for comparison.
    iteration : str
        ``factored``: every sum iterates its own variables alone; ``global``: one nest of loops
        for nested sums of products.
    densities : mapping of str to float, optional
        Stored share of operands that are not given, for the cost model; 0.1 by default.

    Raises
    ------
    ParseError, LoweringError, CapacityError, TensorError
    """
    return prepare(
        source,
        *operands,
        formats=formats,
        order=order,
        dims=dims,
        capacities=capacities,
        value=value,
        fills=fills,
        auto_convert=auto_convert,
        keep_explicit=keep_explicit,
        without=without,
        iteration=iteration,
        densities=densities,
    ).compile(fusion)


def prepare(
    source: Anything,
    *operands: Any,
    formats: Mapping[str, Format | str] | None = None,
    order: Sequence[str] | str | None = None,
    dims: Mapping[str, int] | None = None,
    capacities: Mapping[str, int | Sequence[int]] | None = None,
    value: ValueType | str | None = None,
    fills: Mapping[str, Number] | None = None,
    auto_convert: bool = False,
    keep_explicit: bool = False,
    without: Collection[str] = (),
    iteration: str = "factored",
    densities: Mapping[str, float] | None = None,
    unordered: Collection[str] = (),
    split: bool = False,
) -> Prepared:
    """Read a program and its operands, to be compiled in one way or another.

    Parameters
    ----------
    source, *operands, formats, order, dims, capacities, value, fills
        See `compile`.
    auto_convert, keep_explicit, without, iteration, densities
        See `compile`.
    unordered : collection of str
        Dense operands that may be stored in any mode order, as weights are: the compiler chooses.
    split : bool
        Make several graphs of a region that cannot be one, as few as it takes.

    Raises
    ------
    ParseError, LoweringError, CapacityError, TensorError
    """
    started = time.perf_counter()
    found = read(source, operands)
    program = found.program
    wanted = read_formats(program, formats or {})
    tensors, stored = convert_operands(found.tensors, wanted)
    check_names(program, tensors, formats or {}, capacities or {}, dims or {}, fills or {})
    check_sizes(program, tensors)
    for name, share in (densities or {}).items():
        if name not in program.inputs or not 0 <= share <= 1:
            raise LoweringError(
                f"density {share} of '{name}': give an input of the program a share from 0 to 1"
            )
    kind = common_type(value, found.tensors)
    options: dict[str, Any] = {
        "auto_convert": auto_convert,
        "keep_explicit": keep_explicit,
        "passes": Passes.without([without] if isinstance(without, str) else without),
        "iteration": iteration,
        "densities": densities or {},
    }
    if isinstance(order, str):
        order = tuple(part.strip() for part in order.split(",") if part.strip())
    if order is not None and len(program.statements) == 1:
        options["order"] = order
        program = replace(program, order=(), regions=())
    elif order is not None:
        program = replace(program, order=tuple(order))
    scheduler = Scheduler(
        program,
        stored,
        {name: form for name, form in wanted.items() if name not in stored},
        {**found.dims, **(dims or {})},
        capacities or {},
        fills or {},
        kind,
        options,
        frozenset(unordered),
        split,
    )
    return Prepared(scheduler, tensors, frozenset(capacities or ()), time.perf_counter() - started)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A program with its operands, to be compiled.

    Attributes
    ----------
    scheduler : Scheduler
    tensors : dict of str to Tensor
        Operands by name.
    fixed : frozenset of str
        Tensors whose capacity was asked for.
    reading : float
        Seconds that it took to read it.
    """

    scheduler: Scheduler
    tensors: dict[str, Tensor]
    fixed: frozenset[str]
    reading: float

    def compile(self, fusion: str) -> Program:
        """Compile the program at a fusion granularity; ``tune`` runs the best cuts on the model.

        Raises
        ------
        LoweringError, CapacityError
        TensorError
            An operand to tune with is missing.
        """
        if fusion == "tune":
            tuned = self.candidates(TUNED)
            return min(tuned, key=lambda each: each.run().cycles)
        started = time.perf_counter() - self.reading
        return self._program(self.scheduler.compile(fusion), started)

    def candidates(self, count: int) -> list[Program]:
        """Return the program in its best cuts by forecast, the best first."""
        started = time.perf_counter() - self.reading
        return [self._program(each, started) for each in self.scheduler.candidates(count)]

    def in_orders(self) -> Iterator[Program]:
        """Yield the program as one graph in each of its loop orders that can be compiled."""
        started = time.perf_counter() - self.reading
        for each in self.scheduler.in_orders():
            yield self._program(each, started)

    def _program(self, scheduled: Scheduled, started: float) -> Program:
        made: set[str] = set()
        kernels: list[Kernel] = []
        for number, lowered in enumerate(scheduled.regions, 1):
            reads = {access.tensor for access in lowered.inputs}
            name = f"{number}_{lowered.targets[-1].tensor}"
            kernels.append(Kernel(lowered, name, self.fixed, frozenset(reads & made)))
            made |= {target.tensor for target in lowered.targets}
        source = self.scheduler.program
        seconds = Seconds(compile=time.perf_counter() - started)
        return Program(
            tuple(kernels), source.results, source, self.tensors, seconds, scheduled.arranged
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
    graph = source if isinstance(source, Custard) else open_custard(source)
    tensors, stored = convert_operands(operands, graph.formats)
    lowered = graph.lower(
        list(stored.values()),
        einsum=einsum,
        dims=dims,
        capacities=capacities,
        value=common_type(value, operands),
    )
    name = lowered.targets[0].tensor
    kernel = Kernel(lowered, f"1_{name}", frozenset(capacities or ()))
    seconds = Seconds(compile=time.perf_counter() - started)
    return Program((kernel,), (name,), tensors=tensors, seconds=seconds)
