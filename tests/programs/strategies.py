"""Hypothesis strategies of programs: statements that share inputs and intermediates."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from fuseflow.compiler.expr import (
    Access,
    Binary,
    Constant,
    Expr,
    Fold,
    Statement,
    Unary,
    Where,
    accesses,
    free,
)
from fuseflow.compiler.program import Program, Region
from fuseflow.samml.errors import ParseError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.values import ValueType
from fuseflow.tensor import Tensor
from tests.compiler.running import formats, values

INDICES = "ijkl"
LARGEST = 6
MOST_INPUTS = 8
KINDS = (
    ("access",) * 5 + ("mul",) * 4 + ("add", "sub", "unary", "extreme", "scale", "fold", "where")
)

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Drawn:
    """A program with the shapes of its inputs; masks are among them."""

    program: Program
    shapes: Shapes
    masks: frozenset[str]


@dataclass
class _Statements:
    """Statements under way; index variables have one size in all of them."""

    draw: st.DrawFn
    sizes: dict[str, int]
    inputs: Shapes = field(default_factory=dict[str, tuple[int, ...]])
    made: Shapes = field(default_factory=dict[str, tuple[int, ...]])
    masks: set[str] = field(default_factory=set[str])

    def access(self, known: list[str]) -> Access:
        """Read a tensor that is there, an intermediate rather than an input, or a new input."""
        source = self.draw(st.sampled_from(["made", "made", "inputs", "new"]))
        there = {"made": self.made, "inputs": self.inputs}.get(source, {})
        for name in self.draw(st.permutations(sorted(there))):
            indices = self._fitting(there[name], known)
            if indices is not None:
                return Access(name, indices)
        return self._new(known)

    def _fitting(self, shape: tuple[int, ...], known: list[str]) -> tuple[str, ...] | None:
        """Return index variables of a shape's sizes; None where there are not enough."""
        chosen: list[str] = []
        for size in shape:
            fitting = [i for i in known if self.sizes[i] == size and i not in chosen]
            if not fitting:
                return None
            chosen.append(self.draw(st.sampled_from(fitting)))
        return tuple(chosen)

    def _new(self, known: list[str]) -> Access:
        if len(self.inputs) == MOST_INPUTS:
            return Access(self._scalar(), ())
        rank = min(self.draw(st.sampled_from([0, 1, 1, 2, 2, 2, 3])), len(known))
        indices = tuple(self.draw(st.permutations(known))[:rank])
        name = f"A{len(self.inputs)}"
        self.inputs[name] = tuple(self.sizes[index] for index in indices)
        return Access(name, indices)

    def _scalar(self) -> str:
        self.inputs.setdefault("s", ())
        return "s"

    def expression(self, known: list[str], depth: int) -> Expr:
        kind = self.draw(st.sampled_from(KINDS)) if depth else "access"
        match kind:
            case "mul" | "add" | "sub":
                left, right = (self.expression(known, depth - 1) for _ in range(2))
                return Binary(kind, left, right)
            case "extreme":
                op = self.draw(st.sampled_from(["max", "min"]))
                left, right = (self.expression(known, depth - 1) for _ in range(2))
                return Binary(op, left, right)
            case "unary":
                op = self.draw(st.sampled_from(["relu", "neg", "abs"]))
                return Unary(op, self.expression(known, depth - 1))
            case "scale":
                number = Constant(self.draw(st.sampled_from([2, -1, 3])))
                op = self.draw(st.sampled_from(["mul", "mul", "add"]))
                return Binary(op, self.expression(known, depth - 1), number)
            case "fold":
                body = self.expression(known, depth - 1)
                bound = [index for index in free(body) if index == known[-1]]
                op = self.draw(st.sampled_from(["sum", "max", "min"]))
                return Fold(op, tuple(bound), body) if bound else body
            case "where":
                mask = self._new(known)
                if not mask.indices:
                    return self.expression(known, depth - 1)
                self.masks.add(mask.tensor)
                fill = self.draw(st.sampled_from([0, 0, -1]))
                return Where(mask, self.expression(known, depth - 1), fill)
            case _:
                return self.access(known)

    def statement(self, name: str) -> Statement:
        known = list(self.draw(st.permutations(INDICES)))[: self.draw(st.integers(1, 4))]
        value = self.expression(known, 2)
        if not list(accesses(value)):
            value = self.access(known)
        used = sorted(set(free(value)))
        rank = self.draw(st.integers(0, min(3, len(used))))
        target = Access(name, tuple(self.draw(st.permutations(used))[:rank]))
        try:
            found = Statement(target, value)
        except ParseError:  # a fold's variable is used beside it too
            read = self.access(known)
            found = Statement(Access(name, read.indices), read)
        self.made[name] = tuple(self.sizes[index] for index in found.target.indices)
        return found


@st.composite
def programs(draw: st.DrawFn) -> Drawn:
    """One to four statements, of which some make results that others read; cut anywhere."""
    size = st.integers(0, LARGEST) if draw(st.integers(0, 9)) == 0 else st.integers(1, LARGEST)
    under_way = _Statements(draw, {index: draw(size) for index in INDICES})
    count = draw(st.integers(1, 4))
    statements = tuple(under_way.statement(f"T{number}") for number in range(count))
    read = {access.tensor for each in statements for access in each.operands}
    masks = under_way.masks & read
    results = tuple(
        name for name in under_way.made if name not in read or draw(st.integers(0, 4)) == 0
    )
    cut = draw(st.integers(0, count))
    spans = [(0, cut), (cut, count)]
    regions = tuple(Region(start, stop) for start, stop in spans if stop > start)
    used = sorted({index for each in statements for index in each.indices})
    order = tuple(draw(st.permutations(used)))[: draw(st.sampled_from([0, 0, 1, 2]))]
    program = Program(statements, results, regions, order)
    shapes = {name: shape for name, shape in under_way.inputs.items() if name in read}
    return Drawn(program, shapes, frozenset(masks))


@st.composite
def operands(draw: st.DrawFn, drawn: Drawn, kind: ValueType) -> dict[str, Tensor]:
    """Inputs of any format, from empty to full; masks store no zero."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    found: dict[str, Tensor] = {}
    for name, shape in drawn.shapes.items():
        form = draw(formats(len(shape)))
        fill = draw(st.sampled_from([0, 0, 0, 0, 1, -2]))
        if name in drawn.masks:
            form, fill = Format((LevelKind.COMPRESSED,) * len(shape), form.order), 0
        share = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))
        numbers = values(rng, kind, shape)
        array = np.where(rng.random(shape) < share, numbers, float(fill))
        found[name] = Tensor.from_numpy(name, array, form, fill=fill, value=kind)
    return found
