"""Integer sums and products: exact, then wrapped to the result's type."""

from collections.abc import Sequence

from amaranth import Const, Module, Value

from fuseflow.samml.values import ValueType
from hw.operation import Operation, take
from hw.pipeline import Parts, Step
from hw.product import product_steps


def wrapped(exact: Value, value: ValueType) -> Parts:
    """Return an exact integer as a result of a type, and whether it wraps."""
    if len(exact) <= value.bits:
        return {"result": exact, "overflow": Const(0, 1)}
    # It fits where the bits above the word repeat its sign.
    bits = exact.as_unsigned()
    sign = bits[value.bits - 1 :]
    return {"result": bits[: value.bits].as_signed(), "overflow": ~(sign.all() | ~sign.any())}


class IntegerAdder(Operation):
    """``a + b``, or ``a - b``.

    Parameters
    ----------
    value : ValueType
    latency : int
    subtract : bool
    """

    def __init__(self, value: ValueType, latency: int, *, subtract: bool = False) -> None:
        self.subtract = subtract
        super().__init__(value, value, latency)

    def steps(self) -> Sequence[Step]:
        """Return the sum as one step, behind all registers."""
        return take, self._add

    def _add(self, m: Module, parts: Parts) -> Parts:
        a, b = parts["a"], parts["b"]
        return wrapped(a - b if self.subtract else a + b, self.result_type)


class IntegerMultiplier(Operation):
    """``a * b``, as an integer of the result's type."""

    def steps(self) -> Sequence[Step]:
        """Return the partial products, their sum, and the word."""
        return *product_steps(self.operand_type.bits), self._wrap

    def _wrap(self, m: Module, parts: Parts) -> Parts:
        return wrapped(parts["product"], self.result_type)
