"""The memories of a printed tile: instances of small Verilog cells.

Amaranth itself would print one assignment per word of every memory (amaranth issue 270), which
takes half a minute for ten memories of 64k words.  In a cell only word 0 has an initial value:
nothing in a tile reads another word before it is written, but word 0 of a result's segment
array is never written, and is 0.
"""

from amaranth import ClockSignal, Instance, Shape, Value
from amaranth.lib import memory

ARRAY = "mem.rows"
"""Verilog name of a memory's words, below the component whose submodule ``mem`` it is."""


class MemoryCells:
    """The platform that a tile is printed for; it keeps the cells that were needed.

    Parameters
    ----------
    prefix : str
        Start of the cells' names, so that two tiles can stand in one design.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._cells: dict[str, str] = {}

    @property
    def text(self) -> str:
        """The Verilog modules of all cells."""
        return "\n".join(self._cells[name] for name in sorted(self._cells))

    def get_memory(self, each: memory.Memory) -> Instance:
        """Build a memory as an instance; Amaranth calls this for every `memory.Memory`."""
        combinational = [port.domain == "comb" for port in each.read_ports]
        writes = len(each.write_ports)
        letters = "w" * writes + "".join("c" if comb else "r" for comb in combinational)
        name = f"{self._prefix}_ram_{letters}"
        self._cells[name] = _cell(name, writes, combinational)
        ports: dict[str, object] = {"i_clk": ClockSignal()}
        for k, port in enumerate(each.write_ports):
            ports |= {
                f"i_write{k}_en": port.en,
                f"i_write{k}_addr": port.addr,
                f"i_write{k}_data": Value.cast(port.data),
            }
        for k, port in enumerate(each.read_ports):
            assert not port.transparent_for
            ports |= {f"i_read{k}_addr": port.addr, f"o_read{k}_data": Value.cast(port.data)}
            if not combinational[k]:
                ports[f"i_read{k}_en"] = port.en
        width = Shape.cast(each.shape).width
        address = (each.depth - 1).bit_length()
        return Instance(name, p_WIDTH=width, p_DEPTH=each.depth, p_ADDRESS=address, **ports)


def _cell(name: str, writes: int, combinational: list[bool]) -> str:
    """Return the Verilog of a cell with so many write ports and these read ports.

    A read in the cycle of a write gives the old word.
    """
    ports = ["input clk"]
    logic: list[str] = []
    for k in range(writes):
        ports += [_input(f"write{k}_{part}") for part in ("en", "addr", "data")]
        logic.append(
            f"always @(posedge clk) if (write{k}_en) rows[write{k}_addr] <= write{k}_data;"
        )
    for k, comb in enumerate(combinational):
        read = f"read{k}"
        ports.append(_input(f"{read}_addr"))
        if comb:
            ports.append(f"output [WIDTH-1:0] {read}_data")
            logic.append(f"assign {read}_data = rows[{read}_addr];")
        else:
            ports += [_input(f"{read}_en"), f"output reg [WIDTH-1:0] {read}_data"]
            logic.append(f"always @(posedge clk) if ({read}_en) {read}_data <= rows[{read}_addr];")
    return "\n".join(
        [
            f"module {name} #(parameter WIDTH = 1, DEPTH = 2, ADDRESS = 1) (",
            ",\n".join(f"  {port}" for port in ports),
            ");",
            "  reg [WIDTH-1:0] rows [DEPTH-1:0];",
            "  initial rows[0] = 0;",
            *(f"  {line}" for line in logic),
            "endmodule\n",
        ]
    )


def _input(name: str) -> str:
    ranges = {"addr": "[ADDRESS-1:0] ", "data": "[WIDTH-1:0] "}
    return f"input {ranges.get(name.partition('_')[2], '')}{name}"
