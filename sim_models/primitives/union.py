"""union: keeps the coordinates that either side has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from fuseflow.samml.values import Number
from sim_models.cycle.edges import fail, head, issue
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import E_FIELDS, NULL, S_SHAPE, U_PARAMS, U_READS, Memory
from sim_models.cycle.merge import (
    BROKEN,
    COPY,
    DONE,
    HAVE_LEFT,
    HAVE_RIGHT,
    LEFT_ENDED,
    MATCH,
    RIGHT_ENDED,
    advance,
    bundle_fields,
    bundle_missing,
    merge,
)
from sim_models.cycle.words import field_type, raw
from sim_models.ragged import NULL_REF, Ragged, check_aligned, distinct, fiber_keys, find
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

P_ABSENT = U_PARAMS


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Keep every coordinate of either of each pair of innermost fibers."""
    left, right = inputs["left"], inputs["right"]
    check_aligned(left.rank - 1, left, right)
    *keys, span = fiber_keys(left, right)
    either = distinct(np.concatenate(keys))
    counts = np.bincount(either // span, minlength=len(left.lengths[-1]))
    fields = [either % span]
    for side, among in zip(("left", "right"), keys, strict=True):
        at = find(either, among)
        passengers = inputs[side].fields[1:]
        fields += [
            np.append(words, absent)[at]
            for words, absent in zip(passengers, _absent(node, side), strict=True)
        ]
    return {"out": Ragged((*left.lengths[:-1], counts), np.stack(fields))}


def _absent(node: NodeView, side: str) -> list[int]:
    """Return what stands for the passengers of a missing side."""
    types = (field_type(node.value, field.kind) for field in node.inputs[side].fields[1:])
    fill = cast(Number, node.params[side])
    return [NULL_REF if value is None else value.encode(fill) for value in types]


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return where the words of missing fields are, one per field of the bundle."""
    words = [NULL]
    for side, edge in zip(unit.unit.reads, unit.reads, strict=True):
        fill = cast(Number, unit.node.params[side])
        fields = build.graph.edges[edge].type.fields[1:]
        types = (field_type(build.value, field.kind) for field in fields)
        words += [NULL if value is None else raw(value, value.encode(fill)) for value in types]
    return (build.place(words),)


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once a merge step; every step writes."""
    lefts, rights = m[u + U_READS], m[u + U_READS + 1]
    while True:
        left, right, needs = 0, 0, 0
        if m[u + LEFT_ENDED] == 0:
            needs |= 1
            left = head(m, u, lefts)
            if left == 0:
                return
        if m[u + RIGHT_ENDED] == 0:
            needs |= 2
            right = head(m, u, rights)
            if right == 0:
                return
        what = merge(m, u, left, right)
        if what & BROKEN != 0:
            fail(m, u)
            return
        t = fire(m, u, needs, 1, 0, 0)
        if t < 0:
            return
        _write(m, u, t, what, left, right)
        advance(m, u, t, what, left, right)


@compiled
def _write(m: Memory, u: int, t: int, what: int, left: int, right: int) -> None:
    # The close in `what` is that of one side only until both have ended.
    close = what >> 8 if what & DONE != 0 else 0
    if what & COPY != 0:
        issue(m, u, 0, t, m[left + S_SHAPE] >> 8, close)
    elif what & MATCH == 0:
        issue(m, u, 0, t, 1, close)
    else:
        left_fields = m[m[u + U_READS] + E_FIELDS]
        right_fields = m[m[u + U_READS + 1] + E_FIELDS]
        bundle_fields(m, u, what, left, left_fields, right, right_fields)
        if what & HAVE_LEFT == 0:
            bundle_missing(m, u, 1, left_fields - 1, m[u + P_ABSENT])
        if what & HAVE_RIGHT == 0:
            bundle_missing(m, u, left_fields, right_fields - 1, m[u + P_ABSENT])
        issue(m, u, 0, t, 0, close)
