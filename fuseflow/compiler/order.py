"""Which loop orders a statement's storage formats allow, and why (DESIGN section 5.1)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, TypeAlias, cast

import networkx

from fuseflow.compiler.expr import Access
from fuseflow.compiler.problem import Problem
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import Format

_nx = cast(Any, networkx)


class OrderError(LoweringError):
    """Storage orders contradict the loop order, or each other."""


MOST_ORDERS = 5040
"""How many topological orders are looked at: all of up to seven free variables."""


def constraints(problem: Problem, priority: Sequence[str] = ()) -> Any:
    """Build the partial order over index variables.

    Parameters
    ----------
    problem : Problem
    priority : sequence of str
        Index variables that the user wants in this order.

    Returns
    -------
    networkx.DiGraph
        An edge ``u -> v`` where some tensor stores ``v`` below ``u``, or the user wants it there;
        its ``reasons`` are the `Storage` and `Wish` that say so, in statement order. What a
        producer and its consumer share has one name, so each constrains the other.
    """
    graph = _nx.DiGraph()
    graph.add_nodes_from(problem.indices)

    def add(outer: str, inner: str, reason: Reason) -> None:
        if not graph.has_edge(outer, inner):
            graph.add_edge(outer, inner, reasons=[])
        reasons = graph.edges[outer, inner]["reasons"]
        if reason not in reasons:
            reasons.append(reason)

    for access in (*problem.operands, *problem.targets):
        form = problem.formats[access.tensor]
        user = problem.users.get(access, "")
        for outer, inner in pairwise(problem.storage(access)):
            add(outer, inner, Storage(access, form, user))
    wanted = [index for index in priority if index in problem.indices]
    for outer, inner in pairwise(wanted):
        add(outer, inner, Wish(tuple(priority)))
    return graph


@dataclass(frozen=True)
class Storage:
    """A tensor's format asks for an order; `user` is the statement that reads or stores it."""

    access: Access
    format: Format
    user: str = ""

    def __str__(self) -> str:
        where = f" of {self.user}" if self.user and self.user != self.access.tensor else ""
        return f"{self.access} in {self.format}{where}"


@dataclass(frozen=True)
class Wish:
    """The user's order."""

    order: tuple[str, ...]

    def __str__(self) -> str:
        return f"the order {','.join(self.order)}"


Reason: TypeAlias = Storage | Wish


def orders(problem: Problem, priority: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the loop orders that every storage order allows, in a fixed sequence.

    Raises
    ------
    LoweringError
        There is none: the storage orders contradict each other, or the user's.
    """
    graph = constraints(problem, priority)
    try:
        cycle = cast("list[tuple[str, str]]", _nx.find_cycle(graph))
    except _nx.NetworkXNoCycle:
        for order in islice(_nx.all_topological_sorts(graph), MOST_ORDERS):
            yield tuple(order)
        return
    steps = "; ".join(
        f"{outer} before {inner} by {_reasons(graph, outer, inner)}" for outer, inner in cycle
    )
    raise OrderError(
        f"Fusion constraint violation at axis {cycle[0][0]}: no loop order satisfies {steps}; "
        "store one of these tensors in another mode order (--auto-convert), or split the region"
    )


def contradiction(problem: Problem, priority: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return who asks for orders that contradict each other: statements with index variables.

    Empty where some loop order suits all.
    """
    graph = constraints(problem, priority)
    try:
        cycle = cast("list[tuple[str, str]]", _nx.find_cycle(graph))
    except _nx.NetworkXNoCycle:
        return []
    return [
        (reason.user, index)
        for edge in cycle
        for reason in cast("list[Reason]", graph.edges[edge]["reasons"])
        if isinstance(reason, Storage)
        for index in edge
    ] or [("", cycle[0][0])]


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
                f"{inner} before {outer}, but {_reasons(graph, outer, inner)} stores "
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


def _reasons(graph: Any, outer: str, inner: str) -> str:
    return " and ".join(map(str, graph.edges[outer, inner]["reasons"]))
