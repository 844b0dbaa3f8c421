"""The cocotb side of a run: starts the tile over AXI4-Lite and waits for the end.

It runs inside the simulator.  Everything it needs stands in the job file that ``FUSEFLOW_JOB``
names; `verif.job` writes that file and reads the results.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import (
    ClockCycles,
    FallingEdge,
    ReadOnly,
    RisingEdge,
    SimTimeoutError,
    with_timeout,
)

PERIOD = 2


class Host:
    """A minimal AXI4-Lite master: one access at a time, and asleep between them."""

    def __init__(self, dut: Any, prefix: str = "s_axil_") -> None:
        self._dut = dut
        self._prefix = prefix
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "awprot", "arprot"):
            self._signal(name).value = 0

    def _signal(self, name: str) -> Any:
        return getattr(self._dut, self._prefix + name)

    async def write(self, address: int, word: int) -> int:
        """Write a word; return the response code."""
        self._signal("awaddr").value = address
        self._signal("wdata").value = word
        self._signal("wstrb").value = 0xF
        self._signal("awvalid").value = 1
        self._signal("wvalid").value = 1
        self._signal("bready").value = 1
        open_channels = {"aw", "w"}
        while open_channels:
            await FallingEdge(self._dut.clk)
            taken = {c for c in open_channels if int(self._signal(c + "ready").value)}
            await RisingEdge(self._dut.clk)
            for channel in taken:
                self._signal(channel + "valid").value = 0
            open_channels -= taken
        response = await self._response("b", "bresp")
        self._signal("bready").value = 0
        return response

    async def read(self, address: int) -> int:
        """Read a word."""
        self._signal("araddr").value = address
        self._signal("arvalid").value = 1
        self._signal("rready").value = 1
        while True:
            await FallingEdge(self._dut.clk)
            ready = int(self._signal("arready").value)
            await RisingEdge(self._dut.clk)
            if ready:
                break
        self._signal("arvalid").value = 0
        word = await self._response("r", "rdata")
        self._signal("rready").value = 0
        return word

    async def _response(self, channel: str, field: str) -> int:
        while True:
            await FallingEdge(self._dut.clk)
            if int(self._signal(channel + "valid").value):
                value = int(self._signal(field).value)
                await RisingEdge(self._dut.clk)
                return value


async def reset(dut: Any) -> None:
    """Hold reset for a few cycles."""
    dut.rst.value = 1
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0


async def pulse(dut: Any, name: str) -> None:
    """Raise a harness signal over two clock edges."""
    await FallingEdge(dut.clk)
    getattr(dut, name).value = 1
    await ClockCycles(dut.clk, 2)
    getattr(dut, name).value = 0
    await ClockCycles(dut.clk, 1)


async def play(dut: Any, host: Host, number: int, job: dict[str, Any]) -> dict[str, Any]:
    """Play one run of the job and return what the registers say."""
    run = job["runs"][number]
    dut.run.value = number
    dut.record.value = int(run["trace"])
    if run["reset"]:
        await reset(dut)
    await pulse(dut, "load")
    for address, word in run["writes"]:
        assert await host.write(address, word) == 0, f"write to {address:#x} refused"
    started = time.perf_counter()
    await host.write(*job["start"])
    finished = True
    if not int(dut.finished.value):
        try:
            await with_timeout(RisingEdge(dut.finished), run["limit"] * PERIOD, "ns")
        except SimTimeoutError:
            finished = False
    seconds = time.perf_counter() - started
    registers = {name: await host.read(address) for name, address in job["reads"].items()}
    await pulse(dut, "dump")
    await ReadOnly()
    await RisingEdge(dut.clk)
    return {"finished": finished, "seconds": seconds, "registers": registers}


@cocotb.test()
async def play_all(dut: Any) -> None:
    """Play every run of the job file."""
    path = Path(os.environ["FUSEFLOW_JOB"])
    job = json.loads(path.read_text())
    for name in ("load", "dump", "record", "run"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, PERIOD, unit="ns").start())
    host = Host(dut)
    await reset(dut)
    results = [await play(dut, host, number, job) for number in range(len(job["runs"]))]
    path.with_name("results.json").write_text(json.dumps(results))
