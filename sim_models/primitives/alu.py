"""alu: combines two value streams element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sim_models.arithmetic import apply, numbers, words
from sim_models.cycle.arith import ADD, DIV, MAX, MIN, MUL, SUB, combine, combine_as
from sim_models.cycle.edges import fail, head, issue, pop
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import S_FIELDS, S_SHAPE, U_BUNDLES, U_PARAMS, U_READS, Memory
from sim_models.cycle.words import form
from sim_models.ragged import Ragged, check_aligned
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

OPS = {"add": ADD, "sub": SUB, "mul": MUL, "div": DIV, "max": MAX, "min": MIN}
P_OP, P_OF, P_TO, P_RELU = range(U_PARAMS, U_PARAMS + 4)


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Combine the operands element by element."""
    a, b = inputs["a"], inputs["b"]
    check_aligned(a.rank, a, b)
    op, result = node.params["op"], node.value.wide if node.params["wide"] else node.value
    operands = (numbers(node.value, operand.fields[0]) for operand in (a, b))
    found = apply(op, result, node.flags, *operands)
    if node.params["relu"]:
        found = apply("max", result, node.flags, found, np.zeros_like(found))
    return {"out": a.like(words(result, found))}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return the operation, the forms of operands and result, and whether relu follows."""
    params, value = unit.node.params, build.value
    result = value.wide if params["wide"] else value
    return OPS[str(params["op"])], form(value), form(result), int(bool(params["relu"]))


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once a token."""
    lefts, rights = m[u + U_READS], m[u + U_READS + 1]
    while True:
        a = head(m, u, lefts)
        if a == 0:
            return
        b = head(m, u, rights)
        if b == 0:
            return
        t = fire(m, u, 3, 1, 0, 0)
        if t < 0:
            return
        shape = m[a + S_SHAPE]
        if m[b + S_SHAPE] != shape:
            fail(m, u)
            return
        if shape < 256:
            of, to = m[u + P_OF], m[u + P_TO]
            word = combine_as(m, m[u + P_OP], of, to, m[a + S_FIELDS], m[b + S_FIELDS])
            if m[u + P_RELU] != 0:
                word = combine(m, MAX, to, word, 0)
            m[m[u + U_BUNDLES]] = word
        pop(m, lefts, t)
        pop(m, rights, t)
        issue(m, u, 0, t, shape >> 8, shape & 255)
