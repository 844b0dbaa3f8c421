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

SHALLOW = 64
"""Entries of a FIFO that are cheap; what is deeper stands where the fewest tokens wait."""

BURST = 16
"""Entries behind an intersection, so that it runs on while what follows a match is busy with it.

Matches come in bursts, and each may open a long fiber.  Sixteen entries cost the LUT RAM of two.
"""


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


def slack(graph: Graph, budget: int = DEFAULT_BUDGET, floor: int = 0) -> Graph:
    """Set the depth of every connection.

    Parameters
    ----------
    graph : Graph
    budget : int
        Most entries of one FIFO.
    floor : int
        Least entries of one FIFO. Beyond the slack of forks, it lets fibers of uneven length
        catch up with each other.

    Raises
    ------
    CapacityError
        An edge would need more than `budget` entries.
    """
    bound = {limit.edge: limit for limit in bounds(flatten(graph))}
    for limit in bound.values():
        if limit.depth > budget:
            raise CapacityError(
                f"edge '{limit.edge}' needs {limit.depth} entries, budget is {budget}: the "
                f"branches of fork '{limit.fork}' meet there; split the region at "
                f"'{limit.fork}', use another order, or raise the budget"
            )
    merges = {node.name for node in graph.nodes if node.primitive == "intersect"}
    nodes = tuple(
        replace(
            node,
            inputs=tuple(
                replace(
                    edge,
                    depth=max(
                        floor,
                        bound[f"{node.name}.{edge.port}"].depth,
                        min(BURST, budget) if edge.node in merges else 0,
                    ),
                )
                for edge in node.inputs
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
    piles = _Piles(units)
    for fork in range(len(units.units)):
        for number, depth in _Fork(units, fork, piles).needs():
            if number in needs and depth > needs[number].depth:
                name = units.units[fork].name
                needs[number] = Bound(units.edges[number].name, depth, name)
    return tuple(needs.values())


class _Piles:
    """How many tokens pile up on edges while units take whole fibers."""

    def __init__(self, units: UnitGraph) -> None:
        self.units = units
        self._behind: dict[int, frozenset[int]] = {}
        self._tokens: dict[tuple[int, int], int] = {}

    def tokens(self, position: int, short: int) -> int:
        """Return how many tokens of an edge wait for a unit's first output.

        A unit that the edge itself comes from holds both branches up and lets nothing pile up.
        """
        key = position, short
        if key not in self._tokens:
            edge = self.units.edges[short]
            if edge.writer not in self._behind:
                self._behind[edge.writer] = _ancestors(self.units, edge.writer)
            behind = position in self._behind[edge.writer]
            unit = self.units.units[position]
            self._tokens[key] = 0 if behind else _tokens(self.units, unit, edge)
        return self._tokens[key]


class _Fork:
    """The branches that leave one unit, and where they meet again.

    A fork of rank 0 carries one token a run, so that nothing piles up behind it: its branches
    differ in latency only.
    """

    def __init__(self, units: UnitGraph, fork: int, piles: _Piles) -> None:
        self.units = units
        self.fork = fork
        self.piles = piles
        self.branches = {edge for edges in units.units[fork].writes for edge in edges}
        self.counts_tokens = any(units.edges[edge].type.rank for edge in self.branches)
        self._far: dict[int, dict[int, int]] = {}
        self._rooms: dict[tuple[int, ...], dict[int, int]] = {}

    def needs(self) -> Iterator[tuple[int, int]]:
        """Yield (edge, depth) for every edge on which one branch waits for another."""
        if len(self.branches) < 2:
            return
        units = self.units
        plain = self._distances(None)
        for unit in units.units[self.fork + 1 :]:
            meeting = [edge for edge in unit.reads if self._reaches(edge, plain)]
            if len(meeting) < 2:
                continue
            for short in meeting:
                if self.counts_tokens or units.edges[short].type.rank:
                    others = [other for other in meeting if other != short]
                    yield from self._room(short, others, plain).items()

    def _room(self, short: int, others: list[int], plain: Mapping[int, int]) -> dict[int, int]:
        """Return the edges that take what piles up on a short branch, the last one if it can.

        Where a fiber waits whose elements the short branch has expanded, it waits above.
        """
        key = short, *others
        if key not in self._rooms:
            self._rooms[key] = self._find_room(short, others, plain)
        return self._rooms[key]

    def _find_room(self, short: int, others: list[int], plain: Mapping[int, int]) -> dict[int, int]:
        edge = self.units.edges[short]
        far = self._behind(short) if self.counts_tokens else plain
        slow = max(
            far[self.units.edges[other].writer] + self._lag(other, short) for other in others
        )
        depth = slow - plain[edge.writer] + edge.latency + 1
        if edge.gated and depth <= SHALLOW:
            return {short: depth}
        before = [
            each for each in self.units.units[edge.writer].reads if self._reaches(each, plain)
        ]
        if edge.writer == self.fork or not before:
            return {short: depth}
        above: dict[int, int] = {}
        for place in before:
            above |= self._room(place, others, plain)
        return above if not edge.gated or sum(above.values()) < depth else {short: depth}

    def _behind(self, short: int) -> dict[int, int]:
        if short not in self._far:
            self._far[short] = self._distances(short)
        return self._far[short]

    def _reaches(self, edge: int, distance: Mapping[int, int]) -> bool:
        return self.units.edges[edge].writer in distance

    def _distances(self, short: int | None) -> dict[int, int]:
        """Return the longest path from the fork through each unit that it reaches.

        Counted in cycles until a token leaves the unit; with `short` given, also in the tokens
        that pile up on that edge meanwhile.
        """
        units = self.units
        distance = {self.fork: 0}
        for position in range(self.fork + 1, len(units.units)):
            unit = units.units[position]
            before = [
                distance[units.edges[edge].writer] + self._lag(edge, short)
                for edge in unit.reads
                if self._reaches(edge, distance)
            ]
            if before:
                tokens = 0 if short is None else self.piles.tokens(position, short)
                distance[position] = max(before) + unit.unit.latency + unit.unit.holds + tokens
        return distance

    def _lag(self, edge: int, short: int | None) -> int:
        """Return how many tokens of the short edge leave a writer before one of this edge.

        An accumulator that keeps two levels issues an outer coordinate with the last inner
        token of its fiber.
        """
        writer = self.units.units[self.units.edges[edge].writer]
        if short is None or len(writer.writes) < 2 or edge in writer.writes[0]:
            return 0
        inner = {writer.bundles[0].levels[-1].index}
        return _piling(self.units, self.units.edges[short], inner) - 1


def _piling(units: UnitGraph, edge: UnitEdge, closing: set[str]) -> int:
    """Return how many tokens wait on an edge while a fiber over some indices is taken.

    They wait for the reader's other inputs, but drop_outer takes the tokens inside a signal fiber
    alone.  The levels inside of the fiber's wait with it.
    """
    reader = units.units[edge.reader]
    rank = edge.type.rank
    if reader.kind == "drop_empty.drop_outer":
        rank = units.edges[reader.reads[0]].type.rank
    indices = [level.index for level in edge.type.levels[:rank]]
    first = next((k for k, index in enumerate(indices) if index in closing), rank)
    return prod(units.graph.indices[index] for index in indices[first:])


def _ancestors(units: UnitGraph, unit: int) -> frozenset[int]:
    """Return a unit and every unit that it depends on."""
    found = {unit}
    for position in range(unit, -1, -1):
        if position in found:
            found.update(units.edges[edge].writer for edge in units.units[position].reads)
    return frozenset(found)


def _tokens(units: UnitGraph, unit: UnitInstance, short: UnitEdge) -> int:
    """Return how many tokens of the short edge a unit may take before its first output."""
    streams = [units.edges[edge].type for edge in unit.reads]
    closing = {streams[0].levels[k].index for k in unit.unit.closes}
    if unit.kind == "drop_empty.drop_outer":
        outer, signal = streams
        closing |= {level.index for level in signal.levels[outer.rank :]}
    tokens = _piling(units, short, closing) - 1
    if unit.unit.banks:
        row = {units.edges[edge].type.levels for edges in unit.writes for edge in edges}
        tokens += unit.unit.banks if short.type.levels in row else 0
    return tokens
