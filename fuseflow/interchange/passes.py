"""Passes over imported nodes: what a graph of SAM has no say in."""

from collections.abc import Sequence
from dataclasses import replace

from fuseflow.samml.graph import Node
from fuseflow.samml.values import ValueType


def trim(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Leave the fibers of a drop_empty out where only its coordinates are read."""
    read = {edge.node for node in nodes for edge in node.inputs if edge.output.startswith("inner")}
    return tuple(
        node
        if node.primitive != "drop_empty" or node.name in read
        else replace(
            node,
            params={**node.params, "heights": ()},
            inputs=tuple(edge for edge in node.inputs if not edge.port.startswith("inner")),
        )
        for node in nodes
    )


def widen(nodes: Sequence[Node], value: ValueType) -> tuple[Node, ...]:
    """Leave products unrounded that go into sums alone, where the value type is narrower."""
    rounded = {
        edge.node
        for node in nodes
        for edge in node.inputs
        if node.primitive not in ("reduce", "accumulate")
    }
    return tuple(
        replace(node, params={**node.params, "wide": True})
        if node.params.get("op") == "mul" and node.name not in rounded and value.wide is not value
        else node
        for node in nodes
    )
