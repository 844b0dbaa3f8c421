"""Runs a built tile on data: writes the job's files, starts the simulation, reads the results."""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from fuseflow.samml.errors import ToolError
from fuseflow.samml.files import writing
from fuseflow.samml.gates import Gates, open_gates
from fuseflow.samml.image import TensorImage
from fuseflow.samml.tokens import Nested, Token, encode
from gen import host
from gen.manifest import describe
from gen.plan import Access, Plan, count_register
from gen.tokens import pack, unpack
from verif.build import Simulation
from verif.harness import TOP

Words = npt.NDArray[np.uint64]
WAVES = "waves.vcd"


@dataclass(frozen=True)
class Run:
    """One run of a tile.

    Attributes
    ----------
    images : mapping of str to TensorImage
        Every input.
    shapes : mapping of str to tuple of int
        Run-time shape of every result.
    streams : mapping of str to list of Nested
        For every source node, the streams it plays back to back.
    sinks : mapping of str to int
        For every sink node, how many streams it takes.
    gates : Gates or None
        Only for a tile built with gates.
    limit : int
        Cycles after which the run has failed.
    trace : bool
        Whether to record every issue and pop.
    reset : bool
        Whether to reset the tile first; it is not needed.
    """

    images: Mapping[str, TensorImage]
    shapes: Mapping[str, tuple[int, ...]]
    limit: int
    streams: Mapping[str, list[Nested]] = field(default_factory=dict[str, list[Nested]])
    sinks: Mapping[str, int] = field(default_factory=dict[str, int])
    gates: Gates | None = None
    trace: bool = False
    reset: bool = False


@dataclass(frozen=True)
class EdgeEvents:
    """What happened on one edge: cycles of issue, and cycle and token of every pop."""

    issues: list[int]
    pops: list[tuple[int, Token]]


@dataclass(frozen=True)
class Record:
    """What the RTL did in one run.

    Attributes
    ----------
    finished : bool
        False where the run reached its limit.
    cycles, error : int
    overflow : bool
    seconds : float
        Wall time from start to done.
    issued, issue_digest, pop_digest : Words
        Per edge.
    outputs : dict of str to TensorImage
        Every result, as far as it was written.
    events : list of EdgeEvents
        Per edge; empty without a trace.
    """

    finished: bool
    cycles: int
    error: int
    overflow: bool
    seconds: float
    issued: Words
    issue_digest: Words
    pop_digest: Words
    outputs: dict[str, TensorImage]
    events: list[EdgeEvents]


def play(
    simulation: Simulation, plan: Plan, runs: Sequence[Run], *, waves: Path | None = None
) -> list[Record]:
    """Play runs one after the other in one simulation process.

    Parameters
    ----------
    simulation : Simulation
    plan : Plan
    runs : sequence of Run
    waves : Path, optional
        Where the waves of all runs go, as VCD; also of a simulation that fails.

    Raises
    ------
    ToolError
        The simulation itself failed; a run that does not end is a `Record`.
    """
    manifest = describe(plan, gated=False)
    with tempfile.TemporaryDirectory(prefix="fuseflow-") as name:
        directory = Path(name)
        for number, run in enumerate(runs):
            _write_run(directory / f"run{number}", plan, manifest, run)
        job = {
            "start": [host.register(manifest, "control"), 1],
            "reads": {r.name: r.address for r in plan.registers if r.access is not Access.WRITE},
            "runs": [
                {
                    "writes": _shape_writes(manifest, run),
                    "limit": run.limit,
                    "trace": run.trace,
                    "reset": run.reset,
                }
                for run in runs
            ],
        }
        path = directory / "job.json"
        path.write_text(json.dumps(job))
        try:
            simulate(simulation, directory, "verif.bench", {"FUSEFLOW_JOB": str(path)})
        finally:
            if waves is not None and (directory / WAVES).exists():
                with writing(waves) as target, (directory / WAVES).open("rb") as source:
                    shutil.copyfileobj(source, target)
        results = json.loads((directory / "results.json").read_text())
        return [
            _read_run(directory / f"run{number}", manifest, runs[number], result)
            for number, result in enumerate(results)
        ]


def simulate(simulation: Simulation, directory: Path, module: str, env: Mapping[str, str]) -> None:
    """Run the cocotb tests of a module on a built simulation.

    Parameters
    ----------
    simulation : Simulation
    directory : Path
        Where the simulation runs; its files are left there, waves as `WAVES`.
    module : str
        Dotted name of the module.
    env : mapping of str to str
        Variables that the tests find in their environment.

    Raises
    ------
    ToolError
        The simulation did not run, ran no test, or a test failed.
    """
    log = directory / "sim.log"
    runner = get_runner("verilator")
    runner.log_file = None
    results = directory / "results.xml"
    try:
        runner.test(
            test_module=module,
            hdl_toplevel=TOP,
            hdl_toplevel_lang="verilog",
            build_dir=simulation.directory,
            test_dir=directory,
            results_xml=str(results),
            plusargs=[f"+job={directory}"],
            extra_env={"COCOTB_ANSI_OUTPUT": "0", **env},
            log_file=log,
            test_args=["--trace", "--trace-file", WAVES] if simulation.traceable else [],
        )
        tests, failures = get_results(results)
    except (RuntimeError, SystemExit) as error:
        raise ToolError(f"the simulation did not run: {error}: {_tail(log)}") from None
    if tests == 0 or failures:
        raise ToolError(f"the simulation ran {tests} tests, {failures} failed: {_tail(log)}")


def _tail(log: Path) -> str:
    if not log.exists():
        return "no log"
    lines = log.read_text().splitlines()
    telling = [line for line in lines if "Error" in line or "%Fatal" in line] or lines[-1:]
    return telling[0].strip() if telling else "empty log"


def _shape_writes(manifest: host.Manifest, run: Run) -> list[tuple[int, int]]:
    shapes = {name: image.shape for name, image in run.images.items()} | dict(run.shapes)
    return [
        write
        for tensor in manifest["tensors"]
        for write in host.shape_writes(manifest, tensor["name"], shapes[tensor["name"]])
    ]


# --- files of a run ----------------------------------------------------------------------


def _write_run(directory: Path, plan: Plan, manifest: host.Manifest, run: Run) -> None:
    directory.mkdir()
    for name, image in run.images.items():
        for memory, words in host.contents(manifest, name, image).items():
            _write_hex(directory / f"{memory}.hex", words)
    gates = run.gates or open_gates(plan.units)
    _write_hex(directory / "room_gates.hex", gates.room)
    _write_hex(directory / "head_gates.hex", gates.head)
    counts = {sink["port"]: run.sinks[sink["node"]] for sink in manifest["sinks"]}
    for source in manifest["sources"]:
        tokens = _source_tokens(source["token"], run.streams[source["node"]])
        _write_hex(directory / f"{source['memory']}.hex", tokens)
        counts[source["port"]] = len(tokens)
    _write_hex(directory / "counts.hex", [counts[port] for port in plan.bench_ports()] or [0])


def _write_hex(path: Path, words: Sequence[int] | host.Words) -> None:
    path.write_text("\n".join(f"{int(word):x}" for word in words) + "\n" if len(words) else "@0\n")


def _read_hex(path: Path) -> Words:
    """Read what ``$writememh`` wrote; words that were never written may stand as x."""
    lines = (line for line in path.read_text().split() if not line.startswith(("/", "@")))
    return np.array([int(line, 16) if line.isalnum() and "x" not in line else 0 for line in lines],
                    dtype=np.uint64)  # fmt: skip


def _source_tokens(described: Mapping[str, Any], streams: list[Nested]) -> list[int]:
    return [
        pack(token, described) for nested in streams for token in encode(nested, described["rank"])
    ]


# --- results -----------------------------------------------------------------------------


def _read_run(directory: Path, manifest: host.Manifest, run: Run, result: dict[str, Any]) -> Record:
    registers = result["registers"]
    status = registers["status"]
    return Record(
        finished=result["finished"],
        cycles=registers["cycles_hi"] << 32 | registers["cycles_lo"],
        error=registers["error"],
        overflow=bool(status & 4),
        seconds=result["seconds"],
        issued=_read_hex(directory / "issued.hex"),
        issue_digest=_read_hex(directory / "issue_digest.hex"),
        pop_digest=_read_hex(directory / "pop_digest.hex"),
        outputs={
            name: _result(directory, manifest, name, shape, registers)
            for name, shape in run.shapes.items()
        },
        events=_read_trace(directory / "trace.txt", manifest["edges"]) if run.trace else [],
    )


def _result(
    directory: Path,
    manifest: host.Manifest,
    tensor: str,
    shape: tuple[int, ...],
    registers: Mapping[str, int],
) -> TensorImage:
    arrays = {array["name"]: array for array in host.arrays(manifest, tensor)}
    counts = {
        name: registers[count_register(tensor, name)] for name in host.count_reads(manifest, tensor)
    }
    words: dict[str, Words] = {}
    for name, count in host.result_words(manifest, tensor, shape, counts).items():
        memory = arrays[name]["banks"][0][0]["memory"]
        words[name] = _read_hex(directory / f"{memory}.hex")[:count]
    return host.image(manifest, tensor, shape, words)


def _read_trace(path: Path, edges: Sequence[Mapping[str, Any]]) -> list[EdgeEvents]:
    events = [EdgeEvents([], []) for _ in edges]
    for line in path.read_text().splitlines():
        kind, number, cycle, *token = line.split()
        if kind == "i":
            events[int(number)].issues.append(int(cycle))
        else:
            popped = unpack(int(token[0], 16), edges[int(number)]["token"])
            events[int(number)].pops.append((int(cycle), popped))
    return events
