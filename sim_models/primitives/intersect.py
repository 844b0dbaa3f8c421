"""intersect: keeps the coordinates that both sides have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sim_models.cycle.edges import fail, head
from sim_models.cycle.firing import complete, fire, fire_insert, hold, settle
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import (
    COMPLETE,
    E_FIELDS,
    H_STATE,
    INCOMPLETE,
    S_SHAPE,
    U_READS,
    Memory,
)
from sim_models.cycle.merge import (
    BROKEN,
    COPY,
    DONE,
    LEFT_ENDED,
    MATCH,
    RIGHT_ENDED,
    advance,
    bundle_fields,
    merge,
)
from sim_models.ragged import Ragged, check_aligned, fiber_keys, find
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Keep the common coordinates of every pair of innermost fibers."""
    left, right = inputs["left"], inputs["right"]
    check_aligned(left.rank - 1, left, right)
    mine, others, _ = fiber_keys(left, right)
    at = find(mine, others)
    common = at < len(others)
    kept = left.keep(common)
    return {"out": kept.like(*kept.fields, *right.fields[1:, at[common]])}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return no parameters."""
    return ()


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once a merge step; a survivor waits in the holder."""
    lefts, rights = m[u + U_READS], m[u + U_READS + 1]
    while True:
        settle(m, u)
        left, right, needs = 0, 0, 0
        if m[u + LEFT_ENDED] == 0:
            needs |= 1
            left = head(m, u, lefts)
            if left == 0:
                return
        if m[u + RIGHT_ENDED] == 0:
            needs |= 2
            right = head(m, u, rights)
            if right == 0:
                return
        what = merge(m, u, left, right)
        if what & BROKEN != 0:
            fail(m, u)
            return
        t = _place(m, u, needs, what, left, right)
        if t < 0:
            return
        advance(m, u, t, what, left, right)


@compiled
def _place(m: Memory, u: int, needs: int, what: int, left: int, right: int) -> int:
    """Fire the step and do its part on the holder; return its cycle, -1 if not known yet."""
    match = what & MATCH == MATCH
    done = what & DONE != 0
    close = what >> 8
    if match or what & COPY != 0 or (done and m[u + H_STATE] != INCOMPLETE):
        t = fire_insert(m, u, needs)
        if t < 0:
            return t
        if match:
            left_fields = m[m[u + U_READS] + E_FIELDS]
            right_fields = m[m[u + U_READS + 1] + E_FIELDS]
            bundle_fields(m, u, what, left, left_fields, right, right_fields)
            if done:
                hold(m, u, t, 0, close, COMPLETE)
            else:
                hold(m, u, t, 0, 0, INCOMPLETE)
        else:
            empty = m[left + S_SHAPE] >> 8 if what & COPY != 0 else 1
            hold(m, u, t, empty, close, COMPLETE)
        return t
    t = fire(m, u, needs, 0, 0, 0)
    if t >= 0 and done:
        complete(m, u, t, close)
    return t
