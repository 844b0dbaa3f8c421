"""What alu and unary have in common: an operation on every token, and what goes along with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth import Module, Signal
from amaranth.lib.wiring import Out

from hw.operation import Operation
from hw.pipeline import delay
from hw.unit import UnitComponent


class Elementwise(UnitComponent):
    """Issues at the firing and pushes when the operation is done; empty and close go along."""

    def ports(self) -> Mapping[str, Any]:
        """Return the overflow flag."""
        return {"overflow": Out(1)}

    def flow(self, m: Module, heads: Sequence[Any], operation: Operation) -> None:
        """Let an operation, whose operands are set already, take one token of every head.

        Parameters
        ----------
        m : Module
        heads : sequence of Reader interfaces
            With equal empty and close.
        operation : Operation
            Of the unit's own latency.
        """
        token, out = heads[0].token, self.w_out
        fire, ready = Signal(), out.room
        for head in heads:
            ready = head.valid & ready
        m.d.comb += [
            fire.eq(ready),
            *(head.pop.eq(fire) for head in heads),
            out.issue.eq(fire),
            out.push.eq(delay(m, fire, operation.latency - 1, reset_less=False)),
            out.token.empty.eq(delay(m, token.empty, operation.latency - 1)),
            out.token.close.eq(delay(m, token.close, operation.latency - 1)),
            out.token.data.val.eq(operation.result),
            self.overflow.eq(out.push & (out.token.empty == 0) & operation.overflow),
        ]
