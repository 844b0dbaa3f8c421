"""The SystemVerilog harness around a tile: loads memories, watches every edge, dumps results.

All bulk data pass through files, so Python wakes only at the start and the end of a run:

* ``load`` high reads ``<job>/run<k>/<memory>.hex`` into every memory that the tile reads, the gate
  patterns and the token counts of sources and sinks, and clears the digests;
* ``dump`` high writes every memory that the tile writes and the digests of all edges;
* with ``record`` high every issue and pop is a line of ``<job>/run<k>/trace.txt``.

The digests are those of `fuseflow.samml.digest`.
"""

from typing import Any

from fuseflow.samml.digest import DIGEST_PRIME, DIGEST_START
from fuseflow.samml.gates import HEAD_PERIOD, ROOM_PERIOD
from gen.manifest import describe
from gen.plan import Plan

TOP = "ff_harness"


def harness(plan: Plan, inputs: dict[str, int], outputs: dict[str, int], *, gated: bool) -> str:
    """Return the harness of one tile as SystemVerilog.

    Parameters
    ----------
    plan : Plan
    inputs, outputs : dict of str to int
        The tile's AXI ports and their widths; they become ports of the harness.
    gated : bool
        Whether the tile was built with gates.
    """
    manifest = describe(plan, gated=gated)
    edges = manifest["edges"]
    counted = plan.bench_ports()
    count = len(edges)
    ports = [
        *(f"input {name} {_RW}" for name in ("clk", "rst", "load", "dump", "record")),
        f"input [31:0] run {_RW}",
        f"output reg finished {_RW}",
        *(f"input [{width - 1}:0] {name} {_RW}" for name, width in inputs.items()),
        *(f"output [{width - 1}:0] {name} {_RW}" for name, width in outputs.items()),
    ]
    pins = [f".{name}({name})" for name in ("clk", "rst", *inputs, *outputs)]
    pins += [".running(running)", ".cycle(cycle)", ".done(done)"]
    pins += [f".{port}(counts[{k}])" for k, port in enumerate(counted)]
    for number, edge in enumerate(edges):
        if edge["room_gate"]:
            pins.append(f".{edge['room_gate']}(room_gates[{number}])")
            pins.append(f".{edge['head_gate']}(head_gates[{number}])")
    watched = "\n".join(_watch(k, edge) for k, edge in enumerate(edges))
    written = _memories(manifest, "result")
    read = [*_memories(manifest, "input"), *(source["memory"] for source in manifest["sources"])]
    loads = "\n".join(_file_task("readmemh", path, f"dut.{path}") for path in read)
    dumps = "\n".join(_file_task("writememh", path, f"dut.{path}") for path in written)
    return f"""// Generated: the bench around {plan.top}.
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

  {plan.top} dut({", ".join(pins)});

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


def _memories(manifest: dict[str, Any], role: str) -> list[str]:
    """Return the Verilog names, below the tile, of the memories of all inputs or results."""
    return [
        copy["memory"]
        for array in manifest["arrays"]
        if array["role"] == role
        for copies in array["banks"]
        for copy in copies
    ]


def _file_task(task: str, stem: str, target: str) -> str:
    return f'    name = $sformatf("%s/run%0d/{stem}.hex", job, run);\n    ${task}(name, {target});'


def _watch(number: int, edge: dict[str, Any]) -> str:
    """Return the statements that watch one edge."""
    instance = f"dut.{edge['instance']}"
    token = f"{instance}.r__token"

    def bits(place: dict[str, int]) -> str:
        offset, width = place["offset"], place["width"]
        return f"64'({token}[{offset + width - 1}:{offset}])"

    empty, close = bits(edge["token"]["empty"]), bits(edge["token"]["close"])
    digest = f"mix(mix(pop_digest[{number}], 64'(cycle)), ({empty} << 8) | {close})"
    fields = digest
    for field in edge["token"]["fields"]:
        word = bits(field)
        if "null" in field:
            word = f"({token}[{field['null']}] ? '1 : {word})"
        fields = f"mix({fields}, {word})"
    return f"""      if ({instance}.w__issue) begin
        issued[{number}] <= issued[{number}] + 1;
        issue_digest[{number}] <= mix(issue_digest[{number}], 64'(cycle));
        if (file != 0) $fwrite(file, "i {number} %0d\\n", cycle);
      end
      if ({instance}.r__pop) begin
        pop_digest[{number}] <= ({empty} != 0) ? {digest} : {fields};
        if (file != 0) $fwrite(file, "p {number} %0d %h\\n", cycle, {token});
      end"""
