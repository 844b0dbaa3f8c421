"""Runs a built tile on data: writes the job's files, starts the simulation, reads the results."""

import json
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
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.gates import Gates, open_gates
from fuseflow.samml.graph import Role, TensorDecl
from fuseflow.samml.image import TensorImage
from fuseflow.samml.streams import Kind, StreamType
from fuseflow.samml.tokens import Nested, Token, encode
from fuseflow.samml.units import UnitInstance
from gen.plan import ArrayPlan, Plan, count_register, instance, shape_register
from hw.layout import Widths, token_layout
from verif.build import Simulation
from verif.harness import TOP

Words = npt.NDArray[np.uint64]


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


def play(simulation: Simulation, plan: Plan, runs: Sequence[Run]) -> list[Record]:
    """Play runs one after the other in one simulation process.

    Raises
    ------
    ToolError
        The simulation itself failed; a run that does not end is a `Record`.
    """
    with tempfile.TemporaryDirectory(prefix="fuseflow-") as name:
        directory = Path(name)
        for number, run in enumerate(runs):
            _write_run(directory / f"run{number}", plan, run)
        job = {
            "start": [_address(plan, "control"), 1],
            "reads": {r.name: r.address for r in plan.registers if r.access.value != "wo"},
            "runs": [
                {
                    "writes": _shape_writes(plan, run),
                    "limit": run.limit,
                    "trace": run.trace,
                    "reset": run.reset,
                }
                for run in runs
            ],
        }
        (directory / "job.json").write_text(json.dumps(job))
        results = _simulate(simulation, directory)
        return [
            _read_run(directory / f"run{number}", plan, runs[number], result)
            for number, result in enumerate(results)
        ]


def _simulate(simulation: Simulation, directory: Path) -> list[dict[str, Any]]:
    log = directory / "sim.log"
    runner = get_runner("verilator")
    runner.log_file = None
    results = directory / "results.xml"
    try:
        runner.test(
            test_module="verif.bench",
            hdl_toplevel=TOP,
            hdl_toplevel_lang="verilog",
            build_dir=simulation.directory,
            test_dir=directory,
            results_xml=str(results),
            plusargs=[f"+job={directory}"],
            extra_env={"FUSEFLOW_JOB": str(directory / "job.json"), "COCOTB_ANSI_OUTPUT": "0"},
            log_file=log,
        )
        tests, failures = get_results(results)
    except (RuntimeError, SystemExit) as error:
        raise ToolError(f"the simulation did not run: {error}: {_tail(log)}") from None
    if tests == 0 or failures:
        raise ToolError(f"the simulation ran {tests} tests, {failures} failed: {_tail(log)}")
    return json.loads((directory / "results.json").read_text())


def _tail(log: Path) -> str:
    if not log.exists():
        return "no log"
    lines = log.read_text().splitlines()
    telling = [line for line in lines if "Error" in line or "%Fatal" in line] or lines[-1:]
    return telling[0].strip() if telling else "empty log"


def _address(plan: Plan, name: str) -> int:
    return next(register.address for register in plan.registers if register.name == name)


def _shape_writes(plan: Plan, run: Run) -> list[tuple[int, int]]:
    writes: list[tuple[int, int]] = []
    for tensor in plan.graph.tensors:
        shape = (
            run.images[tensor.name].shape if tensor.role == Role.INPUT else run.shapes[tensor.name]
        )
        for mode, size in enumerate(shape):
            writes.append((_address(plan, shape_register(tensor.name, mode)), int(size)))
    return writes


# --- files of a run ----------------------------------------------------------------------


def _write_run(directory: Path, plan: Plan, run: Run) -> None:
    directory.mkdir()
    for array in plan.arrays:
        if array.role == Role.INPUT:
            words = _array_of(array, run.images[array.tensor])
            for bank, copies in enumerate(array.banks):
                for memory in copies:
                    _write_hex(directory / f"{memory.name}.hex", words[bank :: len(array.banks)])
    gates = run.gates or open_gates(plan.units)
    _write_hex(directory / "room_gates.hex", gates.room)
    _write_hex(directory / "head_gates.hex", gates.head)
    counts: list[int] = []
    for unit in plan.units.units:
        if unit.kind == "source":
            tokens = _source_tokens(unit, plan.widths, run.streams[unit.node.name])
            _write_hex(directory / f"{instance('unit', unit.name)}.hex", tokens)
            counts.append(len(tokens))
        elif unit.kind == "sink":
            counts.append(run.sinks[unit.node.name])
    _write_hex(directory / "counts.hex", counts or [0])


def _array_of(array: ArrayPlan, image: TensorImage) -> Words:
    """Return the words of one array as unsigned bits of the array's width."""
    if array.level is None:
        words = image.vals
    else:
        stored = (image.segs if array.kind == "seg" else image.crds)[array.level]
        assert stored is not None
        words = stored
    mask = np.int64((1 << array.width) - 1)
    return (np.asarray(words, dtype=np.int64) & mask).astype(np.uint64)


def _write_hex(path: Path, words: Sequence[int] | Words) -> None:
    path.write_text("\n".join(f"{int(word):x}" for word in words) + "\n" if len(words) else "@0\n")


def _read_hex(path: Path) -> Words:
    """Read what ``$writememh`` wrote; words that were never written may stand as x."""
    lines = (line for line in path.read_text().split() if not line.startswith(("/", "@")))
    return np.array([int(line, 16) if line.isalnum() and "x" not in line else 0 for line in lines],
                    dtype=np.uint64)  # fmt: skip


def _source_tokens(unit: UnitInstance, widths: Widths, streams: list[Nested]) -> list[int]:
    stream = unit.bundles[0]
    return [
        pack(token, stream, widths) for nested in streams for token in encode(nested, stream.rank)
    ]


def pack(token: Token, stream: StreamType, widths: Widths) -> int:
    """Return a token as the bits of its layout."""
    layout = token_layout(stream, widths)
    word = token.close | token.empty << layout["empty"].offset
    if token.empty:
        return word
    bundle = layout["data"]
    for field_, value in zip(stream.fields, token.payload, strict=True):
        place = bundle.shape[field_.name]
        bits = 1 << (place.width - 1) if value is None else value & ((1 << place.width) - 1)
        word |= bits << (bundle.offset + place.offset)
    return word


def unpack(word: int, stream: StreamType, widths: Widths) -> Token:
    """Return the token whose layout's bits are given; the inverse of `pack`."""
    layout = token_layout(stream, widths)

    def bits(offset: int, width: int) -> int:
        return word >> offset & ((1 << width) - 1)

    empty = bits(layout["empty"].offset, layout["empty"].width)
    close = bits(layout["close"].offset, layout["close"].width)
    if empty:
        return Token(None, empty, close)
    bundle = layout["data"]
    payload: list[int | None] = []
    for field_ in stream.fields:
        place = bundle.shape[field_.name]
        value: int | None = bits(bundle.offset + place.offset, place.width)
        assert value is not None
        if field_.kind is Kind.REF and value >> (place.width - 1):
            value = None
        elif field_.kind is Kind.VAL and value >> (place.width - 1):
            value -= 1 << place.width
        payload.append(value)
    return Token(tuple(payload), empty, close)


# --- results -----------------------------------------------------------------------------


def _read_run(directory: Path, plan: Plan, run: Run, result: dict[str, Any]) -> Record:
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
            tensor.name: _result(directory, plan, tensor, run.shapes[tensor.name], registers)
            for tensor in plan.graph.tensors
            if tensor.role == Role.RESULT
        },
        events=_read_trace(directory / "trace.txt", plan) if run.trace else [],
    )


def _result(
    directory: Path,
    plan: Plan,
    tensor: TensorDecl,
    shape: tuple[int, ...],
    registers: Mapping[str, int],
) -> TensorImage:
    arrays = {array.name: array for array in plan.arrays if array.tensor == tensor.name}

    def words(name: str, count: int) -> Words:
        memory = arrays[name].banks[0][0]
        return _read_hex(directory / f"{memory.name}.hex")[:count]

    segs: list[Sequence[int] | None] = []
    crds: list[Sequence[int] | None] = []
    parents = 1
    for level, kind in enumerate(tensor.format.levels):
        if kind is LevelKind.DENSE:
            segs.append(None)
            crds.append(None)
            parents *= shape[tensor.format.order[level]]
            continue
        count = registers[count_register(tensor.name, f"crd{level}")]
        segs.append(words(f"seg{level}", parents + 1).astype(np.int64))
        crds.append(words(f"crd{level}", count).astype(np.int64))
        parents = count
    bits = plan.widths.val
    raw = words("val", registers[count_register(tensor.name, "val")]).astype(np.int64)
    vals = np.where(raw >> (bits - 1) & 1, raw - (1 << bits), raw)
    return TensorImage(shape, tuple(segs), tuple(crds), vals)


def _read_trace(path: Path, plan: Plan) -> list[EdgeEvents]:
    events = [EdgeEvents([], []) for _ in plan.units.edges]
    for line in path.read_text().splitlines():
        kind, number, cycle, *token = line.split()
        edge = plan.units.edges[int(number)]
        if kind == "i":
            events[int(number)].issues.append(int(cycle))
        else:
            word = int(token[0], 16)
            events[int(number)].pops.append((int(cycle), unpack(word, edge.type, plan.widths)))
    return events
