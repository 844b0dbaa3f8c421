"""drop_empty: removes outer coordinates whose inner fiber is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sim_models.cycle.edges import fail, head, pop
from sim_models.cycle.filter import copy_fields, drop, keep
from sim_models.cycle.firing import fire, settle
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import E_FIELDS, S_SHAPE, U_PARAMS, U_READS, Memory
from sim_models.ragged import Ragged, check_aligned
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

P_HEIGHT = U_PARAMS


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Keep the outer coordinates, and the inner fibers, that are not empty."""
    outer, signal = inputs["outer"], inputs["signal"]
    check_aligned(outer.rank, outer, signal)
    outputs = {"outer": outer.keep(signal.lengths[outer.rank] > 0)}
    for port in node.outputs:
        if port != "outer":
            outputs[port] = _thinned(inputs[port], outer.rank)
    return outputs


def _thinned(inner: Ragged, depth: int) -> Ragged:
    """Drop the empty fibers that lie this many levels deep."""
    counts = inner.lengths[depth]
    kept = Ragged(inner.lengths[:depth], counts[np.newaxis]).keep(counts > 0)
    return Ragged((*kept.lengths, kept.fields[0], *inner.lengths[depth + 1 :]), inner.fields)


def setup_outer(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return the height of the signal above outer."""
    height = unit.node.params["signal"]
    assert isinstance(height, int)
    return (height,)


def setup_inner(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return the height of this inner stream above outer."""
    heights = unit.node.params["heights"]
    assert isinstance(heights, tuple)
    height = heights[int(unit.unit.name.removeprefix("drop_inner"))]
    assert isinstance(height, int)
    return (height,)


@compiled
def step_inner(m: Memory, u: int) -> None:
    """Fire once a token: the step of a filter of the stream's height."""
    e = m[u + U_READS]
    height = m[u + P_HEIGHT]
    while True:
        settle(m, u)
        s = head(m, u, e)
        if s == 0:
            return
        shape = m[s + S_SHAPE]
        if shape >> 8 == height:
            t = drop(m, u, 1, height, shape & 255)
            if t < 0:
                return
        else:
            t = keep(m, u, 1, height, shape)
            if t < 0:
                return
            copy_fields(m, u, s, 0, m[e + E_FIELDS])
        pop(m, e, t)


@compiled
def step_outer(m: Memory, u: int) -> None:
    """Fire once a signal token; those inside a fiber are popped alone."""
    outers, signals = m[u + U_READS], m[u + U_READS + 1]
    height = m[u + P_HEIGHT]
    while True:
        settle(m, u)
        s = head(m, u, signals)
        if s == 0:
            return
        empty, close = m[s + S_SHAPE] >> 8, m[s + S_SHAPE] & 255
        if close < height:
            t = fire(m, u, 2, 0, 0, 0)
            if t < 0:
                return
            pop(m, signals, t)
            continue
        x = head(m, u, outers)
        if x == 0:
            return
        shape = m[x + S_SHAPE]
        if shape != (max(empty - height, 0) << 8 | close - height):
            fail(m, u)
            return
        if empty == height:
            t = drop(m, u, 3, 0, shape & 255)
            if t < 0:
                return
        else:
            t = keep(m, u, 3, 0, shape)
            if t < 0:
                return
            copy_fields(m, u, x, 0, m[outers + E_FIELDS])
        pop(m, outers, t)
        pop(m, signals, t)
