"""The cocotb side of `tests.hw.arithmetic`: runs the clock until the harness has played all."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge


@cocotb.test()
async def play(dut: Any) -> None:
    """Wait until every vector has been played."""
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    await RisingEdge(dut.finished)
    await RisingEdge(dut.clk)
