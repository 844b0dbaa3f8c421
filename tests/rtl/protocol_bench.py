"""What a host may and may not do with a tile, played by cocotbext-axi inside the simulator.

The job file that ``FUSEFLOW_JOB`` names holds the tile's manifest and, per data set, what to load
and what must come out; see `tests.rtl.test_protocol`.
"""

import itertools
import json
import logging
import os
import warnings
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from gen.host import arrays, count_reads, register, result_words

START = 1
BUSY, DONE = 1, 2
OVERRUN, START_WHILE_BUSY = 2, 3
MILLISECONDS = 10
"""Simulated time after which a test has failed; far beyond any of them."""

RESULT = "X"

# It still assigns signals the way cocotb 1 did.
warnings.filterwarnings("ignore", category=DeprecationWarning, module="cocotbext")


class Driver:
    """A host: everything it knows stands in the manifest."""

    def __init__(self, dut: Any, job: dict[str, Any]) -> None:
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)
        self.dut = dut
        self.manifest = job["manifest"]
        self.sets = job["sets"]
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk)

    async def reset(self) -> None:
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 1)

    def hesitate(self) -> None:
        """Let every channel pause now and then, each in a rhythm of its own."""
        read, write = self.master.read_if, self.master.write_if
        channels = (
            read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel,
        )  # fmt: skip
        for channel, period in zip(channels, (3, 5, 7, 2, 11), strict=True):
            channel.set_pause_generator(itertools.cycle([1] * (period - 1) + [0]))

    async def response(self, address: int, data: bytes) -> AxiResp:
        return (await self.master.write(address, data)).resp

    async def write(self, address: int, word: int) -> None:
        assert await self.response(address, word.to_bytes(4, "little")) == AxiResp.OKAY

    async def refused(self, address: int, word: int = 0) -> bool:
        """Write a word and say whether it was refused."""
        return await self.response(address, word.to_bytes(4, "little")) == AxiResp.SLVERR

    async def read(self, address: int, count: int = 1) -> list[int]:
        """Read consecutive words."""
        answer = await self.master.read(address, 4 * count)
        assert answer.resp == AxiResp.OKAY
        return [int.from_bytes(answer.data[k : k + 4], "little") for k in range(0, 4 * count, 4)]

    async def unreadable(self, address: int) -> bool:
        """Read a word and say whether that was refused; nothing may leak then."""
        answer = await self.master.read(address, 4)
        return answer.resp == AxiResp.SLVERR and not any(answer.data)

    async def get(self, name: str) -> int:
        (word,) = await self.read(register(self.manifest, name))
        return word

    async def load(self, number: int) -> None:
        """Load a data set; words at consecutive addresses go out back to back."""
        for address, words in self.sets[number]["writes"]:
            data = b"".join(word.to_bytes(4, "little") for word in words)
            assert await self.response(address, data) == AxiResp.OKAY

    async def start(self) -> None:
        await self.write(register(self.manifest, "control"), START)

    async def wait(self) -> None:
        while await self.get("status") & BUSY:
            pass

    async def check(self, number: int, *, error: int = 0) -> None:
        """Compare everything that a finished run left behind."""
        want = self.sets[number]
        assert await self.get("status") == DONE
        assert await self.get("error") == error
        cycles = await self.get("cycles_lo") | await self.get("cycles_hi") << 32
        assert cycles == want["cycles"]
        counts = {
            name: (await self.read(address))[0]
            for name, address in count_reads(self.manifest, RESULT).items()
        }
        words = result_words(self.manifest, RESULT, want["shape"], counts)
        for array in arrays(self.manifest, RESULT):
            name = array["name"]
            count = words[name]
            got = await self.read(array["base"], count) if count else []
            assert got == want["arrays"][name], name

    async def run(self, number: int) -> None:
        await self.load(number)
        await self.start()
        await self.wait()
        await self.check(number)


async def begin(dut: Any) -> Driver:
    """Start the clock and reset the tile."""
    for name in ("load", "dump", "record", "run"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    driver = Driver(dut, json.loads(Path(os.environ["FUSEFLOW_JOB"]).read_text()))
    await driver.reset()
    return driver


def limited(test: Any) -> Any:
    """Make a test of a coroutine; it may not hang."""
    return cocotb.test(timeout_time=MILLISECONDS, timeout_unit="ms")(test)


@limited
async def test_identity(dut: Any) -> None:
    driver = await begin(dut)
    assert (await driver.get("id")).to_bytes(4, "little") == b"FUSE"
    assert await driver.get("version") >> 16 == 1
    text = f"{await driver.get('hash_hi'):08x}{await driver.get('hash_lo'):08x}"
    assert text == driver.manifest["hash"]
    assert await driver.get("status") == 0
    assert await driver.get("error") == 0


@limited
async def test_run(dut: Any) -> None:
    driver = await begin(dut)
    await driver.run(0)


@limited
async def test_run_by_a_host_that_hesitates(dut: Any) -> None:
    driver = await begin(dut)
    driver.hesitate()
    await driver.run(0)


@limited
async def test_runs_without_reset_between_them(dut: Any) -> None:
    driver = await begin(dut)
    for number in (0, 1, 2, 0):
        await driver.run(number)
    await driver.start()
    await driver.wait()
    await driver.check(0)


@limited
async def test_inputs_read_back(dut: Any) -> None:
    driver = await begin(dut)
    await driver.load(0)
    for address, words in driver.sets[0]["writes"]:
        assert await driver.read(address, len(words)) == words


@limited
async def test_what_is_refused_changes_nothing(dut: Any) -> None:
    driver = await begin(dut)
    await driver.run(1)
    manifest = driver.manifest
    for entry in manifest["registers"]:
        if entry["access"] == "ro":
            assert await driver.refused(entry["address"], 1), entry["name"]
    assert await driver.unreadable(register(manifest, "control"))
    for array in manifest["arrays"]:
        if array["role"] == "result":
            assert await driver.refused(array["base"], 5), array["name"]
        beyond = array["base"] + 4 * array["words"]
        if beyond < array["base"] + array["size"]:
            assert await driver.refused(beyond, 5), array["name"]
            assert await driver.unreadable(beyond), array["name"]
    for address in unmapped(manifest):
        assert await driver.refused(address), hex(address)
        assert await driver.unreadable(address), hex(address)
    for tensor in manifest["tensors"]:
        for address, size in zip(tensor["shape"], tensor["dims"], strict=True):
            assert await driver.refused(address, size + 1)
    await driver.check(1)
    await driver.start()
    await driver.wait()
    await driver.check(1)


def unmapped(manifest: dict[str, Any]) -> list[int]:
    """Return the word addresses of no register, and the first and last ones of no array."""
    taken = {entry["address"] for entry in manifest["registers"]}
    windows = sorted((array["base"], array["size"]) for array in manifest["arrays"])
    ends = [base + size for base, size in windows]
    found = [address for address in range(0, windows[0][0], 4) if address not in taken]
    starts = [base for base, _ in windows[1:]] + [1 << manifest["address_bits"]]
    for end, start in zip(ends, starts, strict=True):
        found += {end, start - 4} if end < start else set()
    return found


@limited
async def test_partial_words_change_nothing(dut: Any) -> None:
    driver = await begin(dut)
    await driver.run(1)
    control = register(driver.manifest, "control")
    places = [control, *(address for address, _ in driver.sets[1]["writes"])]
    for address in places:
        for first, length in itertools.combinations(range(5), 2):
            data = b"\x01" * (length - first)
            if len(data) < 4:
                assert await driver.response(address + first, data) == AxiResp.SLVERR
    await driver.check(1)
    for address, words in driver.sets[1]["writes"]:
        assert await driver.read(address, len(words)) == words
    await driver.start()
    await driver.wait()
    await driver.check(1)


@limited
async def test_only_bit_0_starts(dut: Any) -> None:
    driver = await begin(dut)
    await driver.run(1)
    await driver.write(register(driver.manifest, "control"), 0xFFFF_FFFE)
    await driver.check(1)


@limited
async def test_bits_above_a_word_are_ignored(dut: Any) -> None:
    driver = await begin(dut)
    for array in driver.manifest["arrays"]:
        if array["role"] == "input":
            await driver.write(array["base"], 0xFFFF_FFFF)
            assert await driver.read(array["base"]) == [(1 << array["width"]) - 1], array["name"]
    await driver.run(0)


@limited
async def test_refusals_while_running(dut: Any) -> None:
    driver = await begin(dut)
    await driver.load(0)
    await driver.start()
    assert await driver.get("status") == BUSY
    for array in driver.manifest["arrays"]:
        assert await driver.refused(array["base"], 7), array["name"]
        assert await driver.unreadable(array["base"]), array["name"]
    for tensor in driver.manifest["tensors"]:
        assert await driver.refused(tensor["shape"][0], 1)
    assert await driver.get("error") == 0
    assert await driver.get("status") == BUSY
    await driver.wait()
    await driver.check(0)


@limited
async def test_start_while_busy(dut: Any) -> None:
    driver = await begin(dut)
    await driver.load(0)
    await driver.start()
    assert await driver.refused(register(driver.manifest, "control"), START)
    assert await driver.get("status") == BUSY
    assert await driver.get("error") == START_WHILE_BUSY
    await driver.wait()
    await driver.check(0, error=START_WHILE_BUSY)
    await driver.start()
    await driver.wait()
    await driver.check(0)


@limited
async def test_reset_in_mid_run(dut: Any) -> None:
    driver = await begin(dut)
    await driver.load(0)
    total = driver.sets[0]["cycles"]
    for cycles in (1, total // 7, total // 2, total - 40):
        await driver.start()
        await ClockCycles(dut.clk, cycles)
        assert int(dut.rst.value) == 0
        await driver.reset()
        assert await driver.get("status") == 0
        assert await driver.get("error") == 0
        await driver.run(1)
        await driver.load(0)
    await driver.run(0)


@limited
async def test_overrun(dut: Any) -> None:
    driver = await begin(dut)
    overrun = len(driver.sets) - 1
    await driver.load(overrun)
    await driver.start()
    await driver.wait()
    await driver.check(overrun, error=OVERRUN)
    await driver.run(0)
