"""Which loop orders a statement's storage formats allow, and why (DESIGN section 5.1)."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, cast

import networkx

from fuseflow.compiler.problem import Problem
from fuseflow.samml.errors import LoweringError

_nx = cast(Any, networkx)


class OrderError(LoweringError):
    """Storage orders contradict the loop order, or each other."""


MOST_ORDERS = 5040
"""How many topological orders are looked at: all of up to seven free variables."""


def constraints(problem: Problem) -> Any:
    """Build the partial order over index variables.

    Returns
    -------
    networkx.DiGraph
        An edge ``u -> v`` where some tensor stores ``v`` below ``u``; its ``reasons`` are the
        accesses that say so, in statement order.
    """
    graph = _nx.DiGraph()
    graph.add_nodes_from(problem.indices)
    for access in (*problem.operands, *problem.targets):
        for outer, inner in pairwise(problem.storage(access)):
            if not graph.has_edge(outer, inner):
                graph.add_edge(outer, inner, reasons=[])
            reasons = graph.edges[outer, inner]["reasons"]
            if access not in reasons:
                reasons.append(access)
    return graph


def orders(problem: Problem) -> Iterator[tuple[str, ...]]:
    """Yield the loop orders that every storage order allows, in a fixed sequence.

    Raises
    ------
    LoweringError
        There is none: the storage orders contradict each other.
    """
    graph = constraints(problem)
    try:
        cycle = cast("list[tuple[str, str]]", _nx.find_cycle(graph))
    except _nx.NetworkXNoCycle:
        for order in islice(_nx.all_topological_sorts(graph), MOST_ORDERS):
            yield tuple(order)
        return
    steps = "; ".join(
        f"{outer} before {inner} by {_reasons(problem, graph, outer, inner)}"
        for outer, inner in cycle
    )
    raise OrderError(
        f"Fusion constraint violation at axis {cycle[0][0]}: no loop order satisfies {steps}; "
        "store one of these tensors in another mode order (--auto-convert), or split the region"
    )


def check_order(problem: Problem, order: Sequence[str]) -> tuple[str, ...]:
    """Check a given loop order against every storage order.

    Raises
    ------
    LoweringError
        It is not a permutation of the index variables, or some tensor is stored otherwise.
    """
    check_names(problem, order)
    graph = constraints(problem)
    rank = {index: position for position, index in enumerate(order)}
    for outer, inner in graph.edges:
        if rank[outer] > rank[inner]:
            raise OrderError(
                f"Fusion constraint violation at axis {inner}: order '{','.join(order)}' needs "
                f"{inner} before {outer}, but {_reasons(problem, graph, outer, inner)} stores "
                f"{outer} above {inner}; use an order with {outer} before {inner}, or store the "
                "tensor in another mode order (--auto-convert)"
            )
    return tuple(order)


def check_names(problem: Problem, order: Sequence[str]) -> None:
    """Check that an order names every index variable once.

    Raises
    ------
    LoweringError
        It does not.
    """
    wanted = problem.indices
    if sorted(order) != sorted(wanted):
        raise LoweringError(
            f"order '{','.join(order)}' must name each of {', '.join(wanted) or 'no index'} once"
        )


def _reasons(problem: Problem, graph: Any, outer: str, inner: str) -> str:
    reasons = graph.edges[outer, inner]["reasons"]
    return " and ".join(f"{access} in {problem.formats[access.tensor]}" for access in reasons)
