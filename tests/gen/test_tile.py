"""Whole tiles in Amaranth's simulator: host access, run control, results."""

from typing import Any

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.lib.wiring import In

from fuseflow.samml.gates import HEAD_PERIOD, OPEN_HEAD, OPEN_ROOM
from fuseflow.samml.image import TensorImage
from gen import host
from gen.axi import OKAY, SLVERR
from gen.control import ErrorCode
from gen.manifest import manifest
from gen.tile import Tile
from hw.unit import UnitComponent
from tests.gen import graphs
from tests.gen.axi_master import Master, simulate

START = 1
LIMIT = 2000

B = TensorImage(
    (4, 7), (None, (0, 2, 2, 3, 6)), (None, (1, 5, 0, 2, 3, 6)), (4, -9, 7, 1 << 30, 3, -8)
)
SUMS = (-5, 0, 7, (1 << 30) - 5)


class Counting(UnitComponent):
    """A source whose tokens are one fiber 0, 1, 2, ..."""

    def ports(self) -> dict[str, Any]:
        return {"start": In(1), "count": In(32)}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place = Signal(32)
        playing = Signal()
        last = place + 1 == self.count
        fire = (self.start | playing) & self.w_out.room
        m.d.comb += [
            self.w_out.issue.eq(fire),
            self.w_out.push.eq(fire),
            self.w_out.token.close.eq(last),
            self.w_out.token.data.val.eq(place),
        ]
        with m.If(fire):
            m.d.sync += [playing.eq(~last), place.eq(place + 1)]
        return m


async def load(master: Master, description: dict[str, Any], tensor: str, image: Any) -> None:
    for address, word in host.writes(description, tensor, image):
        assert await master.write(address, word) == OKAY


async def run(master: Master, description: dict[str, Any]) -> int:
    """Start a run, check the ports cycle by cycle, and return its cycles."""
    context, tile = master.context, master.tile
    control = host.register(description, "control")
    task = master.write(control, START)
    assert await task == OKAY
    while not context.get(tile.done):
        await context.tick()
        assert context.get(tile.running) != context.get(tile.done)
        assert context.get(tile.cycle) < LIMIT
    cycles = context.get(tile.cycle)
    await context.tick().repeat(3)
    assert context.get(tile.cycle) == cycles
    assert await master.register(description, "cycles_lo") == cycles
    assert await master.register(description, "cycles_hi") == 0
    assert await master.register(description, "status") == 0b010
    return cycles


async def result(master: Master, description: dict[str, Any], tensor: str, shape: Any) -> Any:
    counts = {
        name: await master.value(address)
        for name, address in host.count_reads(description, tensor).items()
    }
    words = host.result_words(description, tensor, shape, counts)
    found = {}
    for array in host.arrays(description, tensor):
        count = words[array["name"]]
        found[array["name"]] = [await master.value(array["base"] + 4 * k) for k in range(count)]
    return host.image(description, tensor, shape, found)


def test_row_sums_over_axi() -> None:
    graph = graphs.row_sums()
    description = manifest(graph)

    async def test(master: Master) -> None:
        await load(master, description, "B", B)
        for array in host.arrays(description, "B"):
            if array["kind"] == "crd":
                words = [await master.value(array["base"] + 4 * k) for k in range(6)]
                assert words == list(B.crds[1] or ())
        first = await run(master, description)
        found = await result(master, description, "x", (4,))
        assert found.vals.tolist() == list(SUMS)
        assert await run(master, description) == first, "a run leaves something behind"
        found = await result(master, description, "x", (4,))
        assert found.vals.tolist() == list(SUMS)

    simulate(Tile(graph), test)


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_every_reader_sees_the_stored_array(copies: int) -> None:
    graph = graphs.product(copies)
    description = manifest(graph)
    crds, vals = [0, 3, 4, 11, 19], np.array([2, -3, 1, 5, 10])
    image = TensorImage((20,), ([0, 5],), (crds,), vals.tolist())

    async def test(master: Master) -> None:
        await load(master, description, "b", image)
        await run(master, description)
        found = await result(master, description, "x", (20,))
        assert found.segs[0].tolist() == [0, 5]
        assert found.crds[0].tolist() == crds
        assert found.vals.tolist() == (vals ** (copies + 1)).tolist()

    simulate(Tile(graph), test)


@pytest.mark.parametrize("tokens", [1, 4, 9])
def test_a_run_ends_one_cycle_after_its_last_token(tokens: int) -> None:
    """Token k is issued in cycle k; the last sum is issued in cycle n and taken in n + 1."""
    graph = graphs.replay()
    tile = Tile(graph, components={"play": Counting})
    description = manifest(graph)

    async def test(master: Master) -> None:
        context = master.context
        context.set(tile.taken_streams, 1)
        context.set(tile.play_count, tokens)
        assert await run(master, description) == tokens + 2

    simulate(tile, test)


def test_cycle_zero_is_the_cycle_of_the_start() -> None:
    graph = graphs.row_sums()
    tile = Tile(graph)
    description = manifest(graph)

    async def test(master: Master) -> None:
        context = master.context
        await load(master, description, "B", B)
        await master.beat("w", wdata=START, wstrb=0xF)
        await master.beat("aw", awaddr=host.register(description, "control"))
        while not context.get(tile.running):
            assert not context.get(tile.done)
            await context.tick()
        for cycle in range(10):
            assert context.get(tile.cycle) == cycle
            assert context.get(tile.running)
            await context.tick()

    simulate(tile, test)


def test_a_start_while_busy_is_refused_and_flagged() -> None:
    graph = graphs.replay()
    tile = Tile(graph)
    description = manifest(graph)
    control = host.register(description, "control")

    async def test(master: Master) -> None:
        context = master.context
        context.set(tile.taken_streams, 1)
        assert await master.write(control, START) == OKAY
        assert await master.register(description, "error") == ErrorCode.NONE.value
        assert await master.write(control, START) == SLVERR
        assert await master.register(description, "error") == ErrorCode.START_WHILE_BUSY.value
        assert await master.register(description, "status") == 0b001
        assert await master.write(control, 0) == OKAY

    simulate(tile, test)


def test_what_is_refused_changes_nothing() -> None:
    graph = graphs.row_sums()
    description = manifest(graph)
    shape = host.register(description, "shape_B_0")
    seg, crd, val = (array["base"] for array in host.arrays(description, "B"))
    (x,) = (array["base"] for array in host.arrays(description, "x"))

    async def test(master: Master) -> None:
        assert await master.write(shape, 3) == OKAY
        assert await master.write(shape, 6) == SLVERR, "beyond the capacity"
        assert await master.write(shape, 1 << 31) == SLVERR
        assert await master.write(shape, 2, strobes=0b0011) == SLVERR, "half a word"
        assert await master.value(shape) == 3
        assert await master.write(host.register(description, "id"), 1) == SLVERR
        assert await master.register(description, "id") == 0x45535546
        assert (await master.read(host.register(description, "control")))[1] == SLVERR
        assert (await master.read(0x1C))[1] == SLVERR
        assert (await master.read(0x3FC))[1] == SLVERR
        assert await master.write(crd + 4 * 10, 5) == OKAY
        assert await master.write(crd + 4 * 11, 6) == SLVERR, "past the last word"
        assert (await master.read(crd + 4 * 11)) == (0, SLVERR)
        assert await master.value(crd + 4 * 10) == 5
        assert await master.write(x, 1) == SLVERR
        assert await master.value(x) == 0
        assert await master.write(val, 0xFFFF_FFFE) == OKAY
        assert await master.value(val) == 0xFFFF_FFFE
        for k in range(6):
            assert await master.write(seg + 4 * k, k) == OKAY
        assert [await master.value(seg + 4 * k) for k in range(6)] == list(range(6))

    simulate(Tile(graph), test)


def test_overrun_sets_the_error_and_still_ends() -> None:
    graph = graphs.product(1, capacity=9)
    (vector, small) = graph.tensors
    small = type(small)(small.name, small.role, small.format, small.dims, (3,))
    graph = type(graph)(graph.name, graph.value, graph.indices, (vector, small), graph.nodes)
    description = manifest(graph)
    image = TensorImage((20,), ([0, 5],), ([0, 3, 4, 11, 19],), [1, 2, 3, 4, 5])

    async def test(master: Master) -> None:
        await load(master, description, "b", image)
        await run(master, description)
        assert await master.register(description, "error") == ErrorCode.OVERRUN.value
        await load(master, description, "b", TensorImage((20,), ([0, 1],), ([7],), [3]))
        await run(master, description)
        assert await master.register(description, "error") == ErrorCode.NONE.value
        found = await result(master, description, "x", (20,))
        assert (found.crds[0].tolist(), found.vals.tolist()) == ([7], [9])

    simulate(Tile(graph), test)


def test_overflow_is_sticky_until_the_next_start() -> None:
    graph = graphs.product(1)
    description = manifest(graph)

    async def test(master: Master) -> None:
        await load(master, description, "b", TensorImage((20,), ([0, 1],), ([7],), [1 << 20]))
        assert await master.write(host.register(description, "control"), START) == OKAY
        await master.context.tick().repeat(30)
        assert await master.register(description, "status") == 0b110
        await load(master, description, "b", TensorImage((20,), ([0, 1],), ([7],), [3]))
        await run(master, description)

    simulate(Tile(graph), test)


def test_column_sums_through_the_accumulator() -> None:
    graph = graphs.column_sums()
    description = manifest(graph)
    image = TensorImage(
        (6, 8),
        ([0, 4], [0, 2, 5, 6, 8]),
        ([0, 2, 3, 5], [1, 7, 0, 1, 4, 4, 1, 7]),
        (5, 2, 9, -5, 1, 6, 3, -2),
    )

    async def test(master: Master) -> None:
        await load(master, description, "B", image)
        for _ in range(2):
            await run(master, description)
            found = await result(master, description, "x", (8,))
            assert found.segs[0].tolist() == [0, 3]
            assert found.crds[0].tolist() == [0, 1, 4]
            assert found.vals.tolist() == [9, 3, 7]

    simulate(Tile(graph), test)


def test_reset_in_mid_run_recovers() -> None:
    graph = graphs.row_sums()
    tile = Tile(graph)
    description = manifest(graph)
    reset = Signal()

    async def test(master: Master) -> None:
        context = master.context
        await load(master, description, "B", B)
        usual = await run(master, description)
        for cycle in range(1, usual, 3):
            assert await master.write(host.register(description, "control"), START) == OKAY
            while context.get(tile.cycle) < cycle:
                await context.tick()
            context.set(reset, 1)
            await context.tick()
            context.set(reset, 0)
            assert not context.get(tile.running)
            assert await master.register(description, "status") == 0
            for address, size in host.shape_writes(description, "B", B.shape):
                assert await master.write(address, size) == OKAY
            assert await run(master, description) == usual
            found = await result(master, description, "x", (4,))
            assert found.vals.tolist() == list(SUMS)

    simulate(tile, test, reset)


@pytest.mark.parametrize("phase", [0, 1, 17, HEAD_PERIOD - 1])
def test_gates_follow_the_cycle_number(phase: int) -> None:
    """Where the last head opens in one cycle of its period only, the run ends in such a cycle."""
    graph = graphs.product(1)
    tile = Tile(graph, gated=True)
    description = manifest(graph)
    edges = tile.plan.units.edges
    last = next(k for k, edge in enumerate(edges) if edge.name == "x_val.val")
    image = TensorImage((20,), ([0, 1],), ([7],), [3])

    async def test(master: Master) -> None:
        context = master.context
        for k, edge in enumerate(edges):
            if edge.gated:
                context.set(getattr(tile, f"gate_room_{k}"), OPEN_ROOM)
                context.set(getattr(tile, f"gate_head_{k}"), OPEN_HEAD)
        await load(master, description, "b", image)
        usual = await run(master, description)
        context.set(getattr(tile, f"gate_head_{last}"), 1 << phase)
        await context.tick()
        for _ in range(2):
            cycles = await run(master, description)
            assert (cycles - 1) % HEAD_PERIOD == phase
            assert 0 <= cycles - usual < HEAD_PERIOD

    simulate(tile, test)
