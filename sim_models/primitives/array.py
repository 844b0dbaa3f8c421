"""array: loads a value by reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sim_models.cycle.edges import head, issue, pop
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
from sim_models.ragged import NULL_REF, Ragged
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

P_ARRAY, P_LENGTH, P_FILL = U_PARAMS, U_PARAMS + 1, U_PARAMS + 2


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Replace every ref by the value there, and null by the fill."""
    tensor = node.params["tensor"]
    vals = np.asarray(node.storage.vals(tensor), np.int64)
    fill = node.value.encode(node.storage.fill(tensor))
    (ref,) = inputs["ref"].fields
    outside = ref >= len(vals)
    node.flags.range |= bool(outside.any())
    at = np.where(outside | (ref == NULL_REF), len(vals), ref)
    return {"out": inputs["ref"].like(np.append(vals, fill)[at])}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return where the value array is, its length, and the fill."""
    tensor = str(unit.node.params["tensor"])
    return *build.values(tensor), build.number(build.storage.fill(tensor))


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once a token; a ref outside the array gives the fill and raises the range flag."""
    e = m[u + U_READS]
    while True:
        s = head(m, u, e)
        if s == 0:
            return
        t = fire(m, u, 1, 1, 0, 0)
        if t < 0:
            return
        shape, ref, bundle = m[s + S_SHAPE], m[s + S_FIELDS], m[u + U_BUNDLES]
        if shape < 256:
            if ref != NULL and ref < m[u + P_LENGTH]:
                m[bundle] = m[m[u + P_ARRAY] + ref]
            else:
                m[bundle] = m[u + P_FILL]
                if ref != NULL:
                    m[RANGE] = 1
        pop(m, e, t)
        issue(m, u, 0, t, shape >> 8, shape & 255)
