"""reduce: folds every innermost fiber to one value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fuseflow.samml.tokens import Nested
from sim_models.cycle.arith import ADD, combine
from sim_models.cycle.edges import head, issue, pop
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import S_FIELDS, S_SHAPE, U_BUNDLES, U_PARAMS, U_READS, U_STATE, Memory
from sim_models.nested import map_fibers
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

P_BITS = U_PARAMS


def meaning(node: NodeView, inputs: Mapping[str, Nested]) -> dict[str, Nested]:
    """Replace every innermost fiber by its sum."""

    def fold(fiber: list[tuple[int]]) -> tuple[int]:
        total = 0
        for (val,) in fiber:
            total = node.wrap(total + val)
        return (total,)

    return {"out": map_fibers(fold, node.rank("val") - 1, inputs["val"])}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return the value's width."""
    return (build.value.bits,)


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once an input token; room is needed where a fiber ends."""
    e = m[u + U_READS]
    while True:
        s = head(m, u, e)
        if s == 0:
            return
        empty, close = m[s + S_SHAPE] >> 8, m[s + S_SHAPE] & 255
        t = fire(m, u, 1, 1 if close >= 1 else 0, 0, 0)
        if t < 0:
            return
        if empty == 0:
            m[u + U_STATE] = combine(m, ADD, m[u + P_BITS], m[u + U_STATE], m[s + S_FIELDS])
        pop(m, e, t)
        if close >= 1:
            m[m[u + U_BUNDLES]] = m[u + U_STATE]
            m[u + U_STATE] = 0
            issue(m, u, 0, t, max(empty - 1, 0), close - 1)
