"""Run control: start, busy, done, the cycle counter and the sticky flags (DESIGN section 3)."""

from amaranth import Module, Signal
from amaranth.lib import enum
from amaranth.lib.wiring import In, Out

from hw.component import Component

CYCLE_BITS = 48


class ErrorCode(enum.Enum, shape=2):
    """The first error since the last accepted start."""

    NONE = 0
    RANGE = 1
    OVERRUN = 2
    START_WHILE_BUSY = 3


class RunControl(Component):
    """Counts one run from its start to the last writer's last token.

    A request in cycle -1 is accepted unless a run is under way; `start` is high in cycle 0.
    With T the cycle of the last `finished`, `done` is high from cycle T + 1 and `cycle`
    stands at T + 1.  Flags are cleared by the next accepted request.

    Parameters
    ----------
    ends : int
        Number of writers and sinks.

    Members
    -------
    expected : In(ends)
        Which of them take part in the run that is requested.
    """

    def __init__(self, ends: int) -> None:
        super().__init__(
            {
                "request": In(1),
                "expected": In(ends),
                "finished": In(ends),
                "range_error": In(1),
                "overrun": In(1),
                "overflow_event": In(1),
                "start": Out(1),
                "running": Out(1),
                "done": Out(1),
                "cycle": Out(CYCLE_BITS),
                "error": Out(ErrorCode),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the counter, the set of units still to finish, and the flags."""
        m = Module()
        accept = Signal()
        busy = Signal()
        pending = Signal.like(self.expected)
        remaining = Signal.like(self.expected)
        m.d.comb += [
            accept.eq(self.request & ~self.running),
            self.running.eq(self.start | busy),
            remaining.eq(pending & ~self.finished),
        ]
        m.d.sync += self.start.eq(accept)
        with m.If(self.running):
            m.d.sync += [
                self.cycle.eq(self.cycle + 1),
                pending.eq(remaining),
                busy.eq(remaining.any()),
                self.done.eq(~remaining.any()),
            ]
        with m.If(accept):
            m.d.sync += [self.cycle.eq(0), pending.eq(self.expected), self.done.eq(0)]
        self._flags(m, accept)
        return m

    def _flags(self, m: Module, accept: Signal) -> None:
        with m.If(self.overflow_event):
            m.d.sync += self.overflow.eq(1)
        with m.If(self.error == ErrorCode.NONE):
            with m.If(self.range_error):
                m.d.sync += self.error.eq(ErrorCode.RANGE)
            with m.Elif(self.overrun):
                m.d.sync += self.error.eq(ErrorCode.OVERRUN)
            with m.Elif(self.request & self.running):
                m.d.sync += self.error.eq(ErrorCode.START_WHILE_BUSY)
        with m.If(accept):
            m.d.sync += [self.error.eq(ErrorCode.NONE), self.overflow.eq(0)]
