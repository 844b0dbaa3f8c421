"""Running the cycle model on a flattened graph."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fuseflow.samml.digest import MASK
from fuseflow.samml.errors import SimulationError
from fuseflow.samml.gates import Gates
from fuseflow.samml.image import TensorImage
from fuseflow.samml.tokens import Nested
from fuseflow.samml.units import UnitEdge, UnitGraph
from sim_models.cycle import layout as at
from sim_models.cycle.build import Builder, Ideal
from sim_models.cycle.deadlock import explain, waits
from sim_models.cycle.grow import grow_ring, grow_rows
from sim_models.cycle.heap import Words
from sim_models.cycle.jit import link
from sim_models.cycle.kernel import run
from sim_models.cycle.result import CycleResult, EdgeReport, EdgeTrace, UnitReport
from sim_models.cycle.touched import A_SIZE
from sim_models.cycle.units import SINK, WRITE_CRD, WRITE_VAL
from sim_models.cycle.words import field_type, words_of
from sim_models.periods.skip import ClosedForm, Periods
from sim_models.primitives.accumulate import P_BLOCK
from sim_models.primitives.write_crd import P_CRD, P_SEG, S_CRDS, S_SEGS
from sim_models.primitives.write_val import P_VALS, S_COUNT
from sim_models.results import result_images
from sim_models.storage import Flags, Shapes, Storage


def simulate(
    graph: UnitGraph,
    images: Mapping[str, TensorImage],
    shapes: Shapes,
    *,
    gates: Gates | None = None,
    streams: Mapping[str, Sequence[Nested]] | None = None,
    ideal: Ideal = None,
    digests: bool = True,
    trace: bool = False,
    limit: int | None = None,
    closed: ClosedForm | None = None,
) -> CycleResult:
    """Run a graph on the cycle model.

    Parameters
    ----------
    graph : UnitGraph
        From `fuseflow.samml.units.flatten`.
    images : mapping of str to TensorImage
        The input tensors.
    shapes : mapping of str to tuple of int
        The run-time shapes of the result tensors.
    gates : Gates, optional
        Back-pressure.
    streams : mapping of str to sequence of Nested, optional
        For every source, the nested lists of its consecutive streams.
    ideal : {None, 'unlimited', 'banks'}
        ``unlimited``: edges never block, latencies are 1, accumulators have as many banks
        as they need.  ``banks``: the same with the graph's own banks.
    digests : bool
        Compute the digests of every edge.
    trace : bool
        Record every token of every edge; runs the graph twice.
    limit : int, optional
        Give up where a unit would fire in a later cycle.
    closed : ClosedForm, optional
        Skip what repeats. Words that are written after something was skipped are not right, and
        there are no digests.

    Returns
    -------
    CycleResult

    Raises
    ------
    DeadlockError
        Units wait for each other, or for a stream that ends early.
    SimulationError
        A stream broke the token rules, or the limit was passed.
    TensorError
        An image or a shape is missing.
    """
    storage = Storage.of(graph.graph, images, shapes)
    streams = streams or {}
    missing = [
        unit.name for unit in graph.units if unit.kind == "source" and unit.name not in streams
    ]
    if missing:
        raise SimulationError(f"source '{missing[0]}': no streams were given for it")

    def build() -> Builder:
        built = Builder(graph, storage, streams, ideal)
        built.set_gates(gates)
        built.set_options(digests=digests, limit=limit)
        return built

    run_of = build()
    if closed is not None and (gates, trace, digests, limit) != (None, False, False, None):
        raise SimulationError("a closed form has no gates, traces, digests and limit")
    periods = None if closed is None else Periods(run_of, closed)
    _run(run_of, periods)
    if trace:
        issued = [int(run_of.heap.words[offset + at.E_ISSUED]) for offset in run_of.edges]
        run_of = build()
        for offset, count in zip(run_of.edges, issued, strict=True):
            stride = int(run_of.heap.words[offset + at.E_STRIDE])
            block = run_of.heap.reserve(max(1, count * stride))
            run_of.heap.words[offset + at.E_TRACE] = block
        _run(run_of)
    result = _collect(run_of, traced=trace, digests=digests)
    if periods is None or periods.written is None:
        return result
    return replace(result, skipped=periods.skipped, right=periods.written)


# --- running ---------------------------------------------------------------------------


def _run(build: Builder, periods: Periods | None = None) -> None:
    kernel = link(run)
    while True:
        kernel(build.heap.words)
        match int(build.heap.words[at.STATUS]):
            case at.STOP_ROWS:
                _resume_with_rows(build)
            case at.STOP_PAUSED:
                assert periods is not None
                unit = int(build.heap.words[at.STATUS_UNIT])
                periods.paused(unit)
                _resume_first(build, unit)
            case at.STOP_BROKEN:
                raise SimulationError(
                    f"unit '{_stopped(build)}': its input streams do not belong together; "
                    "check the levels of the edges that it reads"
                )
            case at.STOP_LIMIT:
                raise SimulationError(
                    f"unit '{_stopped(build)}' would fire past cycle "
                    f"{build.heap.words[at.LIMIT]}; raise the limit or look for a stall"
                )
            case _:
                if _finished(build):
                    return
                if not _grow_rings(build):
                    raise explain(build, build.graph)


def _stopped(build: Builder) -> str:
    offset = int(build.heap.words[at.STATUS_UNIT])
    return build.graph.units[build.units.index(offset)].name


def _enqueue(build: Builder, units: Sequence[int]) -> None:
    """Refill the queue, which is not necessarily empty."""
    words = build.heap.words
    queue, size = int(words[at.QUEUE]), int(words[at.QUEUE_SIZE])
    for unit in units:
        if not words[unit + at.U_QUEUED]:
            end = (int(words[at.QUEUE_HEAD]) + int(words[at.QUEUE_COUNT])) % size
            words[queue + end] = unit
            words[unit + at.U_QUEUED] = 1
            words[at.QUEUE_COUNT] += 1


def _resume_with_rows(build: Builder) -> None:
    unit = int(build.heap.words[at.STATUS_UNIT])
    block = int(build.heap.words[unit + P_BLOCK])
    grow_rows(build.heap, block, 2 * int(build.heap.words[block + A_SIZE]) + 1)
    build.heap.words[at.STATUS] = 0
    _enqueue(build, [unit])


def _resume_first(build: Builder, unit: int) -> None:
    """Let a unit go on at once, as if it had not paused."""
    words = build.heap.words
    size = int(words[at.QUEUE_SIZE])
    first = (int(words[at.QUEUE_HEAD]) - 1) % size
    words[at.QUEUE_HEAD] = first
    words[at.QUEUE_COUNT] += 1
    words[int(words[at.QUEUE]) + first] = unit
    words[unit + at.U_QUEUED] = 1
    words[at.STATUS] = 0


def _grow_rings(build: Builder) -> bool:
    """Double the rings of unbounded edges that a unit waits for; False where there are none."""
    words = build.heap.words
    writers: list[int] = []
    for u, edges in waits(build).items():
        for k in edges:
            edge = build.edges[k]
            unbounded = words[edge + at.E_DEPTH] == at.UNBOUNDED
            full = words[edge + at.E_ISSUED] - words[edge + at.E_POPPED] >= words[edge + at.E_LIMIT]
            if build.graph.edges[k].writer == u and unbounded and full:
                grow_ring(build.heap, edge)
                words = build.heap.words
                writers.append(build.units[u])
    _enqueue(build, writers)
    return bool(writers)


def _ends(build: Builder) -> list[tuple[int, int]]:
    """Return, for every writer and sink, how many streams are missing and when the last ended."""
    words = build.heap.words
    streams: list[int] = []
    ends: list[tuple[int, int]] = []
    for unit, offset in zip(build.graph.units, build.units, strict=True):
        above = [streams[build.graph.edges[k].writer] for k in unit.reads]
        played = len(build.streams[unit.name]) if unit.kind == "source" else 1
        streams.append(max(above, default=played))
        if words[offset + at.U_KIND] in (SINK, WRITE_CRD, WRITE_VAL):
            missing = streams[-1] - int(words[offset + at.U_ENDS])
            ends.append((missing, int(words[offset + at.U_END])))
    return ends


def _finished(build: Builder) -> bool:
    """Tell whether every stream has ended and every edge is empty."""
    words = build.heap.words
    return all(missing == 0 for missing, _ in _ends(build)) and all(
        words[edge + at.E_ISSUED] == words[edge + at.E_POPPED] for edge in build.edges
    )


# --- collecting ------------------------------------------------------------------------


def _collect(build: Builder, *, traced: bool, digests: bool) -> CycleResult:
    words = build.heap.words
    traces = {
        edge.name: _trace(build, edge, offset)
        for edge, offset in zip(build.graph.edges, build.edges, strict=True)
        if traced
    }
    return CycleResult(
        cycles=max((end for _, end in _ends(build)), default=-1) + 1,
        units=tuple(
            UnitReport(
                unit.name, unit.kind, int(words[offset + at.U_FIRINGS]),
                int(words[offset + at.U_LAST]), int(words[offset + at.U_BANK]),
                int(words[offset + at.U_COORDINATE]),
            )
            for unit, offset in zip(build.graph.units, build.units, strict=True)
        ),
        edges=tuple(
            _edge_report(build, edge, offset, traces.get(edge.name), digests=digests)
            for edge, offset in zip(build.graph.edges, build.edges, strict=True)
        ),
        outputs=_outputs(build),
        flags=Flags(
            overflow=bool(words[at.OVERFLOW]),
            range=bool(words[at.RANGE]),
            capacity=bool(words[at.CAPACITY]),
        ),
        traces=traces,
    )  # fmt: skip


def _edge_report(
    build: Builder, edge: UnitEdge, offset: int, trace: EdgeTrace | None, *, digests: bool
) -> EdgeReport:
    word = {
        name: int(build.heap.words[offset + number])
        for name, number in (
            ("tokens", at.E_ISSUED), ("missing", at.E_MISSING), ("head_gated", at.E_HEAD_GATED),
            ("full", at.E_FULL), ("room_gated", at.E_ROOM_GATED),
        )
    }  # fmt: skip
    high: int | None = int(build.heap.words[offset + at.E_HIGH])
    if build.ideal is not None:
        high = trace.high_water() if trace else None
    issue, pop = (
        int(build.heap.words[offset + number]) & MASK if digests else 0
        for number in (at.E_ISSUE_DIGEST, at.E_POP_DIGEST)
    )
    return EdgeReport(name=edge.name, high_water=high, issue_digest=issue, pop_digest=pop, **word)


def _trace(build: Builder, edge: UnitEdge, offset: int) -> EdgeTrace:
    words = build.heap.words
    count, stride = int(words[offset + at.E_ISSUED]), int(words[offset + at.E_STRIDE])
    block = int(words[offset + at.E_TRACE])
    rows = build.heap.read(block, count * stride).reshape(count, stride)
    fields = rows[:, at.S_FIELDS :].copy()
    for column, field in enumerate(edge.type.fields):
        value = field_type(build.value, field.kind)
        if value is not None:
            fields[:, column] = words_of(value, fields[:, column])
    return EdgeTrace(
        type=edge.type,
        issue=rows[:, at.S_READY] - words[offset + at.E_LATENCY],
        pop=rows[:, at.S_POP].copy(),
        empty=rows[:, at.S_SHAPE] >> 8,
        close=rows[:, at.S_SHAPE] & 255,
        fields=fields,
    )


def _outputs(build: Builder) -> dict[str, TensorImage]:
    words = build.heap.words
    arrays: dict[tuple[str, int, str], list[int]] = {}

    def stored(unit: int, array: int, count: int) -> Words:
        return build.heap.read(int(words[unit + array]), int(words[unit + count]))

    for unit, offset in zip(build.graph.units, build.units, strict=True):
        params = unit.node.params
        tensor, level = str(params.get("tensor")), params.get("level")
        if unit.kind == "write_val":
            vals = stored(offset, P_VALS, S_COUNT)
            arrays[tensor, -1, "val"] = words_of(build.value, vals).tolist()
        elif unit.kind == "write_crd":
            assert isinstance(level, int)
            arrays[tensor, level, "seg"] = [0, *stored(offset, P_SEG, S_SEGS).tolist()]
            arrays[tensor, level, "crd"] = stored(offset, P_CRD, S_CRDS).tolist()
    return result_images(build.storage, arrays)
