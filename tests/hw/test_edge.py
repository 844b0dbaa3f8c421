"""The edge: what is reserved, what is free, and when (DESIGN section 3)."""

from typing import Any

import pytest
from amaranth import unsigned
from amaranth.lib import data
from amaranth.sim import Simulator

from fuseflow.samml.gates import HEAD_PERIOD, ROOM_PERIOD
from hw.edge import Edge

LAYOUT = data.StructLayout({"close": unsigned(1), "empty": unsigned(1), "data": unsigned(16)})


def play(depth: int, latency: int, cycles: int, wants_pop: Any, gates: Any = None) -> Any:
    """Issue whenever there is room, pop where asked; return the cycles of both and the data."""
    edge = Edge(LAYOUT, depth, gated=gates is not None)
    issues: list[int] = []
    pops: list[tuple[int, int]] = []

    async def bench(ctx: Any) -> None:
        if gates:
            ctx.set(edge.room_pattern, gates[0])
            ctx.set(edge.head_pattern, gates[1])
            await ctx.tick()
            ctx.set(edge.running, 1)
        for t in range(cycles):
            issue = bool(ctx.get(edge.w.room))
            if issue:
                issues.append(t)
            pushed = t - latency + 1
            ctx.set(edge.w.issue, issue)
            ctx.set(edge.w.push, pushed in issues)
            ctx.set(edge.w.token.data, pushed & 0xFFFF)
            pop = bool(ctx.get(edge.r.valid)) and wants_pop(t)
            if pop:
                pops.append((t, ctx.get(edge.r.token.data)))
            ctx.set(edge.r.pop, pop)
            await ctx.tick()

    simulator = Simulator(edge)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return issues, pops


@pytest.mark.parametrize("latency", [1, 2, 3, 5])
def test_full_rate_at_depth_latency_plus_one(latency: int) -> None:
    issues, pops = play(latency + 1, latency, 40, lambda t: True)
    assert issues == list(range(40))
    assert pops == [(t, t - latency) for t in range(latency, 40)]


@pytest.mark.parametrize(("depth", "latency"), [(1, 1), (2, 2), (3, 4)])
def test_a_slot_is_taken_from_issue_to_pop(depth: int, latency: int) -> None:
    issues, pops = play(depth, latency, 60, lambda t: True)
    period = latency + 1  # issued in t, popped in t + latency, free in t + latency + 1
    assert issues == [t for t in range(60) if t % period < depth]
    assert [t for t, _ in pops] == [t + latency for t in issues if t + latency < 60]
    assert [value for _, value in pops] == issues[: len(pops)]


def test_a_full_edge_fills_and_drains_in_one_cycle() -> None:
    issues, pops = play(3, 1, 30, lambda t: t >= 10)
    assert issues == [0, 1, 2, *range(11, 30)]
    assert [t for t, _ in pops] == list(range(10, 30))
    assert [value for _, value in pops] == issues[:20]


def test_gates_advance_from_cycle_0_on() -> None:
    room, head = 0b1011, 0b100
    issues, pops = play(20, 1, 120, lambda t: True, (room, head))
    assert issues == [t for t in range(120) if t % ROOM_PERIOD in (0, 1, 3)]
    assert [t for t, _ in pops] == [t for t in range(120) if t % HEAD_PERIOD == 2][:3]
