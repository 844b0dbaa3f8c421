"""The value of an expression: its operands' values, combined where they are."""

from collections.abc import Sequence
from math import frexp

from fuseflow.compiler.builder import Builder, Stream, Wire
from fuseflow.compiler.expr import Constant
from fuseflow.compiler.visit import Applied, Cursor, Masked, Node, Use
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.values import Number, ValueType, number


def evaluate(
    builder: Builder, kind: ValueType, scope: Sequence[Stream], node: Node, *, wide: bool = False
) -> Wire:
    """Build the value of an expression that has at least one operand.

    Parameters
    ----------
    builder : Builder
    kind : ValueType
    scope : sequence of Stream
        The joined streams, outermost first.
    node : Node
    wide : bool
        Leave a product unrounded where it is not repeated before its sum.

    Returns
    -------
    Wire
        At the level of its deepest operand.
    """
    return _Evaluation(builder, kind, scope).of(node, wide=wide)


class _Evaluation:
    def __init__(self, builder: Builder, kind: ValueType, scope: Sequence[Stream]) -> None:
        self.builder = builder
        self.kind = kind
        self.scope = scope
        self._done: dict[tuple[int, bool], Wire] = {}

    def of(self, node: Node, *, wide: bool = False) -> Wire:
        key = id(node), wide
        if key not in self._done:
            self._done[key] = self._of(node, wide=wide)
        return self._done[key]

    def _of(self, node: Node, *, wide: bool = False) -> Wire:
        match node:
            case Cursor():
                with self.builder.table.column(node.column):
                    outputs = self.builder.add(
                        "array",
                        f"array_{node.name}",
                        {"ref": self.builder.role(node.here, "ref")},
                        {"tensor": node.access.tensor},
                    )
                return Wire(outputs["out"], "val")
            case Use():
                return node.here
            case Masked(mask, body):
                if mask.nullable:
                    raise LoweringError(
                        f"what mask '{mask.access}' selects is needed where it stores nothing: "
                        "split the region behind the selection, so that it is stored, or store "
                        "the result compressed"
                    )
                if isinstance(body, Constant):
                    return self._constants(self.of(mask), body.number)
                return self.builder.lift(self.of(body), self.scope[: mask.here.rank], "val")
            case Applied(op, (operand,)):
                return self.builder.unary(op, self.of(operand))
            case Applied(op, (operand, Constant(number))):
                return self._constant(op, self.of(operand), number)
            case Applied("sub", (Constant(number), operand)):
                return self._constant("add", self.builder.unary("neg", self.of(operand)), number)
            case Applied("div", (Constant(number), operand)):
                value = self.of(operand)
                return self.builder.alu("div", self._constants(value, number), value)
            case Applied(op, (Constant(number), operand)):
                return self._constant(op, self.of(operand), number)
            case Applied(op, (left, right)):
                return self._binary(op, self.of(left), self.of(right), wide=wide)
            case _:
                raise AssertionError(f"{node} has no value of its own")

    def _binary(self, op: str, a: Wire, b: Wire, *, wide: bool) -> Wire:
        deeper = self.scope[: max(a.rank, b.rank)]
        wide = wide and op == "mul" and len(deeper) == len(self.scope)
        left, right = (self.builder.lift(x, deeper, "val") for x in (a, b))
        return self.builder.alu(op, left, right, wide=wide)

    def _constant(self, op: str, a: Wire, constant: Number) -> Wire:
        """Combine a value with a constant on its right."""
        if op == "div":
            return self._quotient(a, constant)
        if op != "sub":
            name = {"mul": "scale", "add": "shift"}.get(op, op)
            return self.builder.unary(name, a, constant)
        if self.kind.holds(-constant):
            return self.builder.unary("shift", a, -constant)
        # The lowest integer has no negative: two steps, which overflow where the whole does.
        return self.builder.unary("shift", self._constant("sub", a, constant + 1), 1)

    def _quotient(self, a: Wire, divisor: Number) -> Wire:
        """Divide by a constant; a power of two has a reciprocal that is exact."""
        mantissa, _ = frexp(divisor)
        if abs(mantissa) == 0.5 and self.kind.holds(1 / divisor):
            return self.builder.unary("scale", a, number(1 / divisor))
        return self.builder.alu("div", a, self._constants(a, divisor))

    def _constants(self, like: Wire, constant: Number) -> Wire:
        """Return a constant wherever a value is: what is first no more, then no less than it."""
        return self.builder.unary("max", self.builder.unary("min", like, constant), constant)
