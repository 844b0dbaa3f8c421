"""The interface of all arithmetic: two operands, a result, a flag, a latency."""

from collections.abc import Sequence

from amaranth import Module
from amaranth.lib.wiring import In, Out

from fuseflow.samml.values import ValueType
from hw.component import Component
from hw.layout import word
from hw.pipeline import Parts, Step, pipeline


class Operation(Component):
    """``a op b``: the operands of cycle t give the result of cycle t + latency - 1.

    Parameters
    ----------
    value : ValueType
        Type of the operands.
    result : ValueType
        Type of the result.
    latency : int
        1 or more.

    Attributes
    ----------
    a, b : In
    result : Out
    overflow : Out(1)
        The result is not what it would be without limits of its type; comes with the result.
    """

    def __init__(self, value: ValueType, result: ValueType, latency: int) -> None:
        self.operand_type = value
        self.result_type = result
        self.latency = latency
        super().__init__(
            {
                "a": In(word(value)),
                "b": In(word(value)),
                "result": Out(word(result)),
                "overflow": Out(1),
            }
        )

    def steps(self) -> Sequence[Step]:
        """Return the steps from ``a`` and ``b`` to ``result`` and ``overflow``."""
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        """Build the steps, with registers between them."""
        m = Module()
        parts = pipeline(m, self.steps(), {"a": self.a, "b": self.b}, self.latency)
        m.d.comb += [self.result.eq(parts["result"]), self.overflow.eq(parts["overflow"])]
        return m


def take(_m: Module, parts: Parts) -> Parts:
    """Hand the operands on: a step that lets a register stand before the first real one."""
    return parts
