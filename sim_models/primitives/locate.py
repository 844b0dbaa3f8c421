"""locate: indexes a dense level by coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sim_models.cycle.edges import fail, head, issue, pop
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import (
    NULL,
    RANGE,
    S_FIELDS,
    S_SHAPE,
    U_BUNDLES,
    U_PARAMS,
    U_READS,
    Memory,
)
from sim_models.ragged import NULL_REF, Ragged, check_aligned
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

P_SIZE, P_PARENT = U_PARAMS, U_PARAMS + 1


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Turn every coordinate into a position of the level."""
    crds, size = inputs["crd"], node.size()
    (crd,) = crds.fields
    node.flags.range |= bool((crd >= size).any())
    if not node.params["parent"]:
        return {"out": crds}
    check_aligned(crds.rank, crds, inputs["parent"])
    (parent,) = inputs["parent"].fields
    return {"out": crds.like(np.where(parent == NULL_REF, NULL_REF, parent * size + crd))}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return the size, and whether there is a parent port."""
    return build.size(unit.node.params["size"]), int(bool(unit.node.params["parent"]))


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once a token."""
    crds, parents = m[u + U_READS], m[u + U_READS + 1]
    needs = 1 | m[u + P_PARENT] << 1
    while True:
        s = head(m, u, crds)
        if s == 0:
            return
        t = fire(m, u, needs, 1, 0, 0)
        if t < 0:
            return
        shape, parent = m[s + S_SHAPE], 0
        if needs == 3:
            p = head(m, u, parents)
            if m[p + S_SHAPE] != shape:
                fail(m, u)
                return
            parent = m[p + S_FIELDS]
            pop(m, parents, t)
        if shape < 256:
            crd, size = m[s + S_FIELDS], m[u + P_SIZE]
            if crd >= size:
                m[RANGE] = 1
            m[m[u + U_BUNDLES]] = NULL if parent == NULL else parent * size + crd
        pop(m, crds, t)
        issue(m, u, 0, t, shape >> 8, shape & 255)
