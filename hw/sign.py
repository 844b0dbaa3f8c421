"""Negation and absolute value."""

from collections.abc import Sequence

from amaranth import Cat, Const, Module, Mux

from fuseflow.samml.values import ValueType
from hw.floating import cleaned
from hw.integer import wrapped
from hw.operation import Operation, take
from hw.pipeline import Parts, Step


class Sign(Operation):
    """``-a``, or the magnitude of ``a``; ``b`` is not used.

    Parameters
    ----------
    value : ValueType
    latency : int
    keep_positive : bool
        Only a negative operand changes its sign.
    """

    def __init__(self, value: ValueType, latency: int, *, keep_positive: bool) -> None:
        self.keep_positive = keep_positive
        super().__init__(value, value, latency)

    def steps(self) -> Sequence[Step]:
        """Return the change as one step, behind all registers."""
        return take, self._change

    def _change(self, m: Module, parts: Parts) -> Parts:
        a, value = parts["a"], self.result_type
        if value.is_float:
            sign = Const(0, 1) if self.keep_positive else ~a[-1]
            return {"result": cleaned(Cat(a[:-1], sign), value), "overflow": Const(0, 1)}
        return wrapped(Mux(a[-1], -a, a) if self.keep_positive else -a, value)
