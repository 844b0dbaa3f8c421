"""accumulate: folds an outer level while keeping one or two inner levels."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from fuseflow.samml.catalog import fold_latency
from fuseflow.samml.graph import Extent
from sim_models.arithmetic import Fold, numbers
from sim_models.cycle.arith import combine, convert
from sim_models.cycle.edges import fail, head, issue, pop, slot
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import (
    E_POPPED,
    RANGE,
    S_FIELDS,
    S_POP,
    S_SHAPE,
    STATUS,
    STATUS_UNIT,
    STOP_ROWS,
    U_BANK,
    U_BUNDLES,
    U_COORDINATE,
    U_PARAMS,
    U_PORTS,
    U_READS,
    U_STATE,
    U_WAIT,
    Memory,
)
from sim_models.cycle.touched import (
    A_COUNT,
    A_HEAD,
    A_SIZE,
    A_TIMES,
    A_VALS,
    drain,
    drain_dense,
    fits,
    is_touched,
    stored,
    touch,
)
from sim_models.cycle.words import fold_words, form
from sim_models.ragged import Mask, Ragged, Words, check_aligned, distinct, owners
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

# fmt: off
(
    P_KEPT, P_BLOCK, P_INNER, P_OUTER, P_DENSE, P_ADDER, P_BANKS,
    P_OP, P_OF, P_INSIDE, P_FIRST, P_NOTHING,
) = range(U_PARAMS, U_PARAMS + 12)
# fmt: on
P_STORED, P_TO = U_PARAMS + 3, U_PARAMS + 4
S_OPEN, S_ROWS = U_STATE, U_STATE + 1
S_SENT = U_STATE


# --- golden meaning --------------------------------------------------------------------


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Fold every row's payloads by coordinate."""
    crds, vals = inputs["crd"], inputs["val"]
    check_aligned(crds.rank, crds, vals)
    fold = Fold.of(node.params, node.value, node.inputs["val"].fields[0].kind, node.flags)
    sizes = [node.storage.size(extent) for extent in node.params["size"]]
    above = crds.lengths[: -1 - len(sizes)]
    rows = crds.lengths[len(above)]
    keys, inside = _keys(rows, sizes, inputs)
    node.flags.range |= not inside.all()
    keys, addends = keys[inside], numbers(fold.addend, vals.fields[0][inside])
    dense = node.params["mode"] == "dense"
    touched = np.arange(len(rows) * sizes[-1]) if dense else distinct(keys)
    groups = np.searchsorted(touched, keys)
    totals = fold.totals(addends, groups, len(touched))
    untouched = np.bincount(groups, minlength=len(touched)) == 0
    val = fold.words(np.where(untouched, fold.nothing, totals))
    outer, crd = np.divmod(touched, sizes[-1])
    if len(sizes) == 1:
        counts = np.bincount(outer, minlength=len(rows))
        return {"out": Ragged((*above, counts), np.stack([crd, val]))}
    outer, counts = np.unique(outer, return_counts=True)
    row, outer_crd = np.divmod(outer, sizes[0])
    levels = (*above, np.bincount(row, minlength=len(rows)))
    return {
        "outer": Ragged(levels, outer_crd[np.newaxis]),
        "out": Ragged((*levels, counts), np.stack([crd, val])),
    }


def _keys(rows: Words, sizes: list[int], inputs: Mapping[str, Ragged]) -> tuple[Words, Mask]:
    """Return where each payload goes, by row and kept coordinates, and whether that exists."""
    keys, inside = owners(rows), np.ones(rows.sum(), np.bool_)
    for port, size in zip(("outer", "crd")[-len(sizes) :], sizes, strict=True):
        check_aligned(inputs[port].rank, inputs[port], inputs["crd"])
        fibers, (crd,) = inputs[port].fibers(), inputs[port].fields
        keys, inside = keys[fibers] * size + crd, inside[fibers] & (crd < size)
    return keys, inside


# --- cycle model -----------------------------------------------------------------------


def setup_fill(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return how a row is folded, and where."""
    params = unit.node.params
    kept, banks = params["kept"], params["banks"]
    assert isinstance(kept, int)
    assert isinstance(banks, int)
    sizes = _sizes(unit, build)
    adder = 1 if build.ideal else fold_latency(params, build.value)
    kind = build.graph.edges[unit.reads[1]].type.fields[0].kind
    return (
        kept,
        build.accumulator(unit.node.name, prod(sizes), timed=adder > 1),
        sizes[-1],
        sizes[0] if kept == 2 else 1,
        int(params["mode"] == "dense"),
        adder,
        0 if build.ideal == "unlimited" else banks,
        *fold_words(build.value, str(params["op"]), kind),
    )


def setup_emit(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return how many levels are kept, where the rows are, the inner size, and two forms."""
    kept, value = unit.node.params["kept"], build.value
    assert isinstance(kept, int)
    sizes = _sizes(unit, build)
    return (
        kept,
        build.accumulator(unit.node.name, prod(sizes), timed=False),
        sizes[-1],
        form(value.wide if unit.node.params["op"] == "sum" else value),
        form(value.wide if unit.node.params["wide"] else value),
    )


def _sizes(unit: UnitInstance, build: Builder) -> list[int]:
    extents = unit.node.params["size"]
    assert isinstance(extents, tuple)
    return [build.size(extent) for extent in extents if isinstance(extent, Extent)]


@compiled
def step_fill(m: Memory, u: int) -> None:
    """Fire once an input token."""
    kept = m[u + P_KEPT]
    crds, vals, outers = m[u + U_READS], m[u + U_READS + 1], m[u + U_READS + 2]
    while True:
        c = head(m, u, crds)
        if c == 0:
            return
        v = head(m, u, vals)
        if v == 0:
            return
        o = head(m, u, outers) if kept == 2 else c
        if o == 0:
            return
        shape = m[c + S_SHAPE]
        if m[v + S_SHAPE] != shape or (kept == 2 and not _outer_fits(shape, m[o + S_SHAPE])):
            fail(m, u)
            return
        key = _key(m, u, c, o) if shape < 256 else -1
        t = _fire_fill(m, u, kept, shape, key)
        if t < 0:
            return
        if key >= 0:
            _add_at(m, u, t, key, m[v + S_FIELDS])
        pop(m, crds, t)
        pop(m, vals, t)
        if kept == 2 and shape & 255 >= 1:
            pop(m, outers, t)
        if shape & 255 > kept:
            _end_row(m, u, t, kept, shape)
        else:
            m[u + S_OPEN] = 1


@compiled
def _outer_fits(shape: int, outer: int) -> bool:
    empty, close = shape >> 8, shape & 255
    return close == 0 or outer == (max(empty - 1, 0) << 8 | close - 1)


@compiled
def _key(m: Memory, u: int, c: int, o: int) -> int:
    """Return where a payload is added; -1, and the range flag, where that is nowhere."""
    crd = m[c + S_FIELDS]
    outer = m[o + S_FIELDS] if m[u + P_KEPT] == 2 else 0
    if crd >= m[u + P_INNER] or outer >= m[u + P_OUTER]:
        m[RANGE] = 1
        return -1
    return outer * m[u + P_INNER] + crd


@compiled
def _fire_fill(m: Memory, u: int, kept: int, shape: int, key: int) -> int:
    """Fire: a row's first token needs a bank, a repeated coordinate the adder."""
    a = m[u + P_BLOCK]
    hazard, cause = 0, U_BANK
    if m[u + S_OPEN] == 0:
        row = m[m[u + U_PORTS]]
        n = m[u + S_ROWS] - m[u + P_BANKS]
        if m[u + P_BANKS] > 0 and n >= 0:
            if n >= m[row + E_POPPED]:
                m[u + U_WAIT] = row
                return -1
            hazard = m[slot(m, row, n) + S_POP] + 1
    elif m[u + P_ADDER] > 1 and key >= 0 and is_touched(m, a, key):
        hazard = m[m[a + A_TIMES] + key] + m[u + P_ADDER]
        cause = U_COORDINATE
    ends = shape & 255 > kept
    if ends:
        pairs = m[a + A_SIZE] if m[u + P_DENSE] != 0 else m[a + A_COUNT] + 1
        if not fits(m, a, pairs):
            m[STATUS] = STOP_ROWS
            m[STATUS_UNIT] = u
            return -1
    t = fire(m, u, 7 if kept == 2 else 3, 1 if ends else 0, hazard, cause)
    if t >= 0 and m[u + S_OPEN] == 0:
        m[u + S_ROWS] += 1
    return t


@compiled
def _add_at(m: Memory, u: int, t: int, key: int, val: int) -> None:
    a, inside = m[u + P_BLOCK], m[u + P_INSIDE]
    at = m[a + A_VALS] + key
    before = m[u + P_FIRST]
    if is_touched(m, a, key):
        before = m[at]
    else:
        touch(m, a, key)
    m[at] = combine(m, m[u + P_OP], inside, before, convert(m, m[u + P_OF], inside, val))
    if m[u + P_ADDER] > 1:
        m[m[a + A_TIMES] + key] = t


@compiled
def _end_row(m: Memory, u: int, t: int, kept: int, shape: int) -> None:
    a = m[u + P_BLOCK]
    m[u + S_OPEN] = 0
    empty, close = shape >> 8, (shape & 255) - (kept + 1)
    if empty >= kept + 2:
        issue(m, u, 0, t, empty - (kept + 1), close)
        return
    if m[u + P_DENSE] != 0:
        drain_dense(m, a, m[u + P_NOTHING])
    else:
        drain(m, a)
    issue(m, u, 0, t, 0, close)


@compiled
def step_emit(m: Memory, u: int) -> None:
    """Fire once an output token; the last of a row pops it."""
    e, a, kept = m[u + U_READS], m[u + P_BLOCK], m[u + P_KEPT]
    while True:
        r = head(m, u, e)
        if r == 0:
            return
        empty, close = m[r + S_SHAPE] >> 8, m[r + S_SHAPE] & 255
        count = m[stored(m, a, m[a + A_HEAD])] if empty == 0 else 0
        if count == 0:
            t = fire(m, u, 1, 3, 0, 0)
            if t < 0:
                return
            issue(m, u, 0, t, empty + kept, close + kept)
            if kept == 2:
                issue(m, u, 1, t, empty + 1, close + 1)
            if empty == 0:
                m[a + A_HEAD] += 1
            pop(m, e, t)
        else:
            t = _emit_pair(m, u, kept, count, close)
            if t < 0:
                return
            if m[u + S_SENT] == count:
                m[u + S_SENT] = 0
                m[a + A_HEAD] += 1 + 2 * count
                pop(m, e, t)


@compiled
def _emit_pair(m: Memory, u: int, kept: int, count: int, close: int) -> int:
    """Fire and issue the row's next pair, with its outer coordinate where a fiber ends."""
    a, size, sent = m[u + P_BLOCK], m[u + P_INNER], m[u + S_SENT]
    at = m[a + A_HEAD] + 1 + 2 * sent
    key, val = m[stored(m, a, at)], m[stored(m, a, at + 1)]
    last = sent + 1 == count
    ends = kept == 2 and (last or m[stored(m, a, at + 2)] // size != key // size)
    t = fire(m, u, 1, 3 if ends else 1, 0, 0)
    if t < 0:
        return t
    m[u + S_SENT] = sent + 1
    bundle = m[u + U_BUNDLES]
    m[bundle] = key % size if kept == 2 else key
    m[bundle + 1] = convert(m, m[u + P_STORED], m[u + P_TO], val)
    issue(m, u, 0, t, 0, close + kept if last else 1 if ends else 0)
    if ends:
        m[m[u + U_BUNDLES + 1]] = key // size
        issue(m, u, 1, t, 0, close + 1 if last else 0)
    return t
