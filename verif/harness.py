"""The SystemVerilog harness around a tile: loads memories, watches every edge, dumps results.

All bulk data pass through files, so Python wakes only at the start and the end of a run:

* ``load`` high reads ``<job>/run<k>/<memory>.hex`` into every memory, the gate patterns and the
  token counts of sources and sinks, and clears the digests;
* ``dump`` high writes every memory that the tile writes and the digests of all edges;
* with ``record`` high every issue and pop is a line of ``<job>/run<k>/trace.txt``.

The digests are those of `fuseflow.samml.digest`.
"""

from dataclasses import dataclass

from amaranth.lib import data

from fuseflow.samml.digest import DIGEST_PRIME, DIGEST_START
from fuseflow.samml.gates import HEAD_PERIOD, ROOM_PERIOD
from fuseflow.samml.streams import Kind
from fuseflow.samml.units import UnitEdge, UnitGraph
from hw.layout import Widths, token_layout

TOP = "ff_harness"


@dataclass(frozen=True)
class Memory:
    """A memory array inside the tile.

    Attributes
    ----------
    name : str
        Stem of its file.
    path : str
        Hierarchical Verilog name below the tile.
    written : bool
        Whether the tile writes it; only then it is dumped.
    """

    name: str
    path: str
    written: bool


def harness(
    tile: str,
    units: UnitGraph,
    memories: list[Memory],
    inputs: dict[str, int],
    outputs: dict[str, int],
    *,
    gated: bool,
) -> str:
    """Return the harness of one tile as SystemVerilog.

    Parameters
    ----------
    tile : str
        Name of the tile's Verilog module.
    units : UnitGraph
    memories : list of Memory
    inputs, outputs : dict of str to int
        The tile's AXI ports and their widths; they become ports of the harness.
    gated : bool
        Whether the tile was built with gates.
    """
    count = len(units.edges)
    counted = [u.node.name for u in units.units if u.kind in ("source", "sink")]
    ports = [
        *(f"input {name} {_RW}" for name in ("clk", "rst", "load", "dump", "record")),
        f"input [31:0] run {_RW}",
        f"output reg finished {_RW}",
        *(f"input [{width - 1}:0] {name} {_RW}" for name, width in inputs.items()),
        *(f"output [{width - 1}:0] {name} {_RW}" for name, width in outputs.items()),
    ]
    pins = [f".{name}({name})" for name in ("clk", "rst", *inputs, *outputs)]
    pins += [".running(running)", ".cycle(cycle)", ".done(done)"]
    pins += [
        f".{name}_{_COUNT[kind]}(counts[{k}])" for k, (name, kind) in enumerate(_counted(units))
    ]
    if gated:
        for number, edge in enumerate(units.edges):
            if edge.gated:
                pins.append(f".gate_room_{number}(room_gates[{number}])")
                pins.append(f".gate_head_{number}(head_gates[{number}])")
    watched = "\n".join(
        _watch(k, edge, Widths.of(units.graph)) for k, edge in enumerate(units.edges)
    )
    loads = "\n".join(_file_task("readmemh", m.name, f"dut.{m.path}") for m in memories)
    dumps = "\n".join(
        _file_task("writememh", m.name, f"dut.{m.path}") for m in memories if m.written
    )
    return f"""// Generated: the bench around {tile}.
module {TOP}(
  {(f",{chr(10)}  ").join(ports)}
);
  localparam logic [63:0] PRIME = 64'h{DIGEST_PRIME:x};
  wire running, done;
  wire [47:0] cycle;
  reg was_done;
  reg [31:0] counts [0:{max(1, len(counted)) - 1}];
  reg [{ROOM_PERIOD - 1}:0] room_gates [0:{max(1, count) - 1}];
  reg [{HEAD_PERIOD - 1}:0] head_gates [0:{max(1, count) - 1}];
  reg [63:0] issued [0:{max(1, count) - 1}];
  reg [63:0] issue_digest [0:{max(1, count) - 1}];
  reg [63:0] pop_digest [0:{max(1, count) - 1}];
  string job, name;
  integer file;

  {tile} dut({", ".join(pins)});

  function automatic logic [63:0] mix(input logic [63:0] digest, input logic [63:0] word);
    mix = (digest ^ word) * PRIME;
  endfunction

  initial begin
    file = 0;
    if (!$value$plusargs("job=%s", job)) $fatal(1, "no +job");
  end

  always @(posedge load) begin
{_file_task("readmemh", "counts", "counts")}
{_file_task("readmemh", "room_gates", "room_gates")}
{_file_task("readmemh", "head_gates", "head_gates")}
{loads}
    if (file != 0) $fclose(file);
    file = 0;
    if (record) begin
      name = $sformatf("%s/run%0d/trace.txt", job, run);
      file = $fopen(name, "w");
    end
  end

  always @(posedge dump) begin
{dumps}
{_file_task("writememh", "issued", "issued")}
{_file_task("writememh", "issue_digest", "issue_digest")}
{_file_task("writememh", "pop_digest", "pop_digest")}
    if (file != 0) $fclose(file);
    file = 0;
  end

  // `finished` stays high from the end of a run to the next load.
  always @(posedge clk) begin
    was_done <= done;
    if (load) finished <= 0;
    else if (done && !was_done) finished <= 1;
  end

  always @(posedge clk) begin
    if (load) for (int k = 0; k < {count}; k++) begin
      issued[k] <= 0;
      issue_digest[k] <= 64'h{DIGEST_START:x};
      pop_digest[k] <= 64'h{DIGEST_START:x};
    end else if (running) begin
{watched}
    end
  end
endmodule
"""


_RW = "/* verilator public_flat_rw */"
_COUNT = {"source": "count", "sink": "streams"}


def _counted(units: UnitGraph) -> list[tuple[str, str]]:
    """Return name and kind of every source and sink, in unit order."""
    return [(u.node.name, u.kind) for u in units.units if u.kind in _COUNT]


def _file_task(task: str, stem: str, target: str) -> str:
    return f'    name = $sformatf("%s/run%0d/{stem}.hex", job, run);\n    ${task}(name, {target});'


def _watch(number: int, edge: UnitEdge, widths: Widths) -> str:
    """Return the statements that watch one edge."""
    layout = token_layout(edge.type, widths)
    instance = "dut.edge_" + edge.name.replace(".", "_")
    token = f"{instance}.r__token"

    def bits(offset: int, width: int) -> str:
        return f"64'({token}[{offset + width - 1}:{offset}])"

    def part(name: str) -> tuple[int, int]:
        return layout[name].offset, layout[name].width

    digest = f"mix(mix(pop_digest[{number}], 64'(cycle)), ({bits(*part('empty'))} << 8) | {bits(*part('close'))})"
    fields = digest
    bundle = layout["data"]
    for field in edge.type.fields:
        assert isinstance(bundle.shape, data.StructLayout)
        place = bundle.shape[field.name]
        offset = bundle.offset + place.offset
        if field.kind is Kind.REF:
            null = f"{token}[{offset + place.width - 1}]"
            word = f"({null} ? '1 : {bits(offset, place.width - 1)})"
        else:
            word = bits(offset, place.width)
        fields = f"mix({fields}, {word})"
    return f"""      if ({instance}.w__issue) begin
        issued[{number}] <= issued[{number}] + 1;
        issue_digest[{number}] <= mix(issue_digest[{number}], 64'(cycle));
        if (file != 0) $fwrite(file, "i {number} %0d\\n", cycle);
      end
      if ({instance}.r__pop) begin
        pop_digest[{number}] <= ({bits(*part("empty"))} != 0) ? {digest} : {fields};
        if (file != 0) $fwrite(file, "p {number} %0d %h\\n", cycle, {token});
      end"""
