"""repeat: repeats a ref or value for every token of a deeper stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sim_models.cycle.edges import fail, head, issue, pop
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import S_FIELDS, S_SHAPE, U_BUNDLES, U_READS, Memory
from sim_models.ragged import Ragged, check_aligned
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Put each x in place of every element of its fiber of the signal."""
    x, signal = inputs["x"], inputs["signal"]
    check_aligned(x.rank, x, signal)
    return {"out": Ragged(signal.lengths, x.fields[:, signal.fibers()])}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return no parameters."""
    return ()


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once a signal token; x is popped at close >= 1."""
    xs, signals = m[u + U_READS], m[u + U_READS + 1]
    while True:
        x = head(m, u, xs)
        if x == 0:
            return
        s = head(m, u, signals)
        if s == 0:
            return
        t = fire(m, u, 3, 1, 0, 0)
        if t < 0:
            return
        empty, close = m[s + S_SHAPE] >> 8, m[s + S_SHAPE] & 255
        if close >= 1:
            if m[x + S_SHAPE] != (max(empty - 1, 0) << 8 | close - 1):
                fail(m, u)
                return
            pop(m, xs, t)
        m[m[u + U_BUNDLES]] = m[x + S_FIELDS]
        pop(m, signals, t)
        issue(m, u, 0, t, empty, close)
