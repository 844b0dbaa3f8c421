"""Every unit of the catalog has a component that elaborates to Verilog."""

from dataclasses import replace

import pytest
from amaranth.back import rtlil, verilog

from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.graph import Extent, Graph, Role
from fuseflow.samml.units import flatten
from fuseflow.samml.values import FP32
from hw.layout import Widths
from hw.primitives import component, shared
from tests.hw.bench import Tile, graph_of, tensor
from tests.hw.test_random import accumulate, sink
from tests.samml.graphs import edge, node, source


def everything() -> Graph:
    """One node of every primitive but accumulate."""
    return graph_of(
        node("root", "root"),
        node("dense", "scan_dense", edge("ref", "root", "ref"), index="i", size=Extent("T", 0)),
        node(
            "scan", "scan_compressed", edge("ref", "dense", "ref"), index="j", tensor="T", level=1
        ),
        node(
            "both", "intersect", edge("left", "scan", "crd", "a=ref"), edge("right", "scan", "crd")
        ),
        node("either", "union", edge("left", "both", "crd", "a"), edge("right", "both", "crd")),
        node("find", "locate", edge("crd", "either", "crd"), size=Extent("T", 1), parent=False),
        node("load", "array", edge("ref", "find", "ref"), tensor="T"),
        node("again", "repeat", edge("x", "dense", "x=ref"), edge("signal", "scan")),
        node("times", "alu", edge("a", "load", "a=val"), edge("b", "load", "b=val"), op="mul"),
        node("thin", "drop_value", edge("crd", "either", "crd"), edge("val", "times", "val")),
        node("less", "unary", edge("a", "thin", "a=val"), op="neg"),
        node("sum", "reduce", edge("val", "less", "val")),
        node(
            "drop",
            "drop_empty",
            edge("outer", "dense", "crd"),
            edge("signal", "scan"),
            edge("inner0", "scan", "crd"),
            signal=1,
            heights=(1,),
        ),
        node("crds", "write_crd", edge("crd", "thin", "crd"), tensor="R", level=1),
        node("vals", "write_val", edge("val", "thin", "val"), tensor="R"),
        source("play", "crd/crd"),
        sink("drop.inner0", "crd"),
        tensors=[
            tensor("T", (8, 9), "ds", positions=(8, 40)),
            tensor("R", (8, 9), "ds", positions=(8, 40), role=Role.RESULT),
        ],
    )


GRAPHS = {
    "everything": everything(),
    "sparse": accumulate(1, (40,)),
    "dense": accumulate(1, (40,), mode="dense", banks=1),
    "two kept": accumulate(2, (5, 9), banks=3, adder=4),
}


def test_every_primitive_is_tried() -> None:
    tried = {one.primitive for graph in GRAPHS.values() for one in graph.nodes}
    assert tried == set(CATALOG)


PORTS = {"alu": ("a", "b"), "unary": ("a",), "reduce": ("val",)}
OPERATIONS = [
    (primitive, op)
    for primitive in PORTS
    for param in CATALOG[primitive].params
    if param.name == "op"
    for op in param.choices
]


def operation(primitive: str, op: str) -> Graph:
    """One node of an operation, in fp32."""
    ports = PORTS[primitive]
    graph = graph_of(
        source("s", *(f"{port}/val" for port in ports)),
        node("dut", primitive, *(edge(port, "s", port) for port in ports), op=op),
        sink("dut", "val"),
    )
    return replace(graph, value=FP32)


@pytest.mark.parametrize(("primitive", "op"), sorted(OPERATIONS))
def test_every_operation_elaborates(primitive: str, op: str) -> None:
    units = flatten(operation(primitive, op))
    (unit,) = (unit for unit in units.units if unit.name == "dut")
    assert rtlil.convert(component(unit, units, Widths.of(units.graph)))


@pytest.mark.parametrize("name", GRAPHS)
def test_every_unit_elaborates(name: str) -> None:
    units = flatten(GRAPHS[name])
    widths = Widths.of(GRAPHS[name])
    for unit in units.units:
        first, second = (rtlil.convert(component(unit, units, widths)) for _ in range(2))
        assert first == second, unit.name
    for one in {unit.node.name: unit.node for unit in units.units}.values():
        common = shared(one, units, widths)
        assert (common is not None) == (one.primitive == "accumulate")
        if common is not None:
            assert "bank0" in rtlil.convert(common)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_tile_converts_to_verilog(name: str) -> None:
    tile = Tile(GRAPHS[name])
    ports = [tile.start, tile.running]
    text = verilog.convert(tile.module, name="ff", ports=ports, strip_internal_attrs=True)
    for part in (*tile.parts, *tile.edges):
        assert f"ff.{part}" in text
