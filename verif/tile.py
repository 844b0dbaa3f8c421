"""A tile under Verilator: from a graph to runs that are compared with the cycle model."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from amaranth import Shape
from amaranth.lib import wiring

from gen.plan import Plan
from gen.tile import Tile
from gen.verilog import convert
from verif.build import Simulation, build
from verif.harness import harness
from verif.job import Record, Run, play


@dataclass(frozen=True)
class RtlTile:
    """A built tile.

    Attributes
    ----------
    plan : Plan
    simulation : Simulation
    generate_seconds : float
        What elaboration to Verilog took.
    waves : Path or None
        Where every `play` writes what the signals did.
    """

    plan: Plan
    simulation: Simulation
    generate_seconds: float
    waves: Path | None = None

    def play(self, runs: Sequence[Run]) -> list[Record]:
        """Play runs one after the other, without reset between them."""
        return play(self.simulation, self.plan, runs, waves=self.waves)


def build_tile(
    make: Callable[[], Tile], *, optimize: bool = True, waves: Path | None = None
) -> RtlTile:
    """Elaborate a tile and build its simulation.

    Parameters
    ----------
    make : callable
        Makes the tile, such as ``lambda: Tile(graph, gated=True)``.
    optimize : bool
        Whether the C++ compiler optimizes; short runs are sooner done without.
    waves : Path, optional
        A VCD file to be written by every `RtlTile.play`; such a tile is another build.

    Raises
    ------
    GraphError, ToolError
    """
    started = time.perf_counter()
    tile = make()
    text = convert(tile, tile.plan.top)
    seconds = time.perf_counter() - started
    sources = {f"{tile.plan.top}.v": text, "harness.sv": _harness(tile)}
    simulation = build(sources, optimize=optimize, traceable=waves is not None)
    return RtlTile(tile.plan, simulation, seconds, waves)


def _harness(tile: Tile) -> str:
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    for name, member in tile.signature.members.items():
        if name.startswith("s_axil_"):
            side = inputs if member.flow is wiring.In else outputs
            side[name] = Shape.cast(member.shape).width
    return harness(tile.plan, inputs, outputs, gated=tile.gated)
