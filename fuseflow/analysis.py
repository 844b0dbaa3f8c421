"""What the statements of a program move and compute, and what bounds its regions.

Every node of a graph stands in a column of the fusion table, and every column belongs to a
statement; what a node does, as the forecast expects it or as the cycle model counted it, is its
statement's.  So the figures of statements add up to those of their region.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from fuseflow.api import Program
from fuseflow.compiler import Lowered
from fuseflow.compiler.forecast import Work
from fuseflow.kernel import Kernel
from fuseflow.outcome import KernelRun, RunResult
from fuseflow.samml.errors import ParseError
from fuseflow.samml.graph import Graph, Node
from fuseflow.traces import Stalls
from fuseflow.traces.history import Why

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

TRACED = 4_000_000
"""Runs that are expected to have more tokens are not traced: each takes some dozen bytes."""


class Metric(StrEnum):
    """By what statements are compared."""

    MEMORY_BANDWIDTH = "memory_bandwidth"
    FLOPS = "flops"
    TOKENS = "tokens"
    CYCLES = "cycles"

    @classmethod
    def parse(cls, text: str) -> "Metric":
        """Read a name.

        Raises
        ------
        ParseError
        """
        try:
            return cls(text)
        except ValueError:
            raise ParseError(f"unknown metric '{text}': choose one of {', '.join(cls)}") from None


class Bound(StrEnum):
    """What a run can be held back by; of equals, the first."""

    MEMORY = "memory port"
    COMPUTE = "compute"
    ITERATION = "iteration"
    HAZARDS = "accumulate hazards"
    ROOM = "FIFO room"
    LATENCY = "latency"


_MEMORY = ("scan_compressed", "array", "write_crd", "write_val")
_COMPUTE = ("alu", "unary", "reduce", "accumulate")
_WAITS = {
    Why.HEAD: Bound.LATENCY,
    Why.ROOM: Bound.ROOM,
    Why.BANK: Bound.HAZARDS,
    Why.COORDINATE: Bound.HAZARDS,
}


@dataclass(frozen=True)
class Activity:
    """What a statement or a region does.

    Attributes
    ----------
    tokens, operations : float
        Tokens that its units take from edges between primitives; operations.
    coordinates, segments, values : float
        Bytes moved between the arrays and the graph.
    unit : str
        The node that fires most.
    firings : float
        How often that fires; no schedule takes fewer cycles.
    cycles : float or None
        Of a region, from start to `done`. Of a statement, those of the critical path of the region
        that are spent at its units; None where the run was not traced.
    """

    tokens: float
    operations: float
    coordinates: float
    segments: float
    values: float
    unit: str
    firings: float
    cycles: float | None = None

    @property
    def bytes(self) -> float:
        """All that is moved."""
        return self.coordinates + self.segments + self.values

    @property
    def bytes_per_cycle(self) -> float | None:
        """The memory bandwidth that is used."""
        return self.bytes / self.cycles if self.cycles else None

    @property
    def operations_per_cycle(self) -> float | None:
        """The rate of computing."""
        return self.operations / self.cycles if self.cycles else None

    @property
    def intensity(self) -> float | None:
        """Operations per byte."""
        return self.operations / self.bytes if self.bytes else None

    def amount(self, metric: Metric) -> float:
        """Return what a metric compares; for cycles without a trace, the firings."""
        match metric:
            case Metric.MEMORY_BANDWIDTH:
                return self.bytes
            case Metric.FLOPS:
                return self.operations
            case Metric.TOKENS:
                return self.tokens
            case Metric.CYCLES:
                return self.firings if self.cycles is None else self.cycles


def _best(expected: T | None, measured: T | None) -> T:
    found = measured or expected
    assert found is not None, "what is analysed is known in one of the two ways"
    return found


@dataclass(frozen=True)
class Traffic:
    """What a statement moves of a tensor.

    Attributes
    ----------
    tensor, access : str
        As the graph calls it; ``read`` or ``written``.
    expected : Work
    measured : Work or None
    """

    tensor: str
    access: str
    expected: Work | None
    measured: Work | None

    @property
    def best(self) -> Work:
        """What was measured, or else is expected."""
        return _best(self.expected, self.measured)


@dataclass(frozen=True)
class StatementAnalysis:
    """What a statement does.

    Attributes
    ----------
    statement, target : str
    expected, measured : Activity or None
        By the forecast, which graphs of other tools lack; on the cycle model.
    tensors : tuple of Traffic
        Largest first.
    """

    statement: str
    target: str
    expected: Activity | None
    measured: Activity | None
    tensors: tuple[Traffic, ...]

    @property
    def best(self) -> Activity:
        """What was measured, or else is expected."""
        return _best(self.expected, self.measured)


@dataclass(frozen=True)
class RegionAnalysis:
    """What a region does.

    Attributes
    ----------
    region : str
    order : str
        Its loops, outermost first.
    expected, measured : Activity or None
    statements : tuple of StatementAnalysis
        In the order of the metric, largest first.
    bound : Bound
        What holds it back most.
    bounds : dict of Bound to float
        Cycles of the critical path by what they were spent on; without a trace, the firings of the
        busiest unit of each kind, of which several may be as busy.
    traced : bool
        Which of the two.
    """

    region: str
    order: str
    expected: Activity | None
    measured: Activity | None
    statements: tuple[StatementAnalysis, ...]
    bound: Bound
    bounds: dict[Bound, float]
    traced: bool

    @property
    def best(self) -> Activity:
        """What was measured, or else is expected."""
        return _best(self.expected, self.measured)


@dataclass(frozen=True)
class Analysis:
    """What a program does.

    Attributes
    ----------
    metric : Metric
    regions : tuple of RegionAnalysis
        In the order in which they run.
    crossing_cycles : int
        Of conversions of what crosses regions, where it was run.
    """

    metric: Metric
    regions: tuple[RegionAnalysis, ...]
    crossing_cycles: int = 0

    @property
    def bottleneck(self) -> tuple[RegionAnalysis, StatementAnalysis]:
        """The statement with the largest amount of the metric, and its region."""
        pairs = [(region, each) for region in self.regions for each in region.statements]
        return max(pairs, key=lambda pair: pair[1].best.amount(self.metric))

    @property
    def expected(self) -> Activity | None:
        """What all regions together are expected to do."""
        return _together({each.region: each.expected for each in self.regions}, 0)

    @property
    def measured(self) -> Activity | None:
        """What all regions together did, with the cycles of `crossing_cycles`."""
        found = {each.region: each.measured for each in self.regions}
        return _together(found, self.crossing_cycles)

    @property
    def total(self) -> float:
        """The metric of all statements."""
        each = (s.best.amount(self.metric) for r in self.regions for s in r.statements)
        return sum(each)


def analyse(
    program: Program, metric: str = Metric.MEMORY_BANDWIDTH, run: RunResult | None = None
) -> Analysis:
    """Attribute what a program does to its statements and tensors.

    Parameters
    ----------
    program : Program
    metric : Metric or str
        What statements are sorted by.
    run : RunResult, optional
        Of this program (`run`, or `measure` for large ones): what it counted stands beside what is
        expected. Of a traced run, the critical paths say what bounds the regions.

    Raises
    ------
    ParseError
        The metric is unknown; or there is neither a run nor a forecast, as for graphs of other
        tools.
    """
    by = Metric.parse(metric)
    runs: Iterable[KernelRun | None]
    runs = [None] * len(program.kernels) if run is None else run.regions
    pairs = zip(program.kernels, runs, strict=True)
    regions = tuple(_Region(kernel, each).analysis(by) for kernel, each in pairs)
    return Analysis(by, regions, 0 if run is None else run.crossing_cycles)


def simulated(program: Program) -> RunResult:
    """Run a program on its own operands, traced unless it is large.

    Raises
    ------
    TensorError, CapacityError, VerificationError
        See `Program.run`.
    """
    if sum(each.tokens for each in program.forecasts) <= TRACED:
        return program.run(trace=True)
    return program.measure()


class _Region:
    """A graph with what its nodes do."""

    def __init__(self, kernel: Kernel, run: KernelRun | None) -> None:
        lowered = kernel.lowered
        self.kernel = kernel
        self.graph: Graph = kernel.graph
        self.forecast = lowered.forecast if isinstance(lowered, Lowered) else None
        self.run = run
        if run is None and self.forecast is None:
            raise ParseError(
                f"'{kernel.statement}' is a graph that was read, of which nothing is expected: "
                "give all operands, so that it can be run"
            )
        self.stalls = run.stalls() if run is not None and run.model.traces else None
        self.owners = self._owners()
        self.spent: dict[str, float] = self._spent(self.stalls) if self.stalls else {}

    def analysis(self, metric: Metric) -> RegionAnalysis:
        statements = [self._statement(str(each), name) for name, each in self._statements.items()]
        statements.sort(key=lambda each: -each.best.amount(metric))
        expected = measured = None
        everything = {node.name for node in self.graph.nodes}
        if self.forecast is not None:
            expected = _activity(self.forecast.nodes, everything, self.forecast.cycles)
        if self.run is not None:
            measured = _activity(self.run.work, everything, self.run.cycles)
        bounds = self._spent_on(self.stalls) if self.stalls else self._busiest()
        return RegionAnalysis(
            self.kernel.name,
            ",".join(self.kernel.order),
            expected,
            measured,
            tuple(statements),
            max(bounds, key=lambda bound: (bounds[bound], -list(Bound).index(bound))),
            bounds,
            self.stalls is not None,
        )

    @property
    def _statements(self) -> dict[str, object]:
        lowered = self.kernel.lowered
        if isinstance(lowered, Lowered):
            return {each.target.tensor: each for each in lowered.statements}
        return {self.kernel.targets[-1]: lowered.statement}

    def _owners(self) -> dict[str, str]:
        """Return the statement of every node, by target; the root's is its first reader's."""
        lowered = self.kernel.lowered
        last = list(self._statements)[-1]
        owners: dict[str, str] = {}
        for node in self.graph.nodes:
            column = lowered.table.column_of(node.name) if isinstance(lowered, Lowered) else None
            if column is not None:
                owners[node.name] = column.statement
            elif not isinstance(lowered, Lowered):
                owners[node.name] = last
        for node in self.graph.nodes:
            for edge in node.inputs:
                owners.setdefault(edge.node, owners.get(node.name, last))
        return {node.name: owners.get(node.name, last) for node in self.graph.nodes}

    def _statement(self, text: str, target: str) -> StatementAnalysis:
        names = {name for name, owner in self.owners.items() if owner == target}
        expected = measured = None
        if self.forecast is not None:
            expected = _activity(self.forecast.nodes, names)
        if self.run is not None:
            spent = self.spent.get(target, 0) if self.stalls else None
            measured = _activity(self.run.work, names, spent)
        return StatementAnalysis(text, target, expected, measured, self._traffic(names))

    def _traffic(self, names: set[str]) -> tuple[Traffic, ...]:
        groups: dict[tuple[str, str], set[str]] = {}
        for node in self.graph.nodes:
            if node.name in names and node.primitive in _MEMORY:
                access = "written" if node.primitive.startswith("write") else "read"
                groups.setdefault((str(node.params["tensor"]), access), set()).add(node.name)
        expected = None if self.forecast is None else self.forecast.nodes
        measured = None if self.run is None else self.run.work
        found = [
            Traffic(
                tensor,
                access,
                None if expected is None else _sum(expected, group),
                None if measured is None else _sum(measured, group),
            )
            for (tensor, access), group in groups.items()
        ]
        return tuple(sorted(found, key=lambda each: -each.best.bytes))

    def _spent(self, stalls: Stalls) -> dict[str, float]:
        """Return the cycles of the critical path by statement."""
        assert self.run is not None
        nodes = {unit.name: unit.node.name for unit in self.run.units.units}
        return _grouped((self.owners[nodes[part.unit]], part.cycles) for part in stalls.path)

    def _spent_on(self, stalls: Stalls) -> dict[Bound, float]:
        assert self.run is not None
        nodes = {unit.name: unit.node for unit in self.run.units.units}
        return _grouped(
            (_WAITS.get(part.why) or _bound_of(nodes[part.unit]), part.cycles)
            for part in stalls.path
        )

    def _busiest(self) -> dict[Bound, float]:
        """Return the firings of the busiest unit of each kind."""
        work = self.run.work if self.run else self.forecast.nodes if self.forecast else {}
        found: dict[Bound, float] = {}
        for node in self.graph.nodes:
            kind = _bound_of(node)
            found[kind] = max(found.get(kind, 0.0), work[node.name].firings)
        return found


def _bound_of(node: Node) -> Bound:
    if node.primitive in _MEMORY:
        return Bound.MEMORY
    return Bound.COMPUTE if node.primitive in _COMPUTE else Bound.ITERATION


def _grouped(pairs: Iterable[tuple[K, float]]) -> dict[K, float]:
    found: dict[K, float] = {}
    for key, amount in pairs:
        found[key] = found.get(key, 0) + amount
    return found


def _sum(work: Mapping[str, Work], names: Iterable[str]) -> Work:
    total = Work()
    for name in names:
        each = work.get(name, Work())
        total = Work(
            max(total.firings, each.firings),
            total.tokens + each.tokens,
            total.operations + each.operations,
            total.coordinates + each.coordinates,
            total.segments + each.segments,
            total.values + each.values,
        )
    return total


def _activity(work: Mapping[str, Work], names: set[str], cycles: float | None = None) -> Activity:
    total = _sum(work, names)
    unit = max(names & work.keys(), key=lambda name: (work[name].firings, name), default="")
    return Activity(
        total.tokens,
        total.operations,
        total.coordinates,
        total.segments,
        total.values,
        unit,
        total.firings,
        cycles,
    )


def _together(parts: Mapping[str, Activity | None], more: float) -> Activity | None:
    """Add up regions; None where one has no figures."""
    known = {name: each for name, each in parts.items() if each is not None}
    if len(known) < len(parts):
        return None
    busiest = max(known, key=lambda name: known[name].firings)
    found = known.values()
    return Activity(
        sum(each.tokens for each in found),
        sum(each.operations for each in found),
        sum(each.coordinates for each in found),
        sum(each.segments for each in found),
        sum(each.values for each in found),
        f"{busiest}.{known[busiest].unit}" if len(known) > 1 else known[busiest].unit,
        known[busiest].firings,
        sum(each.cycles or 0 for each in found) + more,
    )
