"""A small AXI4-Lite master and a run of a whole tile, for Amaranth's simulator."""

from collections.abc import Callable, Mapping
from typing import Any

from amaranth import ResetInserter, Value
from amaranth.sim import Simulator

from gen.axi import OKAY
from gen.host import register
from gen.tile import AXI_PREFIX, Tile

TIMEOUT = 200


class Master:
    """Drives the ``s_axil`` ports of a tile from a testbench."""

    def __init__(self, context: Any, tile: Tile) -> None:
        self.context = context
        self.tile = tile

    def port(self, name: str) -> Any:
        return getattr(self.tile, f"{AXI_PREFIX}_{name}")

    def get(self, name: str) -> int:
        return self.context.get(self.port(name))

    def set(self, **values: int) -> None:
        for name, value in values.items():
            self.context.set(self.port(name), value)

    async def wait_for(self, name: str) -> None:
        for _ in range(TIMEOUT):
            if self.get(name):
                return
            await self.context.tick()
        raise AssertionError(f"{name} stays low")

    async def beat(self, channel: str, **values: int) -> None:
        self.set(**values, **{f"{channel}valid": 1})
        await self.wait_for(f"{channel}ready")
        await self.context.tick()
        self.set(**{f"{channel}valid": 0})

    async def write(self, address: int, word: int, *, strobes: int = 0xF) -> int:
        """Write a word and return the response."""
        await self.beat("w", wdata=word, wstrb=strobes)
        await self.beat("aw", awaddr=address)
        await self.wait_for("bvalid")
        response = self.get("bresp")
        self.set(bready=1)
        await self.context.tick()
        self.set(bready=0)
        return response

    async def read(self, address: int) -> tuple[int, int]:
        """Read a word and return it with the response."""
        await self.beat("ar", araddr=address)
        await self.wait_for("rvalid")
        await self.context.tick().repeat(2)
        assert self.get("rvalid"), "rvalid must hold until rready"
        answer = self.get("rdata"), self.get("rresp")
        self.set(rready=1)
        await self.context.tick()
        self.set(rready=0)
        return answer

    async def value(self, address: int) -> int:
        """Read a word that must be readable."""
        word, response = await self.read(address)
        assert response == OKAY
        return word

    async def register(self, manifest: Mapping[str, Any], name: str) -> int:
        return await self.value(register(manifest, name))


def simulate(tile: Tile, test: Callable[[Master], Any], reset: Value | None = None) -> None:
    """Run a testbench against a tile, which a signal may reset."""
    simulator = Simulator(tile if reset is None else ResetInserter(reset)(tile))
    simulator.add_clock(1e-6)

    async def testbench(context: Any) -> None:
        await test(Master(context, tile))

    simulator.add_testbench(testbench)
    simulator.run()
