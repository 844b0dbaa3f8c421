"""unary: applies a function of one value, or of a value and a constant, to every element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fuseflow.samml.tokens import Nested
from fuseflow.samml.values import ValueType
from sim_models.arithmetic import Convert, operation, reader, writer
from sim_models.cycle.arith import ADD, EXP, MAX, MIN, MUL, RSQRT, combine
from sim_models.cycle.edges import head, issue, pop
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import S_FIELDS, S_SHAPE, U_BUNDLES, U_PARAMS, U_READS, Memory
from sim_models.cycle.words import form
from sim_models.functions import FUNCTIONS
from sim_models.nested import map_fibers
from sim_models.storage import Flags, NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

BINARY = {"relu": "max", "scale": "mul", "shift": "add", "max": "max", "min": "min"}
OPS = {
    "relu": MAX, "scale": MUL, "shift": ADD, "affine": MUL, "max": MAX, "min": MIN,
    "neg": MUL, "abs": MUL, "exp": EXP, "rsqrt": RSQRT,
}  # fmt: skip
CONSTANTS = {"relu": 0, "neg": -1, "abs": -1}
NOTHING, OFFSET, MAGNITUDE = range(3)
"""What follows the operation: an addition of a second constant, the maximum with the operand."""
THEN = {"affine": OFFSET, "abs": MAGNITUDE}
P_OP, P_CONSTANT, P_FORM, P_THEN, P_OFFSET = range(U_PARAMS, U_PARAMS + 5)


def meaning(node: NodeView, inputs: Mapping[str, Nested]) -> dict[str, Nested]:
    """Apply the function to every element."""
    function = _function(node.params, node.value, node.flags)

    def apply(a: tuple[int]) -> tuple[int]:
        return (function(a[0]),)

    return {"out": map_fibers(apply, node.rank("a"), inputs["a"])}


def _function(params: Mapping[str, Any], value: ValueType, flags: Flags) -> Convert:
    """Return the function on words."""
    op = params["op"]
    if op == "affine":
        scale, shift = (
            _function({"op": step, "constant": params[name]}, value, flags)
            for step, name in (("scale", "constant"), ("shift", "offset"))
        )
        return lambda word: shift(scale(word))
    if op in BINARY:
        combine_with = operation(BINARY[op], value, value, flags)
        constant = value.encode(0 if op == "relu" else params["constant"])
        return lambda word: combine_with(word, constant)
    read, exact, write = reader(value), FUNCTIONS[op], writer(value, flags)
    return lambda word: write(exact(read(word)))


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return the operation, its second operand, the value's form, and what follows."""
    params, op = unit.node.params, str(unit.node.params["op"])
    constant = build.number(CONSTANTS.get(op, params["constant"]))
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
            word = combine(m, m[u + P_OP], of, a, m[u + P_CONSTANT])
            if m[u + P_THEN] == OFFSET:
                word = combine(m, ADD, of, word, m[u + P_OFFSET])
            elif m[u + P_THEN] == MAGNITUDE:
                word = combine(m, MAX, of, a, word)
            m[m[u + U_BUNDLES]] = word
        pop(m, e, t)
        issue(m, u, 0, t, shape >> 8, shape & 255)
