"""scan_dense: iterates every coordinate of a dense level or an index's universe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sim_models.cycle.edges import head, issue, pop
from sim_models.cycle.firing import fire, pauses
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import (
    NULL,
    S_FIELDS,
    S_SHAPE,
    U_BUNDLES,
    U_PARAMS,
    U_READS,
    U_STATE,
    Memory,
)
from sim_models.ragged import NULL_REF, Ragged, owners, positions
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

P_SIZE, P_BOUND = U_PARAMS, U_PARAMS + 1


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Replace every ref by the fiber of its children."""
    refs, size = inputs["ref"], node.size()
    counts = np.full(refs.fields.shape[1], size)
    if not node.params["bound"]:
        return {"out": Ragged((*refs.lengths, counts), positions(counts)[np.newaxis])}
    (ref,) = refs.fields
    counts[ref == NULL_REF] = 0
    crd = positions(counts)
    return {
        "out": Ragged((*refs.lengths, counts), np.stack([crd, ref[owners(counts)] * size + crd]))
    }


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return the size, and whether a level is bound."""
    return build.size(unit.node.params["size"]), int(bool(unit.node.params["bound"]))


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once an output token."""
    e = m[u + U_READS]
    size = m[u + P_SIZE]
    while True:
        s = head(m, u, e)
        if s == 0:
            return
        t = fire(m, u, 1, 1, 0, 0)
        if t < 0:
            return
        empty, close = m[s + S_SHAPE] >> 8, m[s + S_SHAPE] & 255
        parent = m[s + S_FIELDS] if m[u + P_BOUND] != 0 else 0
        if empty > 0:
            pop(m, e, t)
            issue(m, u, 0, t, empty + 1, close + 1)
        elif size == 0 or parent == NULL:
            pop(m, e, t)
            issue(m, u, 0, t, 1, close + 1)
        else:
            crd = m[u + U_STATE]
            bundle = m[u + U_BUNDLES]
            m[bundle] = crd
            m[bundle + 1] = parent * size + crd
            if crd + 1 == size:
                m[u + U_STATE] = 0
                pop(m, e, t)
                issue(m, u, 0, t, 0, close + 1)
            else:
                m[u + U_STATE] = crd + 1
                issue(m, u, 0, t, 0, 0)
                if pauses(m, u, crd + 1):
                    return
