"""The value of an expression: its operands' values, combined where they are."""

from collections.abc import Sequence

from fuseflow.compiler.builder import Builder, Stream, Wire
from fuseflow.compiler.expr import Constant
from fuseflow.compiler.fills import apply, apply_unary, rounded
from fuseflow.compiler.visit import Applied, Cursor, Node, Running
from fuseflow.samml.values import Number, ValueType


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
    value = _Evaluation(builder, kind, scope).of(node, wide=wide)
    assert isinstance(value, Wire)
    return value


class _Evaluation:
    def __init__(self, builder: Builder, kind: ValueType, scope: Sequence[Stream]) -> None:
        self.builder = builder
        self.kind = kind
        self.scope = scope

    def of(self, node: Node, *, wide: bool = False) -> Wire | Number:
        match node:
            case Constant(number):
                return number
            case Cursor():
                outputs = self.builder.add(
                    "array",
                    f"array_{node.name}",
                    {"ref": self.builder.role(node.here, "ref")},
                    {"tensor": node.access.tensor},
                )
                return Wire(outputs["out"], "val")
            case Running():
                return node.value.here
            case Applied(op, (operand,)):
                return self._unary(op, self.of(operand))
            case Applied(op, (left, right)):
                return self._binary(op, self.of(left), self.of(right), wide=wide)
            case _:
                raise AssertionError(node)

    def _unary(self, op: str, a: Wire | Number) -> Wire | Number:
        if not isinstance(a, Wire):
            return apply_unary(op, self.kind, a)
        return self.builder.unary(op, a)

    def _binary(self, op: str, a: Wire | Number, b: Wire | Number, *, wide: bool) -> Wire | Number:
        match a, b:
            case Wire(), Wire():
                deeper = self.scope[: max(a.rank, b.rank)]
                wide = wide and op == "mul" and len(deeper) == len(self.scope)
                left, right = (self.builder.lift(x, deeper, "val") for x in (a, b))
                return self.builder.alu(op, left, right, wide=wide)
            case Wire(), _:
                return self._constant(op, a, b)
            case _, Wire():
                if op != "sub":
                    return self._constant(op, b, a)
                return self.builder.unary("shift", self.builder.unary("neg", b), a)
            case _:
                return apply(op, self.kind, a, b)

    def _constant(self, op: str, a: Wire, constant: Number) -> Wire:
        """Combine a value with a constant on its right."""
        if op == "sub":
            return self.builder.unary("shift", a, rounded(-constant, self.kind))
        name = {"mul": "scale", "add": "shift"}.get(op, op)
        return self.builder.unary(name, a, constant)
