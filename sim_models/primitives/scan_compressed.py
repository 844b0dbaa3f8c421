"""scan_compressed: iterates the stored coordinates of a compressed level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sim_models.cycle.edges import head, issue, pop
from sim_models.cycle.firing import fire, pauses
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import (
    NULL,
    RANGE,
    S_FIELDS,
    S_SHAPE,
    U_BUNDLES,
    U_PARAMS,
    U_READS,
    U_STATE,
    Memory,
)
from sim_models.ragged import NULL_REF, Ragged, Words, owners, positions
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

P_ARRAY, P_LENGTH = U_PARAMS, U_PARAMS + 1


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Replace every ref by the fiber of its stored children."""
    (ref,) = inputs["ref"].fields
    first, counts = fibers(node, ref)
    at = first[owners(counts)] + positions(counts)
    crd = coordinates(node)[at]
    return {"out": Ragged((*inputs["ref"].lengths, counts), np.stack([crd, at]))}


def fibers(node: NodeView, ref: Words) -> tuple[Words, Words]:
    """Return where the fibers of refs begin, and how long they are."""
    tensor, level = node.params["tensor"], node.params["level"]
    seg = np.asarray(node.storage.seg(tensor, level), np.int64)
    outside = ref >= len(seg) - 1
    node.flags.range |= bool(outside.any())
    some = ~outside & (ref != NULL_REF)
    first, end = np.zeros_like(ref), np.zeros_like(ref)
    first[some], end[some] = seg[ref[some]], seg[ref[some] + 1]
    return first, np.maximum(np.minimum(end, len(node.storage.crd(tensor, level))) - first, 0)


def coordinates(node: NodeView) -> Words:
    """Return the coordinates that the level stores."""
    return np.asarray(node.storage.crd(node.params["tensor"], node.params["level"]), np.int64)


def setup_lookup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return where the segment array is, and its length."""
    return build.array(unit, "seg")


def setup_emit(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return where the coordinate array is, and its length."""
    return build.array(unit, "crd")


@compiled
def step_lookup(m: Memory, u: int) -> None:
    """Fire once an input token: a ref gives the bounds of its children.

    A null ref gives 0, 0, as does a ref outside the level, which also raises the range flag.
    """
    e = m[u + U_READS]
    while True:
        s = head(m, u, e)
        if s == 0:
            return
        t = fire(m, u, 1, 1, 0, 0)
        if t < 0:
            return
        bundle = m[u + U_BUNDLES]
        shape, ref = m[s + S_SHAPE], m[s + S_FIELDS]
        m[bundle] = 0
        m[bundle + 1] = 0
        if shape < 256 and ref != NULL:
            if ref + 1 < m[u + P_LENGTH]:
                m[bundle] = m[m[u + P_ARRAY] + ref]
                m[bundle + 1] = m[m[u + P_ARRAY] + ref + 1]
            else:
                m[RANGE] = 1
        pop(m, e, t)
        issue(m, u, 0, t, shape >> 8, shape & 255)


@compiled
def step_emit(m: Memory, u: int) -> None:
    """Fire once an output token; the state counts the children already sent."""
    e = m[u + U_READS]
    while True:
        s = head(m, u, e)
        if s == 0:
            return
        t = fire(m, u, 1, 1, 0, 0)
        if t < 0:
            return
        empty, close = m[s + S_SHAPE] >> 8, m[s + S_SHAPE] & 255
        at, end = m[s + S_FIELDS] + m[u + U_STATE], m[s + S_FIELDS + 1]
        if empty > 0:
            pop(m, e, t)
            issue(m, u, 0, t, empty + 1, close + 1)
        elif at >= end:
            pop(m, e, t)
            issue(m, u, 0, t, 1, close + 1)
        else:
            bundle = m[u + U_BUNDLES]
            m[bundle] = m[m[u + P_ARRAY] + at]
            m[bundle + 1] = at
            if at + 1 == end:
                m[u + U_STATE] = 0
                pop(m, e, t)
                issue(m, u, 0, t, 0, close + 1)
            else:
                m[u + U_STATE] += 1
                issue(m, u, 0, t, 0, 0)
                if pauses(m, u, m[u + U_STATE]):
                    return
