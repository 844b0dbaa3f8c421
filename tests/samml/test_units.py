"""Flattening to units and edges, and the gates over them."""

from dataclasses import replace

import pytest

from fuseflow.samml.errors import GraphError
from fuseflow.samml.gates import (
    ALWAYS_OPEN,
    HEAD_PERIOD,
    OPEN_HEAD,
    OPEN_ROOM,
    ROOM_PERIOD,
    open_gates,
    random_gates,
)
from fuseflow.samml.units import UnitGraph, flatten
from tests.samml.graphs import product, sums, thinned


@pytest.mark.parametrize("build", [product, sums, thinned])
def test_units_and_edges_point_at_each_other(build) -> None:
    flat = flatten(build())
    for number, edge in enumerate(flat.edges):
        writer, reader = flat.units[edge.writer], flat.units[edge.reader]
        assert edge.writer < edge.reader
        assert sum(number in out for out in writer.writes) == 1
        assert reader.reads.count(number) == 1
        stream = next(k for k, out in enumerate(writer.writes) if number in out)
        taken = [writer.bundles[stream].fields[column].kind for column in edge.columns]
        assert taken == [field.kind for field in edge.type.fields]
        assert edge.latency == writer.unit.latency
    assert sum(len(unit.reads) for unit in flat.units) == len(flat.edges)
    assert len({edge.name for edge in flat.edges}) == len(flat.edges)


def edge_of(flat: UnitGraph, name: str):
    return next(edge for edge in flat.edges if edge.name == name)


def test_scan_is_two_units_with_an_internal_edge() -> None:
    flat = flatten(product())
    assert [unit.name for unit in flat.units][:4] == [
        "root",
        "b_i.lookup",
        "b_i.emit",
        "c_i.lookup",
    ]
    assert flat.units[1].kind == "scan_compressed.lookup"
    span = edge_of(flat, "b_i.span")
    assert (span.depth, span.latency, span.gated) == (3, 2, False)
    assert span.type.names == ("lo", "hi")
    left, right = edge_of(flat, "both.left"), edge_of(flat, "both.right")
    assert (left.depth, left.gated) == (4, True)
    assert right.depth == 3  # not given: latency + 1
    assert left.columns == (0, 1)
    assert edge_of(flat, "c_val.ref").columns == (2,)


def test_unread_outputs_have_no_edges() -> None:
    flat = flatten(product())
    root = flat.units[0]
    assert root.writes == ((0, 2),)
    writers = [unit for unit in flat.units if unit.node.primitive == "write_crd"]
    assert [unit.writes for unit in writers] == [()]


def test_accumulate_gets_its_defaults_and_row_edge() -> None:
    flat = flatten(sums())
    fill = next(unit for unit in flat.units if unit.name == "acc.fill")
    assert fill.node.params["banks"] == 4
    assert fill.node.params["mode"] == "sparse"
    row = edge_of(flat, "acc.row")
    assert (row.depth, row.latency, row.gated) == (4, 3, False)
    assert row.type.fields == ()
    assert row.type.rank == 1


def test_numbered_drop_units_share_a_kind() -> None:
    flat = flatten(thinned())
    kinds = {unit.name: unit.kind for unit in flat.units if unit.node.name == "drop"}
    assert kinds == {
        "drop.drop_outer": "drop_empty.drop_outer",
        "drop.drop_inner0": "drop_empty.drop_inner",
        "drop.drop_inner1": "drop_empty.drop_inner",
    }


def test_ill_formed_graphs_do_not_flatten() -> None:
    with pytest.raises(GraphError, match=r"no earlier stream 'root\.out'"):
        flatten(replace(product(), nodes=product().nodes[1:]))


def test_gates_are_seeded() -> None:
    flat = flatten(sums())
    assert random_gates(flat, 7) == random_gates(flat, 7)
    assert random_gates(flat, 7) != random_gates(flat, 8)
    gates = random_gates(flat, 1)
    assert gates.room[:2] == (0x1556_0268_402E_45ED, 0x153E_FD77_8F5D_FDEF)
    assert gates.head[:2] == (0x4_2020_9808_040D, 0x1C_BFBB_DFAA_D3F5)
    for edge, room, head in zip(flat.edges, gates.room, gates.head, strict=True):
        assert ALWAYS_OPEN <= room <= OPEN_ROOM
        assert ALWAYS_OPEN <= head <= OPEN_HEAD
        assert room & head & ALWAYS_OPEN == ALWAYS_OPEN
        assert edge.gated or (room, head) == (OPEN_ROOM, OPEN_HEAD)


def test_open_gates_never_close() -> None:
    flat = flatten(sums())
    gates = open_gates(flat)
    assert gates.room == (2**ROOM_PERIOD - 1,) * len(flat.edges)
    assert gates.head == (2**HEAD_PERIOD - 1,) * len(flat.edges)
