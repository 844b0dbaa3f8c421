"""What runs report: of one graph, of a whole program, and of the RTL beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fuseflow.compiler import Truth
from fuseflow.compiler.forecast import Work
from fuseflow.judge import Verdict, worst_of
from fuseflow.samml.errors import FuseFlowError, SimulationError
from fuseflow.samml.graph import Node
from fuseflow.samml.units import UnitGraph
from fuseflow.tensor import Tensor
from fuseflow.tensor.conversion import Conversion, ConversionCost

if TYPE_CHECKING:
    from fuseflow.traces import Stalls
    from sim_models.cycle.result import CycleResult, Skipped

Part = TypeVar("Part")

OPERATORS = ("alu", "unary", "reduce", "accumulate.fill")
"""The units that compute."""

INDEX_BYTES = 4
"""Bytes of a coordinate or a segment."""


class SeveralGraphsError(FuseFlowError):
    """Something that one graph has was asked of a program of several."""


def only(parts: tuple[Part, ...], what: str) -> Part:
    """Return the only part of a program.

    Raises
    ------
    SeveralGraphsError
        There are several.
    """
    if len(parts) > 1:
        raise SeveralGraphsError(
            f"the program has {len(parts)} graphs, each with {what} of its own: take one"
        )
    return next(iter(parts))


@dataclass(frozen=True)
class ConversionStep:
    """A conversion before or after a graph runs, with what it costs."""

    conversion: Conversion
    cost: ConversionCost


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

    def __add__(self, other: Seconds) -> Seconds:
        """Add up every step."""
        return Seconds(
            self.compile + other.compile,
            self.model + other.model,
            self.generate + other.generate,
            self.build + other.build,
            self.rtl + other.rtl,
        )


@dataclass(frozen=True, eq=False)
class KernelRun:
    """What one graph computed on the golden model and how long the cycle model says it takes.

    Attributes
    ----------
    name : str
        Of the region.
    results : dict of str to Tensor
        Everything that the graph stores.
    ideal, ideal_banks : int
        Cycles of the same graph with unbounded edges, latency 1, and unlimited banks or the
        tile's own (DESIGN section 3).
    verdicts : dict of str to Verdict
        How far each result is from the float64 truth of what the graph was given.
    conversions : tuple of ConversionStep
        Conversions of operands before the graph runs, and of its results afterwards.
    seconds : Seconds
    model : CycleResult
        Figures per unit and edge, and the traces where they were asked for.
    units : UnitGraph
        The flattened graph that it ran.
    truths : dict of str to Truth or None
        What the results were judged by.
    """

    name: str
    results: dict[str, Tensor]
    ideal: int
    ideal_banks: int
    verdicts: dict[str, Verdict]
    conversions: tuple[ConversionStep, ...]
    seconds: Seconds
    model: CycleResult
    units: UnitGraph
    truths: dict[str, Truth | None]

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The loops of which iterations were skipped (docs/rfcs/0010-closed-form-runs.md)."""
        return self.model.skipped

    @property
    def result(self) -> Tensor:
        """The last result."""
        return list(self.results.values())[-1]

    @property
    def max_error(self) -> float | None:
        """Largest distance to the truth; modulo the word where integers wrapped.

        None where the operands are too large to evaluate densely.
        """
        return worst_of(self.verdicts.values())[0]

    @property
    def error_bound(self) -> float | None:
        """What rounding explains there (`fuseflow.compiler.truth`); 0 for integers."""
        return worst_of(self.verdicts.values())[1]

    @property
    def cycles(self) -> int:
        """From the start to `done`."""
        return self.model.cycles

    @property
    def overflow(self) -> bool:
        """Whether an integer operation wrapped, or a floating-point one gave an infinity."""
        return self.model.flags.overflow

    @property
    def bottleneck(self) -> int:
        """The most firings of any one unit; no schedule of the graph takes fewer cycles."""
        return self.model.bottleneck.firings

    @property
    def bottleneck_unit(self) -> str:
        """That unit."""
        return self.model.bottleneck.name

    @cached_property
    def work(self) -> dict[str, Work]:
        """What every node did.

        A firing of an array reads a value; one of a compressed scan two segments or a
        coordinate; what the writers stored is in the arrays of the results.
        """
        found = {node.name: Work() for node in self.units.graph.nodes}
        word = self.units.graph.value.bits // 8
        for report, edge in zip(self.model.edges, self.units.edges, strict=True):
            if edge.gated:
                found[self.units.units[edge.reader].node.name].tokens += report.tokens
        for report, unit in zip(self.model.units, self.units.units, strict=True):
            work = found[unit.node.name]
            work.firings = max(work.firings, report.firings)
            match unit.kind:
                case "scan_compressed.lookup":
                    work.segments += 2 * report.firings * INDEX_BYTES
                case "scan_compressed.emit":
                    work.coordinates += report.firings * INDEX_BYTES
                case "array":
                    work.values += report.firings * word
                case _ if unit.kind in OPERATORS:
                    work.operations += report.firings * _operations_of(unit.node)
                case _:
                    pass
        for node in self.units.graph.nodes:
            if node.primitive not in ("write_crd", "write_val"):
                continue
            image = self.model.outputs[str(node.params["tensor"])]
            if node.primitive == "write_val":
                found[node.name].values += len(image.vals) * word
                continue
            level = int(str(node.params["level"]))
            seg, crd = image.segs[level], image.crds[level]
            assert seg is not None
            assert crd is not None
            # The first word of segments is 0 and never written.
            found[node.name].segments += (len(seg) - 1) * INDEX_BYTES
            found[node.name].coordinates += len(crd) * INDEX_BYTES
        return found

    @property
    def tokens(self) -> int:
        """Tokens on all edges between primitives."""
        return int(sum(work.tokens for work in self.work.values()))

    @property
    def operations(self) -> int:
        """Firings of the units that compute, once for each operation that a unit does."""
        return int(sum(work.operations for work in self.work.values()))

    @property
    def bytes(self) -> int:
        """Bytes moved between the arrays and the graph; see `work`."""
        return int(sum(work.bytes for work in self.work.values()))

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
class RunResult:
    """What a program computed, and how long the cycle model says it takes.

    Attributes
    ----------
    regions : tuple of KernelRun
        Its graphs, in the order in which they ran.
    results : dict of str to Tensor
        What the program is run for.
    max_error : float or None
        Largest distance of a result to the float64 truth of the whole program; modulo the word
        where integers wrapped. None where the operands are too large to evaluate densely, so that
        only the golden meaning judges.
    error_bound : float or None
        What rounding explains there, in all graphs (`fuseflow.compiler.truth`); 0 for integers.
    crossing : frozenset of str
        Tensors that one graph stores and another reads.
    seconds : Seconds
    """

    regions: tuple[KernelRun, ...]
    results: dict[str, Tensor]
    max_error: float | None
    error_bound: float | None
    crossing: frozenset[str] = frozenset()
    seconds: Seconds = field(default_factory=Seconds)

    @property
    def result(self) -> Tensor:
        """The last result."""
        return list(self.results.values())[-1]

    @property
    def cycles(self) -> int:
        """Cycles of all graphs, one after the other, and of `crossing_cycles`."""
        return self.graph_cycles + self.crossing_cycles

    @property
    def graph_cycles(self) -> int:
        """Cycles of all graphs, from each one's start to its `done`."""
        return sum(region.cycles for region in self.regions)

    @property
    def crossing_cycles(self) -> int:
        """Cycles of the conversions of what crosses from graph to graph."""
        return sum(
            step.cost.cycles for step in self.conversions if step.conversion.tensor in self.crossing
        )

    @property
    def conversion_cycles(self) -> int:
        """Cycles of all conversions, also of inputs and final results."""
        return sum(step.cost.cycles for step in self.conversions)

    @property
    def conversions(self) -> tuple[ConversionStep, ...]:
        """Every conversion, in order."""
        return tuple(step for region in self.regions for step in region.conversions)

    @property
    def ideal(self) -> int:
        """The sum over the graphs; see `KernelRun`."""
        return sum(region.ideal for region in self.regions)

    @property
    def ideal_banks(self) -> int:
        """The sum over the graphs; see `KernelRun`."""
        return sum(region.ideal_banks for region in self.regions)

    @property
    def tokens(self) -> int:
        """Tokens on all edges between primitives."""
        return sum(region.tokens for region in self.regions)

    @property
    def operations(self) -> int:
        """Firings of the units that compute; see `KernelRun.operations`."""
        return sum(region.operations for region in self.regions)

    @property
    def bytes(self) -> int:
        """Bytes moved between the arrays and the graphs; see `KernelRun.bytes`."""
        return sum(region.bytes for region in self.regions)

    @property
    def bottleneck(self) -> int:
        """The sum over the graphs: no schedule of them takes fewer cycles."""
        return sum(region.bottleneck for region in self.regions)

    @property
    def bottleneck_unit(self) -> str:
        """The unit that fires most; of several graphs, with the name of its own before it."""
        busiest = max(self.regions, key=lambda region: region.bottleneck)
        prefix = f"{busiest.name}." if len(self.regions) > 1 else ""
        return prefix + busiest.bottleneck_unit

    @property
    def overflow(self) -> bool:
        """Whether an integer operation wrapped, or a floating-point one gave an infinity."""
        return any(region.overflow for region in self.regions)

    @property
    def model(self) -> CycleResult:
        """The cycle model's report on the only graph."""
        return only(self.regions, "a report").model

    @property
    def units(self) -> UnitGraph:
        """The units of the only graph."""
        return only(self.regions, "units").units

    def write_trace(self, path: str | Path) -> tuple[Path, ...]:
        """Write the traces: of several graphs, one file each (`region_path`).

        Raises
        ------
        OutputError, SimulationError
            See `KernelRun.write_trace`.
        """
        several = len(self.regions) > 1
        paths = tuple(region_path(path, each.name, several=several) for each in self.regions)
        for region, target in zip(self.regions, paths, strict=True):
            region.write_trace(target)
        return paths

    def stalls(self) -> Stalls:
        """Return which units and edges held the only graph back, and why.

        Raises
        ------
        SimulationError
            The run was not traced.
        SeveralGraphsError
            There are several graphs: ask those of `regions`.
        """
        return only(self.regions, "stalls").stalls()


def region_path(path: str | Path, region: str, *, several: bool) -> Path:
    """Return where a file of a region goes: of several, such as ``run.1_T0.json``."""
    path = Path(path)
    stem, dot, suffixes = path.name.partition(".")
    return path.with_name(f"{stem}.{region}{dot}{suffixes}") if several else path


def _operations_of(node: Node) -> int:
    """Return how many operations one firing does (docs/rfcs/0007-fused-operators.md)."""
    params = node.params
    behind = bool(params.get("relu")) or params.get("op") == "affine"
    return 1 + bool(params.get("multiply")) + behind


@dataclass(frozen=True, eq=False)
class KernelVerify:
    """A run of one graph together with the RTL's, and every difference between the two.

    Attributes
    ----------
    run : KernelRun
    rtl_cycles : int
    differences : tuple of str
        The earliest first; empty where values, tokens and cycles agree on every edge.
    seconds : Seconds
    """

    run: KernelRun
    rtl_cycles: int
    differences: tuple[str, ...]
    seconds: Seconds


@dataclass(frozen=True, eq=False)
class VerifyResult:
    """A run of a program together with the RTL's, and every difference between the two.

    Attributes
    ----------
    run : RunResult
    rtl_cycles : int
        Of all graphs: what `RunResult.graph_cycles` are on the model.
    differences : tuple of str
        Graph by graph, the earliest first; empty where values, tokens and cycles agree on every
        edge.
    seconds : Seconds
    regions : tuple of KernelVerify
    """

    run: RunResult
    rtl_cycles: int
    differences: tuple[str, ...]
    seconds: Seconds
    regions: tuple[KernelVerify, ...] = ()

    @property
    def bit_exact(self) -> bool:
        """Whether model and RTL agree in every bit and cycle."""
        return not self.differences
