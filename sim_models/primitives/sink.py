"""sink: takes every token and counts the streams that end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sim_models.cycle.edges import head, pop
from sim_models.cycle.ends import note_end
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import S_SHAPE, U_READS, Memory
from sim_models.ragged import Ragged
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Return nothing: a sink has no outputs."""
    return {}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return no parameters."""
    return ()


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
        note_end(m, u, t, m[s + S_SHAPE])
        pop(m, e, t)
