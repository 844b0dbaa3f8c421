"""reduce: folds every innermost fiber to one value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fuseflow.samml.streams import Kind
from fuseflow.samml.values import ValueType
from sim_models.arithmetic import Fold, apply, numbers
from sim_models.cycle.arith import MUL, combine, combine_as, convert
from sim_models.cycle.edges import fail, head, issue, pop
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import S_FIELDS, S_SHAPE, U_BUNDLES, U_PARAMS, U_READS, U_STATE, Memory
from sim_models.cycle.words import fold_words, form
from sim_models.functions import Numbers
from sim_models.ragged import Ragged, check_aligned, positions
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

(
    P_OP, P_OF, P_INSIDE, P_FIRST, P_NOTHING, P_TO, P_LANES, P_FACTOR,
) = range(U_PARAMS, U_PARAMS + 8)  # fmt: skip
S_COUNT, S_LANES = U_STATE, U_STATE + 1


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Replace every innermost fiber by its fold."""
    op = node.params["op"]
    stream, addends, kind = _addends(node, inputs)
    fold = Fold.of(node.params, node.value, kind, node.flags)
    lanes, counts = _lanes(op, node.value), stream.lengths[-1]
    count, position = counts[stream.fibers()], positions(counts)
    # The oldest of the last sums first; lanes without an element hold what changes no sum.
    lane = np.where(count < lanes, position, (position - count) % lanes)
    sums = fold.totals(addends, stream.fibers() * lanes + lane, len(counts) * lanes)
    sums = sums.reshape(len(counts), lanes)
    while sums.shape[1] > 1:
        sums = fold.combine(sums[:, 0::2], sums[:, 1::2])
    totals = np.where(counts == 0, fold.nothing, sums[:, 0])
    return {"out": Ragged(stream.lengths[:-1], fold.words(totals)[np.newaxis])}


def _addends(node: NodeView, inputs: Mapping[str, Ragged]) -> tuple[Ragged, Numbers, Kind]:
    """Return a stream of the shape of what is folded, its numbers, and their kind."""
    if not node.params["multiply"]:
        stream, kind = inputs["val"], node.inputs["val"].fields[0].kind
        addend = node.value.wide if kind is Kind.SUM else node.value
        return stream, numbers(addend, stream.fields[0]), kind
    a, b = inputs["a"], inputs["b"]
    check_aligned(a.rank, a, b)
    kind = _product(node.params["op"])
    to = node.value.wide if kind is Kind.SUM else node.value
    factors = (numbers(node.value, factor.fields[0]) for factor in (a, b))
    return a, apply("mul", to, node.flags, *factors), kind


def _product(op: str) -> Kind:
    """Return the kind of the products that a fold takes."""
    return Kind.SUM if op == "sum" else Kind.VAL


def _lanes(op: str, value: ValueType) -> int:
    return value.lanes if op == "sum" else 1


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return what the fold needs, the form of the result, and the number of lanes, a power of 2.

    At last the form of the factors, 0 where there are none.
    """
    op, value, multiply = str(unit.node.params["op"]), build.value, unit.node.params["multiply"]
    result = value.wide if unit.node.params["wide"] else value
    kind = _product(op) if multiply else build.graph.edges[unit.reads[0]].type.fields[0].kind
    factor = form(value) if multiply else 0
    return *fold_words(value, op, kind), form(result), _lanes(op, value), factor


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once an input token; room is needed where a fiber ends."""
    lefts, rights, factor = m[u + U_READS], m[u + U_READS + 1], m[u + P_FACTOR]
    while True:
        s = head(m, u, lefts)
        if s == 0:
            return
        other = head(m, u, rights) if factor != 0 else s
        if other == 0:
            return
        empty, close = m[s + S_SHAPE] >> 8, m[s + S_SHAPE] & 255
        t = fire(m, u, 3 if factor != 0 else 1, 1 if close >= 1 else 0, 0, 0)
        if t < 0:
            return
        if m[other + S_SHAPE] != m[s + S_SHAPE]:
            fail(m, u)
            return
        if empty == 0:
            word = m[s + S_FIELDS]
            if factor != 0:
                word = combine_as(m, MUL, factor, m[u + P_OF], word, m[other + S_FIELDS])
            _take(m, u, word)
        pop(m, lefts, t)
        if factor != 0:
            pop(m, rights, t)
        if close >= 1:
            m[m[u + U_BUNDLES]] = _total(m, u)
            m[u + S_COUNT] = 0
            issue(m, u, 0, t, max(empty - 1, 0), close - 1)


@compiled
def _take(m: Memory, u: int, word: int) -> None:
    """Fold a word into its lane."""
    n, inside = m[u + S_COUNT], m[u + P_INSIDE]
    m[u + S_COUNT] = n + 1
    lane = u + S_LANES + (n & (m[u + P_LANES] - 1))
    before = m[lane] if n >= m[u + P_LANES] else m[u + P_FIRST]
    word = convert(m, m[u + P_OF], inside, word)
    m[lane] = combine(m, m[u + P_OP], inside, before, word)


@compiled
def _total(m: Memory, u: int) -> int:
    """Combine the lanes pairwise, from the oldest on; an odd last one passes."""
    n, lanes, inside = m[u + S_COUNT], m[u + P_LANES], m[u + P_INSIDE]
    if n == 0:
        return convert(m, inside, m[u + P_TO], m[u + P_NOTHING])
    count = min(n, lanes)
    first, apart, block = n - count, 1, u + S_LANES
    while apart < count:
        for k in range(first, n - apart, 2 * apart):
            old, new = block + (k & (lanes - 1)), block + ((k + apart) & (lanes - 1))
            m[old] = combine(m, m[u + P_OP], inside, m[old], m[new])
        apart *= 2
    return convert(m, inside, m[u + P_TO], m[block + (first & (lanes - 1))])
