"""drop_value: removes entries whose value equals the fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sim_models.arithmetic import numbers
from sim_models.cycle.arith import equal
from sim_models.cycle.edges import fail, head, pop
from sim_models.cycle.filter import copy_fields, drop, keep
from sim_models.cycle.firing import settle
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import H_USER, S_FIELDS, S_SHAPE, U_PARAMS, U_READS, Memory
from sim_models.cycle.words import form
from sim_models.ragged import Ragged, check_aligned
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

P_FILL, P_FORM, P_KNOWN = U_PARAMS, U_PARAMS + 1, U_PARAMS + 2
"""`P_KNOWN`: where it stands, for every payload, whether it is dropped; 0 where its word tells."""
S_SEEN = H_USER
"""Payloads seen so far."""


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Keep the pairs whose value is not the fill."""
    crds, vals = inputs["crd"], inputs["val"]
    check_aligned(crds.rank, crds, vals)
    pairs = crds.like(*crds.fields, *vals.fields)
    return {"out": pairs.keep(numbers(node.value, vals.fields[0]) != node.params["fill"])}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return the fill and its form; what is dropped is not known."""
    return build.number(unit.node.params["fill"]), form(build.value), 0


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once a token: the step of a filter of height 0."""
    crds, vals = m[u + U_READS], m[u + U_READS + 1]
    while True:
        settle(m, u)
        c = head(m, u, crds)
        if c == 0:
            return
        v = head(m, u, vals)
        if v == 0:
            return
        shape = m[c + S_SHAPE]
        if m[v + S_SHAPE] != shape:
            fail(m, u)
            return
        if shape < 256 and _is_dropped(m, u, m[v + S_FIELDS]):
            t = drop(m, u, 3, 0, shape)
            if t < 0:
                return
        else:
            t = keep(m, u, 3, 0, shape)
            if t < 0:
                return
            copy_fields(m, u, c, 0, 1)
            copy_fields(m, u, v, 1, 1)
        if shape < 256:
            m[u + S_SEEN] += 1
        pop(m, crds, t)
        pop(m, vals, t)


@compiled
def _is_dropped(m: Memory, u: int, word: int) -> bool:
    """Tell whether the next payload is dropped, by its word unless it is known already."""
    if m[u + P_KNOWN] != 0:
        return m[m[u + P_KNOWN] + m[u + S_SEEN]] != 0
    return equal(m[u + P_FORM], word, m[u + P_FILL])
