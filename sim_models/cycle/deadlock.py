"""Who waits for whom when nothing more can happen."""

from fuseflow.samml.units import UnitGraph
from sim_models.cycle.build import Builder
from sim_models.cycle.layout import U_WAIT, U_WAIT_EMIT
from sim_models.cycle.result import DeadlockError


def waits(build: Builder) -> dict[int, list[int]]:
    """Return, by unit number, the numbers of the edges that it waits for."""
    number = {offset: k for k, offset in enumerate(build.edges)}
    found: dict[int, list[int]] = {}
    for k, offset in enumerate(build.units):
        words = (int(build.heap.words[offset + word]) for word in (U_WAIT, U_WAIT_EMIT))
        edges = list(dict.fromkeys(number[word] for word in words if word))
        if edges:
            found[k] = edges
    return found


def explain(build: Builder, graph: UnitGraph) -> DeadlockError:
    """Describe why a run stopped before all its streams ended."""
    waiting = waits(build)
    names = [unit.name for unit in graph.units]
    by_name = {names[u]: graph.edges[edges[0]].name for u, edges in waiting.items()}
    circle = _circle(graph, waiting)
    if not circle:
        listing = ", ".join(f"{unit} for {edge}" for unit, edge in by_name.items())
        return DeadlockError(
            f"graph '{graph.graph.name}': a stream ends early; waiting: {listing}; "
            "check the streams of the sources and the order of the graph's levels",
            by_name, (), None,
        )  # fmt: skip
    full = [graph.edges[e] for u, e in circle if graph.edges[e].writer == u]
    # The depth of an internal edge is the catalog's; that of another one can be given.
    edge = next((edge for edge in full if edge.gated), full[0])
    steps = [
        f"{names[u]} waits for {'room on' if graph.edges[e].writer == u else 'a token of'} "
        f"{graph.edges[e].name}"
        for u, e in circle
    ]
    return DeadlockError(
        f"graph '{graph.graph.name}': deadlock: {', '.join(steps)}; "
        f"give edge '{edge.name}' more depth than {edge.depth}",
        by_name, tuple(names[u] for u, _ in circle), edge.name,
    )  # fmt: skip


def _circle(graph: UnitGraph, waiting: dict[int, list[int]]) -> list[tuple[int, int]]:
    """Return the (unit, edge) steps of a circle of waiting units that has a full edge."""

    def search(u: int, path: list[tuple[int, int]], done: set[int]) -> list[tuple[int, int]]:
        on_path = [step[0] for step in path]
        if u in on_path:
            return path[on_path.index(u) :]
        if u in done:
            return []
        done.add(u)
        for e in waiting.get(u, ()):
            edge = graph.edges[e]
            other = edge.reader if edge.writer == u else edge.writer
            found = search(other, [*path, (u, e)], done)
            if found:
                return found
        return []

    done: set[int] = set()
    for u in waiting:
        found = search(u, [], done)
        if found:
            return found
    return []
