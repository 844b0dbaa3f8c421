"""The compiler's pipeline: from a statement to a graph that is ready to run.

==========  ======================================================================
step        what it does
==========  ======================================================================
fuse        puts statements into the results that need them
order       collects the loop orders that the storage formats allow
convert     makes copies of operands where no order is allowed (if asked for)
plan        places every fold in an order
drops       makes what leaves zeros a section that drops them before they open loops
cost        picks the cheapest orders
lower       builds the nodes: co-iteration, values, folds, drops, writers
prune       removes what nobody reads
operators   makes one node of pairs that the catalog has as one
forecast    tells the best of the cheapest orders by their graphs
slack       sets FIFO depths where forks meet again
==========  ======================================================================
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from fuseflow.compiler.convert import Copy, Repair, repairs
from fuseflow.compiler.cost import Choice, choose
from fuseflow.compiler.declare import Capacity, Renamed, Sizes, Stored, index_sizes
from fuseflow.compiler.expr import Access, Fold, Result, Statement, accesses, walk
from fuseflow.compiler.forecast import Forecast
from fuseflow.compiler.fuse import Fused, fuse
from fuseflow.compiler.nest import global_nest
from fuseflow.compiler.order import check_names, contradiction
from fuseflow.compiler.parse import parse
from fuseflow.compiler.passes import Passes
from fuseflow.compiler.problem import Problem
from fuseflow.compiler.slack import DEFAULT_BUDGET, slack
from fuseflow.compiler.table import FusionTable
from fuseflow.samml.errors import CapacityError, LoweringError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Graph
from fuseflow.samml.values import INT32, Number, ValueType

ALL_PASSES = Passes()
MOST_TRIED = 3
"""How many choices are tried to keep FIFOs to the budget."""
MOST_REPAIRED = 64
"""How many sets of conversions are tried."""
CONVERSION = 3
"""Cycles per stored entry that a conversion is expected to take: a counting sort by one mode."""
ITERATIONS = ("factored", "global")


@dataclass(frozen=True)
class Lowered:
    """Statements compiled to one graph.

    Attributes
    ----------
    graph : Graph
    statements : tuple of Statement
        As they were written.
    inputs, targets : tuple of Access
        What the graph reads, under the names that were given, and stores.
    order : tuple of str
        Loop variables, outermost first.
    results : tuple of Result
        What the graph computes, every sum in its place; they read copies where there are any.
    formats : dict of str to Format
        Of every tensor that the graph stores.
    copies : tuple of Copy
        Operands that the graph reads in another format than their own.
    wanted : dict of str to Format
        What results are to be converted to, where the graph's format differs.
    forecast : Forecast
        What the graph is expected to do.
    table : FusionTable
        Which tensor's stream at which loop is made by which node.
    """

    graph: Graph
    statements: tuple[Statement, ...]
    inputs: tuple[Access, ...]
    targets: tuple[Access, ...]
    order: tuple[str, ...]
    results: tuple[Result, ...]
    formats: dict[str, Format]
    copies: tuple[Copy, ...]
    wanted: dict[str, Format]
    forecast: Forecast
    table: FusionTable

    @property
    def statement(self) -> Statement:
        """The last statement: the only one, if nothing was fused."""
        return self.statements[-1]


def compile_statement(
    statement: Statement | str,
    formats: Mapping[str, Format | str] | None = None,
    *,
    tensors: Mapping[str, Stored] | Sequence[Stored] = (),
    dims: Mapping[str, int] | None = None,
    order: Sequence[str] | str | None = None,
    capacities: Mapping[str, Capacity] | None = None,
    fills: Mapping[str, Number] | None = None,
    auto_convert: bool = False,
    keep_explicit: bool = False,
    passes: Passes = ALL_PASSES,
    budget: int = DEFAULT_BUDGET,
    floor: int = 0,
    value: ValueType = INT32,
    name: str = "",
) -> Lowered:
    """Compile one statement to one graph.

    Parameters
    ----------
    statement : Statement or str
    formats : mapping of str to Format or str, optional
        By tensor name; a tensor's own format, else scalar, sparse, CSR, ``dss`` by rank.
    tensors : sequence or mapping of Stored, optional
        Real operands: they give exact capacities and the densities of the cost model.
    dims : mapping of str to int, optional
        Capacity by index variable, where no operand tells (default 1024).
    order : sequence of str or str, optional
        Loop order such as ``i,k,j``; the cost model picks one otherwise.
    capacities : mapping of str to int or tuple, optional
        Positions by tensor: of the innermost level, or of every level.
    fills : mapping of str to number, optional
        Fills of operands that are not given; 0 by default.
    auto_convert : bool
        Read copies in other mode orders where the storage orders contradict the loop order, or
        each other.
    keep_explicit : bool
        Let a compressed result store entries that equal its fill.
    passes : Passes
    budget, floor : int
        Most and least entries of one FIFO.
    value : ValueType
    name : str
        The graph's name; the result's by default.

    Raises
    ------
    ParseError, LoweringError, CapacityError
        Each with the way out.
    """
    if isinstance(statement, str):
        statement = parse(statement)
    return compile_region(
        (statement,), None, formats, tensors=tensors, dims=dims, order=order,
        capacities=capacities, fills=fills, auto_convert=auto_convert,
        keep_explicit=keep_explicit, passes=passes, budget=budget, floor=floor, value=value,
        name=name,
    )  # fmt: skip


def compile_region(
    statements: Sequence[Statement],
    stored: Collection[str] | None = None,
    formats: Mapping[str, Format | str] | None = None,
    *,
    tensors: Mapping[str, Stored] | Sequence[Stored] = (),
    dims: Mapping[str, int] | None = None,
    order: Sequence[str] | str | None = None,
    priority: Sequence[str] = (),
    capacities: Mapping[str, Capacity] | None = None,
    fills: Mapping[str, Number] | None = None,
    auto_convert: bool = False,
    convertible: Collection[str] = (),
    keep_explicit: bool = False,
    passes: Passes = ALL_PASSES,
    budget: int | None = DEFAULT_BUDGET,
    floor: int = 0,
    value: ValueType = INT32,
    name: str = "",
    iteration: str = "factored",
    densities: Mapping[str, float] | None = None,
    effort: float = 1.0,
) -> Lowered:
    """Compile statements to one graph; intermediates live as streams only.

    Parameters
    ----------
    statements : sequence of Statement
    stored : collection of str, optional
        Targets that are stored; by default those that no statement reads.
    priority : sequence of str
        Index variables that come in this order, outermost first; others stand anywhere.
    iteration : str
        ``factored``: every sum iterates its own variables alone. ``global``: nested sums of
        products are one nest of loops.
    densities : mapping of str to float, optional
        Stored share of inputs of which no tensor is given, for the forecast.
    effort : float
        Share of the loop orders that are looked at, of those that would be.
    formats, tensors, dims, order, capacities, fills, auto_convert, keep_explicit, passes
        See `compile_statement`.
    convertible : collection of str
        Tensors that may be converted in any case: what earlier regions store. The forecast
        counts that.
    budget : int or None
        See `compile_statement`; None leaves the depths of FIFOs open, for a forecast alone.
    floor, value, name
        See `compile_statement`.

    Raises
    ------
    LoweringError, CapacityError
        Each with the way out.
    """
    if iteration not in ITERATIONS:
        raise LoweringError(f"unknown iteration '{iteration}': choose {', '.join(ITERATIONS)}")
    if isinstance(order, str):
        order = tuple(part.strip() for part in order.split(",") if part.strip())
    if stored is None:
        read = {access.tensor for each in statements for access in each.operands}
        stored = [each.target.tensor for each in statements if each.target.tensor not in read]
    known = tensors if isinstance(tensors, Mapping) else {each.name: each for each in tensors}
    region = _Region(
        tuple(statements),
        Sizes(known, dims or {}, capacities or {}, densities or {}),
        order,
        priority,
        budget,
        floor,
        name,
        effort,
        convertible,
    )
    fills = {**(fills or {}), **{each.name: each.fill for each in known.values()}}

    def problem_of(fused: Fused) -> Problem:
        given = _formats(fused.results, formats or {}, known)
        origin = fused.origin if len(statements) > 1 else {}
        return Problem(
            fused.results, given, fills, value, keep_explicit, fused.users, passes, origin
        )

    if iteration == "global":
        problem = problem_of(fuse(statements, stored, distinct=True))
    else:
        problem = problem_of(fuse(statements, stored))
        if order is None or sorted(order) != sorted(problem.indices):
            problem = _orderable(statements, stored, priority, problem_of)
    nested = _nested(problem)
    if iteration == "global":
        problem, nested = nested or problem, None
    only = None if auto_convert else convertible
    try:
        return region.compile(problem, only)
    except LoweringError as refusal:
        # What factoring cannot place in an order, the single nest often can.
        if nested is None:
            raise
        try:
            return region.compile(nested, only)
        except LoweringError:
            raise refusal from None


def _orderable(
    statements: Sequence[Statement],
    stored: Collection[str],
    priority: Sequence[str],
    problem_of: Callable[[Fused], Problem],
) -> Problem:
    """Fuse statements so that loops have an order, if they have one at all.

    Variables of one name in two statements need not be one loop: where they are asked for in
    contradicting orders, private ones get loops of their own, if the user gives them no place.
    """
    private = {
        (each.target.tensor, index)
        for each in statements
        for index in each.indices
        if index not in each.target.indices and index not in priority
    }
    first = problem = None
    apart: Counter[tuple[str, str]] = Counter()
    while True:
        fused = fuse(statements, stored, apart=apart)
        problem = problem_of(fused)
        first = first or problem
        askers = contradiction(problem, priority)
        if not askers:
            return problem
        asking = [(user, fused.origin.get(index, index)) for user, index in askers]
        free = [each for each in asking if each in private and apart[each] < len(statements)]
        if not free:
            # What one statement computes twice needs two names for its private variables.
            last = problem_of(fuse(statements, stored, distinct=True))
            return first if contradiction(last, priority) else last
        apart[min(free, key=lambda each: apart[each])] += 1


def _nested(problem: Problem) -> Problem | None:
    """Return the problem with one nest for nested sums of products, if it has such."""
    results = tuple(replace(each, value=global_nest(each.value)) for each in problem.results)
    same = _folded(results) == _folded(problem.results)
    return None if same else replace(problem, results=results)


def _folded(results: Sequence[Result]) -> list[tuple[str, ...]]:
    parts = walk(*(result.value for result in results))
    return [part.indices for part in parts if isinstance(part, Fold)]


@dataclass(frozen=True)
class _Region:
    """What statements are compiled with; see `compile_region`."""

    statements: tuple[Statement, ...]
    sizes: Sizes
    order: Sequence[str] | None
    priority: Sequence[str]
    budget: int | None
    floor: int
    name: str
    effort: float
    convertible: Collection[str]

    def compile(self, problem: Problem, only: Collection[str] | None) -> Lowered:
        """Compile for the best order, with copies of operands where there must and may be.

        Of any, or of some only.
        """
        indices = index_sizes(problem, self.sizes)
        try:
            return self._lower(problem, problem, self.sizes, indices, ())
        except LoweringError as error:
            if only is not None and not only:
                raise
            refusal = error
        if self.order is not None:
            check_names(problem, self.order)
        reason: LoweringError | None = None
        found = repairs(problem, self.sizes, self.order, self.priority, only)
        for repair in islice(found, int(self.effort * MOST_REPAIRED)):
            sizes = _with_copies(self.sizes, repair)
            try:
                return self._lower(problem, repair.problem, sizes, indices, repair.copies)
            except LoweringError as error:
                reason = reason or error
        raise reason or refusal

    def _lower(
        self,
        asked: Problem,
        problem: Problem,
        sizes: Sizes,
        indices: dict[str, int],
        copies: tuple[Copy, ...],
    ) -> Lowered:
        choice, graph = self._choose(problem, sizes, indices)
        known = [
            sizes.tensors[copy.name] for copy in copies
            if copy.tensor in self.convertible and copy.name in sizes.tensors
        ]  # fmt: skip
        conversion = sum(CONVERSION * max(each.positions[-1:], default=1) for each in known)
        return Lowered(
            replace(graph, name=self.name or asked.targets[-1].tensor),
            self.statements,
            asked.operands,
            asked.targets,
            choice.plan.order,
            choice.plan.results,
            dict(problem.formats),
            copies,
            {target.tensor: asked.formats[target.tensor] for target in asked.targets},
            replace(choice.forecast, cycles=choice.forecast.cycles + conversion),
            choice.table.kept(graph.nodes),
        )

    def _choose(
        self, problem: Problem, sizes: Sizes, indices: dict[str, int]
    ) -> tuple[Choice, Graph]:
        """Choose an order whose FIFOs keep to the budget; recompute what would wait too long."""
        reason: CapacityError | None = None
        for share in (True, False) if problem.passes.share else (False,):
            try:
                choices = choose(
                    problem, sizes, indices, self.order, self.priority,
                    share=share, effort=self.effort,
                )  # fmt: skip
            except LoweringError:
                if reason is None:
                    raise
                break
            if self.budget is None:
                return choices[0], choices[0].graph
            for choice in choices[: max(1, int(self.effort * MOST_TRIED))]:
                try:
                    return choice, slack(choice.graph, self.budget, self.floor)
                except CapacityError as error:
                    reason = reason or error
        assert reason is not None, "there is at least one choice"
        raise reason


def _formats(
    results: Sequence[Result], formats: Mapping[str, Format | str], tensors: Mapping[str, Stored]
) -> dict[str, Format]:
    chosen: dict[str, Format] = {}
    targets = [result.target for result in results]
    operands = accesses(*(result.value for result in results))
    for access in (*targets, *operands):
        name = access.tensor
        given = formats.get(name)
        form = Format.parse(given) if isinstance(given, str) else given
        tensor = tensors.get(name)
        if tensor is not None:
            if form is not None and form != tensor.format:
                raise LoweringError(
                    f"tensor '{name}' is stored as {tensor.format}, format {form} was asked for: "
                    "convert the tensor or drop the format"
                )
            form = tensor.format
        chosen[name] = form or Format.default(len(access.indices))
    unknown = [name for name in formats if name not in chosen]
    if unknown:
        raise LoweringError(f"'{'; '.join(map(str, targets))}' has no tensor '{unknown[0]}'")
    return chosen


def _with_copies(sizes: Sizes, repair: Repair) -> Sizes:
    """Return the sizes of what a repaired problem reads and stores."""
    tensors = dict(sizes.tensors)
    capacities = dict(sizes.capacities)
    for copy in repair.copies:
        if copy.tensor in tensors:
            tensors[copy.name] = Renamed(tensors[copy.tensor], copy.name, copy.format)
        if isinstance(given := capacities.get(copy.tensor), int):
            capacities[copy.name] = given
    read = repair.problem.formats
    return Sizes(
        {name: each for name, each in tensors.items() if name in read},
        sizes.dims,
        {name: each for name, each in capacities.items() if name in read},
        sizes.densities,
    )
