"""write_val: stores the values of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

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

P_VALS, S_COUNT = U_PARAMS, U_STATE


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Return the array ``val``."""
    return {"val": scalars(*inputs["val"].fields)}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return where the array is, and its capacity."""
    words = build.storage.graph.tensor(str(unit.node.params["tensor"])).words
    return build.reserve(words), words


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
        if m[s + S_SHAPE] < 256:
            append(m, u + P_VALS, u + S_COUNT, m[s + S_FIELDS])
        note_end(m, u, t, m[s + S_SHAPE])
        pop(m, e, t)
