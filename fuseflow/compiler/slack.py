"""FIFO depths: slack where the branches of a fork meet again (DESIGN section 3).

Tokens wait on the last edge of a short branch until the longest one has caught up.  That
edge gets room for all of them, so that a fork never stalls a branch that could run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from fuseflow.samml.errors import CapacityError
from fuseflow.samml.graph import Graph
from fuseflow.samml.units import UnitEdge, UnitGraph, UnitInstance, flatten

DEFAULT_BUDGET = 4096
"""Most entries of one FIFO, unless the caller says otherwise."""


@dataclass(frozen=True)
class Bound:
    """Why an edge has its depth.

    Attributes
    ----------
    edge : str
    depth : int
        Slots that the edge needs.
    fork : str
        The unit whose branches meet behind this edge; empty where latency alone decides.
    """

    edge: str
    depth: int
    fork: str = ""


def slack(graph: Graph, budget: int = DEFAULT_BUDGET) -> Graph:
    """Set the depth of every connection.

    Raises
    ------
    CapacityError
        An edge would need more than `budget` entries.
    """
    bound = {limit.edge: limit for limit in bounds(flatten(graph))}
    for limit in bound.values():
        if limit.depth > budget:
            raise CapacityError(
                f"edge '{limit.edge}' needs {limit.depth} entries, budget is {budget}: the branches "
                f"of fork '{limit.fork}' meet there; split the region at '{limit.fork}', use another "
                "order, or raise the budget"
            )
    nodes = tuple(
        replace(
            node,
            inputs=tuple(
                replace(edge, depth=bound[f"{node.name}.{edge.port}"].depth) for edge in node.inputs
            ),
        )
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


def bounds(units: UnitGraph) -> tuple[Bound, ...]:
    """Return what every edge between nodes needs, in edge order."""
    needs = {
        number: Bound(edge.name, edge.latency + 1)
        for number, edge in enumerate(units.edges)
        if edge.gated
    }
    for fork in range(len(units.units)):
        for number, depth in _fork_needs(units, fork):
            if number in needs and depth > needs[number].depth:
                name = units.units[fork].name
                needs[number] = Bound(units.edges[number].name, depth, name)
    return tuple(needs.values())


def _fork_needs(units: UnitGraph, fork: int) -> Iterator[tuple[int, int]]:
    """Yield (edge, depth) for every edge on which a branch of one fork waits for another.

    A rank-0 stream carries a single token, for which latency + 1 slots are room enough.
    """
    branches = {
        edge for edges in units.units[fork].writes for edge in edges if units.edges[edge].type.rank
    }
    if len(branches) < 2:
        return
    plain = _distances(units, fork, branches, None, frozenset())
    for unit in units.units[fork + 1 :]:
        meeting = [edge for edge in unit.reads if _reached(units, fork, branches, plain, edge)]
        if len(meeting) < 2:
            continue
        for short in meeting:
            edge = units.edges[short]
            far = _distances(units, fork, branches, edge, _ancestors(units, edge.writer))
            slow = max(far[units.edges[other].writer] for other in meeting if other != short)
            yield short, slow - plain[edge.writer] + edge.latency + 1


def _reached(
    units: UnitGraph, fork: int, branches: set[int], distance: Mapping[int, int], edge: int
) -> bool:
    writer = units.edges[edge].writer
    return edge in branches if writer == fork else writer in distance


def _distances(
    units: UnitGraph,
    fork: int,
    branches: set[int],
    short: UnitEdge | None,
    behind: frozenset[int],
) -> dict[int, int]:
    """Return the longest path from a fork through each unit that it reaches.

    Counted in cycles until a token leaves the unit; with `short` given, also in the tokens
    that pile up on that edge meanwhile. A unit `behind` that edge holds both branches up.
    """
    distance = {fork: 0}
    for position in range(fork + 1, len(units.units)):
        unit = units.units[position]
        before = [
            distance[units.edges[edge].writer]
            for edge in unit.reads
            if _reached(units, fork, branches, distance, edge)
        ]
        if before:
            piles = short is not None and position not in behind
            tokens = _tokens(units, unit, short) if piles else 0
            distance[position] = max(before) + unit.unit.latency + unit.unit.holds + tokens
    return distance


def _ancestors(units: UnitGraph, unit: int) -> frozenset[int]:
    """Return a unit and every unit that it depends on."""
    found = {unit}
    for position in range(unit, -1, -1):
        if position in found:
            found.update(units.edges[edge].writer for edge in units.units[position].reads)
    return frozenset(found)


def _tokens(units: UnitGraph, unit: UnitInstance, short: UnitEdge) -> int:
    """Return how many tokens of the short edge a unit may take before its first output."""
    levels = units.edges[unit.reads[0]].type.levels if unit.reads else ()
    known = {level.index for level in short.type.levels}
    closing = {levels[k].index for k in unit.unit.closes} & known
    tokens = prod(units.graph.indices[index] for index in closing) - 1
    if unit.unit.banks:
        row = {units.edges[edge].type.levels for edges in unit.writes for edge in edges}
        tokens += unit.unit.banks if short.type.levels in row else 0
    return tokens
