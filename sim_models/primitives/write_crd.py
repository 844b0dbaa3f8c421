"""write_crd: stores the coordinates and segments of a compressed result level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sim_models.cycle.edges import head, pop
from sim_models.cycle.ends import append, note_end
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import S_FIELDS, S_SHAPE, U_PARAMS, U_READS, U_STATE, Memory
from sim_models.ragged import Ragged, scalars
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

P_CRD, P_SEG = U_PARAMS, U_PARAMS + 2
S_CRDS, S_SEGS = U_STATE, U_STATE + 1


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Return the arrays ``seg`` and ``crd``."""
    crds = inputs["crd"]
    seg = np.append(0, np.cumsum(crds.lengths[-1]))
    return {"seg": scalars(seg), "crd": scalars(*crds.fields)}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return where the coordinate and segment arrays are, and their capacities.

    Segment word 0 is never written, so the array starts behind it.
    """
    tensor = build.storage.graph.tensor(str(unit.node.params["tensor"]))
    level = unit.node.params["level"]
    assert isinstance(level, int)
    crds, segs = tensor.positions[level], tensor.parents(level)
    return build.reserve(crds), crds, build.reserve(segs), segs


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once a token."""
    e = m[u + U_READS]
    while True:
        s = head(m, u, e)
        if s == 0:
            return
        t = fire(m, u, 1, 0, 0, 0)
        if t < 0:
            return
        empty, close = m[s + S_SHAPE] >> 8, m[s + S_SHAPE] & 255
        if empty == 0:
            append(m, u + P_CRD, u + S_CRDS, m[s + S_FIELDS])
        if close >= 1 and empty <= 1:
            append(m, u + P_SEG, u + S_SEGS, m[u + S_CRDS])
        note_end(m, u, t, m[s + S_SHAPE])
        pop(m, e, t)
