"""unary: applies a function of one value, or of a value and a constant, to every element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fuseflow.samml.values import Number
from sim_models.arithmetic import apply, numbers, words
from sim_models.cycle.arith import ADD, MAX, MIN, MUL, RECIPROCAL, SQRT, combine
from sim_models.cycle.edges import head, issue, pop
from sim_models.cycle.firing import fire
from sim_models.cycle.functions import CODES, EXP, block, tabulated
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import S_FIELDS, S_SHAPE, U_BUNDLES, U_PARAMS, U_READS, Memory
from sim_models.cycle.words import form
from sim_models.functions import Numbers
from sim_models.ragged import Ragged
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

BINARY = {"scale": "mul", "shift": "add", "max": "max", "min": "min"}
OPS = {
    "relu": MAX, "scale": MUL, "shift": ADD, "affine": MUL, "max": MAX, "min": MIN,
    "neg": MUL, "abs": MUL, "reciprocal": RECIPROCAL, "sqrt": SQRT, **CODES,
}  # fmt: skip
CONSTANTS = {"relu": 0, "neg": -1, "abs": -1}
NOTHING, OFFSET, MAGNITUDE = range(3)
"""What follows the operation: an addition of a second constant, the maximum with the operand."""
THEN = {"affine": OFFSET, "abs": MAGNITUDE}
P_OP, P_CONSTANT, P_FORM, P_THEN, P_OFFSET = range(U_PARAMS, U_PARAMS + 5)


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Apply the function to every element."""
    value, constant, offset = node.value, node.params["constant"], node.params["offset"]
    a = numbers(value, inputs["a"].fields[0])

    def step(op: str, a: Numbers, *constants: Number) -> Numbers:
        second = (numbers(value, np.array([value.encode(number)])) for number in constants)
        return apply(op, value, node.flags, a, *second)

    match node.params["op"]:
        case "affine":
            found = step("add", step("mul", a, constant), offset)
        case "relu":
            found = step("max", a, 0)
        case op if op in BINARY:
            found = step(BINARY[op], a, constant)
        case op:
            found = step(op, a)
    return {"out": inputs["a"].like(words(value, found))}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return the operation, its second operand or table, the value's form, what follows."""
    params, op = unit.node.params, str(unit.node.params["op"])
    constant = build.number(CONSTANTS.get(op, params["constant"]))
    if op in CODES:
        constant = build.place(block(op, build.value))
    then = THEN.get(op, NOTHING)
    return OPS[op], constant, form(build.value), then, build.number(params["offset"])


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once a token; the negative of a is a * -1, its magnitude max(a, a * -1)."""
    e = m[u + U_READS]
    while True:
        s = head(m, u, e)
        if s == 0:
            return
        t = fire(m, u, 1, 1, 0, 0)
        if t < 0:
            return
        shape = m[s + S_SHAPE]
        if shape < 256:
            a, of = m[s + S_FIELDS], m[u + P_FORM]
            op, second = m[u + P_OP], m[u + P_CONSTANT]
            word = tabulated(m, op, second, a) if op >= EXP else combine(m, op, of, a, second)
            if m[u + P_THEN] == OFFSET:
                word = combine(m, ADD, of, word, m[u + P_OFFSET])
            elif m[u + P_THEN] == MAGNITUDE:
                word = combine(m, MAX, of, a, word)
            m[m[u + U_BUNDLES]] = word
        pop(m, e, t)
        issue(m, u, 0, t, shape >> 8, shape & 255)
