"""Fused operators: pairs of nodes that the catalog has as one (docs/rfcs/0007).

What `PATTERNS` lists gives the words and flags of the pair, bit for bit, so that nothing but
nodes, edges and latencies changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fuseflow.samml.catalog import CATALOG, FOLDS
from fuseflow.samml.graph import Graph, Node, ParamValue
from fuseflow.samml.values import VALUE_TYPES

Choices: TypeAlias = Mapping[str, tuple[ParamValue, ...]]
"""Parameters that decide, and the values that each may have."""

UNWIDENED = tuple(value.name for value in VALUE_TYPES.values() if value.wide is value)
"""Value types whose sums are no wider than their values."""


@dataclass(frozen=True)
class Pattern:
    """A node whose one reader does its work too.

    Attributes
    ----------
    name : str
    first, second : str
        Primitives of the node and of its reader.
    firsts, seconds : mapping of str to tuple
        What their parameters must be.
    fused : str
        The primitive that stands for both: it has the inputs of the first, the reader's name.
    sets : mapping of str to value
        Parameters that it always has.
    takes : mapping of str to (int, str)
        Parameters that it has from the first (0) or second (1) of the pair.
    types : tuple of str
        Value types for which it gives the words of the pair.
    """

    name: str
    first: str
    firsts: Choices
    second: str
    seconds: Choices
    fused: str
    sets: Mapping[str, ParamValue]
    takes: Mapping[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    types: tuple[str, ...] = tuple(VALUE_TYPES)


PATTERNS = (
    Pattern(
        "relu behind an operation",
        "alu", {"wide": (False,), "relu": (False,)},
        "unary", {"op": ("relu",)},
        "alu", {"relu": True}, {"op": (0, "op")},
    ),
    Pattern(
        "affine function",
        "unary", {"op": ("scale",)},
        "unary", {"op": ("shift",)},
        "unary", {"op": "affine"}, {"constant": (0, "constant"), "offset": (1, "constant")},
    ),
    Pattern(
        "products into a wide sum",
        "alu", {"op": ("mul",), "wide": (True,)},
        "reduce", {"op": ("sum",), "multiply": (False,)},
        "reduce", {"multiply": True}, {"op": (1, "op"), "wide": (1, "wide")},
    ),
    Pattern(
        "products into a sum as wide as they are",
        "alu", {"op": ("mul",), "wide": (False,), "relu": (False,)},
        "reduce", {"op": ("sum",), "multiply": (False,)},
        "reduce", {"multiply": True}, {"op": (1, "op"), "wide": (1, "wide")},
        UNWIDENED,
    ),
    Pattern(
        "products into a maximum or minimum",
        "alu", {"op": ("mul",), "wide": (False,), "relu": (False,)},
        "reduce", {"op": tuple(op for op in FOLDS if op != "sum"), "multiply": (False,)},
        "reduce", {"multiply": True}, {"op": (1, "op")},
    ),
)  # fmt: skip
"""Every pair that becomes one node."""


def operators(graph: Graph) -> Graph:
    """Replace every pair of a pattern whose first node nobody else reads by one node."""
    readers: dict[str, int] = {}
    for node in graph.nodes:
        for edge in node.inputs:
            readers[edge.node] = readers.get(edge.node, 0) + 1
    kept: dict[str, Node] = {}
    for node in graph.nodes:
        match node.inputs:
            case (edge,) if readers[edge.node] == 1:
                fused = _fused(kept[edge.node], node, graph.value.name)
            case _:
                fused = None
        if fused is not None:
            del kept[node.inputs[0].node]
        kept[node.name] = fused or node
    return replace(graph, nodes=tuple(kept.values()))


def _fused(first: Node, second: Node, value: str) -> Node | None:
    """Return the node that stands for a pair, if there is one."""
    for pattern in PATTERNS:
        if (
            value in pattern.types
            and _matches(first, pattern.first, pattern.firsts)
            and _matches(second, pattern.second, pattern.seconds)
        ):
            pair = first.params, second.params
            params = {
                param: pair[which][name]
                for param, (which, name) in pattern.takes.items()
                if name in pair[which]
            } | {**pattern.sets}
            known = [param.name for param in CATALOG[pattern.fused].params]
            params = {name: params[name] for name in known if name in params}
            return Node(second.name, pattern.fused, params, first.inputs)
    return None


def _matches(node: Node, primitive: str, choices: Choices) -> bool:
    if node.primitive != primitive:
        return False
    params = CATALOG[primitive].complete(node.params)
    return all(params[name] in allowed for name, allowed in choices.items())
