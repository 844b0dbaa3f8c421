"""root: starts a run with one rank-0 ref."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sim_models.cycle.edges import issue
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import U_BUNDLES, U_STATE, U_WAIT, Memory
from sim_models.ragged import Ragged, scalars
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Return the one ref."""
    return {"out": scalars(np.zeros(1, np.int64))}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return no parameters."""
    return ()


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once."""
    if m[u + U_STATE] != 0:
        m[u + U_WAIT] = 0
        return
    t = fire(m, u, 0, 1, 0, 0)
    if t >= 0:
        m[m[u + U_BUNDLES]] = 0
        m[u + U_STATE] = 1
        m[u + U_WAIT] = 0
        issue(m, u, 0, t, 0, 0)
