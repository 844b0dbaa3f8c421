"""Registers between the steps of a calculation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from amaranth import Module, Signal, Value

Parts = Mapping[str, Value]
"""What one step hands to the next, by name."""

Step = Callable[[Module, Parts], Parts]
"""Makes parts of parts; what it uses more than once it gives a name with `named`."""


def pipeline(m: Module, steps: Sequence[Step], parts: Parts, latency: int) -> Parts:
    """Return what comes out of the last step, ``latency - 1`` cycles after the parts came in.

    The registers are spread evenly over the boundaries between steps, the earlier first.

    Parameters
    ----------
    m : Module
    steps : sequence of Step
        Combinational; two or more where the latency is above 1.
    parts : mapping of str to Value
        What the first step takes.
    latency : int
        1 or more; a boundary gets several registers where there are few of them.
    """
    boundaries = len(steps) - 1
    before = 0
    for number, step in enumerate(steps):
        if number:
            after = -(-number * (latency - 1) // boundaries)
            parts = {name: delay(m, value, after - before) for name, value in parts.items()}
            before = after
        parts = {name: named(m, name, value) for name, value in step(m, parts).items()}
    return parts


def delay(m: Module, value: Any, cycles: int, *, reset_less: bool = True) -> Any:
    """Return a value so many cycles later; one that says what is valid needs its reset."""
    for _ in range(cycles):
        later = Signal(value.shape(), name="delayed", reset_less=reset_less)
        m.d.sync += later.eq(value)
        value = later
    return value


def named(m: Module, name: str, value: Value) -> Signal:
    """Return a signal for a value, whose logic would otherwise be printed at every use."""
    signal = Signal(value.shape(), name=name)
    m.d.comb += signal.eq(value)
    return signal
