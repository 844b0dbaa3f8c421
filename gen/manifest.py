"""The manifest: everything a bench or a host needs to know about a tile, as JSON data."""

from typing import Any

from fuseflow.samml.graph import Graph
from gen.cells import ARRAY
from gen.identity import graph_hash
from gen.plan import (
    ArrayPlan,
    Plan,
    Window,
    count_register,
    ends,
    identifier,
    instance,
    shape_register,
)
from gen.tokens import token_fields

FORMAT = 1
GENERATOR = "fuseflow"


def manifest(graph: Graph, *, gated: bool = False) -> dict[str, Any]:
    """Describe the tile of a graph.

    Raises
    ------
    GraphError
        The graph is ill-formed, never ends, or two of its names clash in the RTL.
    """
    return describe(Plan.of(graph), gated=gated)


def describe(plan: Plan, *, gated: bool) -> dict[str, Any]:
    """Describe a planned tile."""
    graph, widths = plan.graph, plan.widths
    addresses = {register.name: register.address for register in plan.registers}
    return {
        "generator": GENERATOR,
        "format": FORMAT,
        "graph": graph.name,
        "hash": f"{graph_hash(graph):016x}",
        "top": plan.top,
        "gated": gated,
        "value": {
            "name": graph.value.name,
            "bits": graph.value.bits,
            "signed": not graph.value.is_float,
            "wide": graph.value.wide.name,
        },
        "widths": {"crd": widths.crd, "ref": widths.ref, "val": widths.value.bits},
        "indices": dict(graph.indices),
        "tensors": [
            {
                "name": tensor.name,
                "role": tensor.role,
                "format": str(tensor.format),
                "levels": [kind.value for kind in tensor.format.levels],
                "order": list(tensor.format.order),
                "dims": list(tensor.dims),
                "positions": list(tensor.positions),
                "fill": graph.value.encode(tensor.fill),
                "shape": [
                    addresses[shape_register(tensor.name, mode)] for mode in range(len(tensor.dims))
                ],
            }
            for tensor in graph.tensors
        ],
        "address_bits": plan.address_bits,
        "registers": [
            {
                "name": register.name,
                "address": register.address,
                "access": register.access.value,
                "doc": register.doc,
            }
            for register in plan.registers
        ],
        "arrays": [
            _array(array, window, addresses.get(count_register(array.tensor, array.name)))
            for array, window in zip(plan.arrays, plan.windows, strict=True)
        ],
        "units": _units(plan),
        "edges": _edges(plan, gated),
        "sources": _sources(plan),
        "sinks": [
            {"node": unit.node.name, "port": f"{identifier(unit.node.name)}_streams"}
            for unit in plan.units.units
            if unit.kind == "sink"
        ],
    }


def _array(array: ArrayPlan, window: Window, count: int | None) -> dict[str, Any]:
    """Describe an array: word i is row ``i // n`` of every copy of bank ``i % n``."""
    return {
        "tensor": array.tensor,
        "name": array.name,
        "kind": array.kind,
        "level": array.level,
        "role": array.role,
        "words": array.words,
        "width": array.width,
        "base": window.base,
        "size": window.size,
        "access": window.access.value,
        "count": count,
        "banks": [
            [{"memory": f"{memory.name}.{ARRAY}", "depth": memory.depth} for memory in copies]
            for copies in array.banks
        ],
    }


def _units(plan: Plan) -> list[dict[str, Any]]:
    finishing = ends(plan.units)
    return [
        {
            "name": unit.name,
            "instance": instance("unit", unit.name),
            "kind": unit.kind,
            "latency": unit.unit.latency,
            "reads": list(unit.reads),
            "writes": [list(readers) for readers in unit.writes],
            "ends_run": position in finishing,
        }
        for position, unit in enumerate(plan.units.units)
    ]


def _edges(plan: Plan, gated: bool) -> list[dict[str, Any]]:
    return [
        {
            "name": edge.name,
            "instance": instance("edge", edge.name),
            "writer": plan.units.units[edge.writer].name,
            "reader": plan.units.units[edge.reader].name,
            "depth": edge.depth,
            "latency": edge.latency,
            "room_gate": f"gate_room_{k}" if gated and edge.gated else None,
            "head_gate": f"gate_head_{k}" if gated and edge.gated else None,
            "token": token_fields(edge.type, plan.widths),
        }
        for k, edge in enumerate(plan.units.edges)
    ]


def _sources(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "node": unit.node.name,
            "port": f"{identifier(unit.node.name)}_count",
            "memory": f"{instance('unit', unit.name)}.{ARRAY}",
            "words": unit.node.params["words"],
            "token": token_fields(unit.bundles[0], plan.widths),
        }
        for unit in plan.units.units
        if unit.kind == "source"
    ]
