"""Traced runs of small programs, with depths and parameters changed at will."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import fuseflow
from fuseflow import Program, Tensor
from fuseflow.samml.graph import Connection, Graph, Node, ParamValue
from fuseflow.samml.units import UnitGraph
from fuseflow.samml.values import INT32, ValueType
from sim_models.cycle.result import CycleResult

Edit = Callable[[Graph], Graph]


@dataclass(frozen=True)
class Traced:
    graph: UnitGraph
    result: CycleResult


def matrix(
    name: str,
    rows: int,
    columns: int,
    *,
    share: float = 0.3,
    form: str = "CSR",
    value: ValueType = INT32,
) -> Tensor:
    rng = np.random.default_rng(sum(map(ord, name)))
    array = rng.integers(1, 10, (rows, columns)) * (rng.random((rows, columns)) < share)
    return Tensor.from_numpy(name, array, form, value=value)


def traced(text: Any, *tensors: Tensor, edit: Edit = lambda graph: graph, **options: Any) -> Traced:
    """Compile, edit the graph, and run it."""
    program = fuseflow.compile(text, *tensors, **options)
    run = edited(program, edit).run(trace=True)
    return Traced(run.units, run.model)


def edited(program: Program, edit: Edit) -> Program:
    (kernel,) = program.kernels
    lowered = replace(kernel.lowered, graph=edit(kernel.graph))
    return replace(program, kernels=(replace(kernel, lowered=lowered),))


def with_depth(edge: str, depth: int) -> Edit:
    """Give the edge ``node.port`` a depth."""

    def changed(node: Node, read: Connection) -> Connection:
        return replace(read, depth=depth) if f"{node.name}.{read.port}" == edge else read

    return _nodes(
        lambda node: replace(node, inputs=tuple(changed(node, read) for read in node.inputs))
    )


def all_depths(change: Callable[[Connection], int | None]) -> Edit:
    return _nodes(
        lambda node: replace(
            node, inputs=tuple(replace(read, depth=change(read)) for read in node.inputs)
        )
    )


def with_params(primitive: str, **params: ParamValue) -> Edit:
    """Give every node of a primitive these parameters."""
    return _nodes(
        lambda node: (
            replace(node, params={**node.params, **params}) if node.primitive == primitive else node
        )
    )


def _nodes(change: Callable[[Node], Node]) -> Edit:
    return lambda graph: replace(graph, nodes=tuple(map(change, graph.nodes)))
