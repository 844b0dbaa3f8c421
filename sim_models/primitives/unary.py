"""unary: applies a function of one value, or of a value and a constant, to every element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fuseflow.samml.tokens import Nested
from sim_models.arithmetic import operation, reader, writer
from sim_models.cycle.arith import ADD, EXP, MAX, MIN, MUL, RSQRT, combine
from sim_models.cycle.edges import head, issue, pop
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import S_FIELDS, S_SHAPE, U_BUNDLES, U_PARAMS, U_READS, Memory
from sim_models.cycle.words import form
from sim_models.functions import FUNCTIONS
from sim_models.nested import map_fibers
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

BINARY = {"relu": "max", "scale": "mul", "shift": "add", "max": "max", "min": "min"}
OPS = {
    "relu": MAX, "scale": MUL, "shift": ADD, "max": MAX, "min": MIN, "neg": MUL, "abs": MAX,
    "exp": EXP, "rsqrt": RSQRT,
}  # fmt: skip
CONSTANTS = {"relu": 0, "neg": -1, "abs": -1}
P_OP, P_CONSTANT, P_FORM, P_ABS = range(U_PARAMS, U_PARAMS + 4)


def meaning(node: NodeView, inputs: Mapping[str, Nested]) -> dict[str, Nested]:
    """Apply the function to every element."""
    op, value = node.params["op"], node.value
    if op in BINARY:
        combine_with = operation(BINARY[op], value, value, node.flags)
        constant = value.encode(0 if op == "relu" else node.params["constant"])

        def apply(a: tuple[int]) -> tuple[int]:
            return (combine_with(a[0], constant),)
    else:
        read, exact, write = reader(value), FUNCTIONS[op], writer(value, node.flags)

        def apply(a: tuple[int]) -> tuple[int]:
            return (write(exact(read(a[0]))),)

    return {"out": map_fibers(apply, node.rank("a"), inputs["a"])}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return the operation, its second operand, the value's form, and whether it is `abs`."""
    op = str(unit.node.params["op"])
    constant = build.number(CONSTANTS.get(op, unit.node.params["constant"]))
    return OPS[op], constant, form(build.value), int(op == "abs")


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
            a, b, of = m[s + S_FIELDS], m[u + P_CONSTANT], m[u + P_FORM]
            if m[u + P_ABS] != 0:
                b = combine(m, MUL, of, a, b)
            m[m[u + U_BUNDLES]] = combine(m, m[u + P_OP], of, a, b)
        pop(m, e, t)
        issue(m, u, 0, t, shape >> 8, shape & 255)
