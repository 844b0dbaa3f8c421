"""Golden meanings on streams with dense inner levels, which are not spread where that can wait.

A node that works leaf by leaf gets its fields as far as they vary. A sum of products is formed by
`sim_models.contract`, or, where something may have overflowed, by the meaning of its node. So is
everything that has no rule here, on streams that are spread.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from fuseflow.samml.streams import Kind
from fuseflow.samml.values import ValueType
from sim_models.arithmetic import PATTERNS, Fold, apply, numbers, words
from sim_models.blocks import Blocks, Column, Product, aligned, check_room, spread_shape
from sim_models.contract import OverflowingError, dots, row_sums
from sim_models.functions import Numbers
from sim_models.golden import meaning_of
from sim_models.primitives import scan_compressed
from sim_models.ragged import NULL_REF, Mask, Ragged, Words
from sim_models.storage import Flags, NodeView

CHUNK = 1 << 20
"""Elements that a meaning gets at a time, where fibers are of one length."""


@dataclass(frozen=True)
class Work:
    """What rules share.

    Attributes
    ----------
    value : ValueType
        Of the graph.
    flags : Flags
    limit : int
        Most words of an array.
    window : tuple of int or None
        From which iteration on the outermost loops run, and how many of them; None: all.
    """

    value: ValueType
    flags: Flags
    limit: int
    window: tuple[int, int] | None

    def formed(self, column: Column) -> Words:
        """Form products, if these are any."""
        if not isinstance(column, Product):
            return column
        check_room(prod(spread_shape([column.a, column.b])), self.limit)
        factors = (numbers(self.value, factor) for factor in (column.a, column.b))
        return words(column.kind, apply("mul", column.kind, self.flags, *factors))

    def ragged(self, stream: Blocks, *, bounded: bool = True) -> Ragged:
        """Spread a stream."""
        limit = self.limit if bounded else 1 << 62
        if bounded:
            check_room(prod(stream.shape), limit)
        return stream.like(*map(self.formed, stream.fields)).ragged(limit)


Streams = Mapping[str, Blocks]
Rule = Callable[[Work, NodeView, Streams], "dict[str, Blocks] | None"]


def mean(work: Work, primitive: str, view: NodeView, inputs: Streams) -> dict[str, Blocks]:
    """Return what a node makes of its inputs."""
    if primitive in ("locate", "array", "unary"):
        return _leaf_by_leaf(work, primitive, view, inputs)
    rule = _RULES.get(primitive)
    found = rule(work, view, inputs) if rule else None
    if found is not None:
        return found
    spread = {port: work.ragged(stream) for port, stream in inputs.items()}
    results = meaning_of(primitive)(view, spread)
    return {output: Blocks.of(stream) for output, stream in results.items()}


def dropped_by(work: Work, view: NodeView, inputs: Streams) -> Words:
    """Return for every payload of a drop_value whether it is dropped."""
    vals = work.ragged(inputs["val"]).fields[0]
    return (~(numbers(view.value, vals) != view.params["fill"])).astype(np.int64)


# --- leaf by leaf ----------------------------------------------------------------------


def _leaf_by_leaf(work: Work, primitive: str, view: NodeView, inputs: Streams) -> dict[str, Blocks]:
    streams = aligned(work.limit, *inputs.values())
    columns = [work.formed(stream.fields[0]) for stream in streams]
    shape = spread_shape(columns)
    check_room(prod(shape), work.limit)
    flat = {
        port: Ragged((), np.broadcast_to(column, shape).reshape(1, -1))
        for port, column in zip(inputs, columns, strict=True)
    }
    (result,) = meaning_of(primitive)(view, flat).values()
    return {"out": streams[0].like(result.fields[0].reshape(shape))}


def _alu(work: Work, view: NodeView, inputs: Streams) -> dict[str, Blocks]:
    a, b = aligned(work.limit, inputs["a"], inputs["b"])
    first, second = work.formed(a.fields[0]), work.formed(b.fields[0])
    spread = prod(spread_shape([first, second]))
    plain = view.params["op"] == "mul" and not view.params["relu"]
    if plain and spread > max(first.size, second.size):
        kind = view.value.wide if view.params["wide"] else view.value
        return {"out": a.like(Product(first, second, kind))}
    return _leaf_by_leaf(work, "alu", view, {"a": a.like(first), "b": b.like(second)})


# --- loops -----------------------------------------------------------------------------


def _scan_dense(work: Work, view: NodeView, inputs: Streams) -> dict[str, Blocks] | None:
    stream, size = inputs["ref"], view.size()
    first, count = 0, size
    if stream.rank == 0 and work.window is not None:
        first, count = work.window
    if count == 0:
        return None
    crd = (first + np.arange(count)).reshape(*(1 for _ in stream.shape), count)
    fields: list[Column] = [crd]
    if view.params["bound"]:
        parent = stream.array(0)
        check_room(parent.size * count, work.limit)
        if (parent == NULL_REF).any():
            return None
        fields.append(parent[..., np.newaxis] * size + crd)
    return {"out": Blocks(stream.lengths, stream.count, (*stream.inner, count), tuple(fields))}


def _scan_compressed(work: Work, view: NodeView, inputs: Streams) -> dict[str, Blocks] | None:
    """Take fibers of one length for a dense level: rows of a full matrix, or of a block of one."""
    stream = inputs["ref"]
    ref = stream.array(0)
    first, counts = scan_compressed.fibers(view, ref)
    length = int(counts.flat[0]) if counts.size else 0
    if not length or (counts != length).any():
        check_room(int(counts.sum()) * (prod(stream.shape) // max(ref.size, 1)), work.limit)
        return None
    check_room(ref.size * length, work.limit)
    at = first[..., np.newaxis] + np.arange(length)
    crd = scan_compressed.coordinates(view)[at]
    alike = crd.reshape(-1, length)[:1]
    if (crd == alike[0]).all():
        crd = alike.reshape(*(1 for _ in stream.shape), length)
    return {"out": Blocks(stream.lengths, stream.count, (*stream.inner, length), (crd, at))}


def _repeat(work: Work, view: NodeView, inputs: Streams) -> dict[str, Blocks]:
    x, signal = inputs["x"], inputs["signal"]
    if signal.inner:
        kept = min(len(x.inner), len(signal.inner) - 1)
        x, signal = x.outer(kept, work.limit), signal.outer(kept + 1, work.limit)
        repeated = (work.formed(each)[..., np.newaxis] for each in x.fields)
        return {"out": signal.like(*repeated)}
    x, fibers = x.outer(0, work.limit), np.arange(0)
    if any(each.shape[0] > 1 for each in map(work.formed, x.fields)):
        fibers = np.repeat(np.arange(len(signal.lengths[-1])), signal.lengths[-1])
    columns = map(work.formed, x.fields)
    return {"out": signal.like(*(each if len(each) == 1 else each[fibers] for each in columns))}


# --- folds -----------------------------------------------------------------------------


def _reduce(work: Work, view: NodeView, inputs: Streams) -> dict[str, Blocks] | None:
    streams = aligned(work.limit, *inputs.values())
    stream, column = streams[0], streams[0].fields[0]
    if view.params["op"] == "sum":
        kind = Kind.SUM if view.params["multiply"] else view.inputs["val"].fields[0].kind
        fold = Fold.of(view.params, view.value, kind, view.flags)
        of = view.value
        if view.params["multiply"]:
            factors = work.formed(column), work.formed(streams[1].fields[0])
        elif isinstance(column, Product) and column.kind == fold.inside:
            factors = column.a, column.b
        else:
            of, factors = fold.addend, _alone(fold, stream, work.formed(column))
        try:
            return {"out": _dotted(fold, of, view, stream, *factors)}
        except OverflowingError:
            pass
    return _reduced(work, view, inputs, streams) if stream.inner else None


def _alone(fold: Fold, stream: Blocks, addends: Words) -> tuple[Words, Words]:
    """Return numbers as products with 1, which are those numbers."""
    return np.array(fold.addend.encode(1)).reshape(*(1 for _ in stream.shape)), addends


def _dotted(
    fold: Fold, of: ValueType, view: NodeView, stream: Blocks, a: Words, b: Words
) -> Blocks:
    """Sum the products of every innermost fiber."""
    if stream.inner:
        length = stream.inner[-1]
        lead = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        starts = np.empty((prod(lead), 3), np.int64)
        flat: list[Words] = []
        for k, factor in enumerate((a, b)):
            starts[:, k] = _rows(factor.shape[:-1], lead) * length
            flat.append(np.broadcast_to(factor, (*factor.shape[:-1], length)).ravel())
        starts[:, 2] = length
        levels, count, inner = stream.lengths, stream.count, stream.inner[:-1]
    else:
        flat = [np.broadcast_to(factor, (stream.count,)) for factor in (a, b)]
        starts, lead = _fibers(stream.lengths[-1]), (len(stream.lengths[-1]),)
        levels, count, inner = stream.lengths[:-1], len(stream.lengths[-1]), ()
    x, y = (_singles(of, factor) for factor in flat)
    sums, wrapped = dots(x, y, starts, fold.inside)
    view.flags.overflow |= wrapped
    found = fold.words(np.where(starts[:, 2] == 0, fold.nothing, sums))
    return Blocks(levels, count, inner, (found.reshape(lead),))


def _singles(of: ValueType, factor: Words) -> Numbers:
    """Return the numbers of words: of a floating-point type as float32, which holds them all."""
    if not of.is_float:
        return factor
    pattern, number, shift = PATTERNS[of.name]
    found = (factor << shift if shift else factor).astype(pattern).view(number)
    found = found.astype(np.float32, copy=False)
    tiny = np.abs(found) < of.smallest
    return np.where(tiny, np.copysign(np.float32(0), found), found) if tiny.any() else found


def _rows(own: tuple[int, ...], lead: tuple[int, ...]) -> Words:
    """Return which of its rows an array has for each of those that it spreads over."""
    return np.broadcast_to(np.arange(prod(own)).reshape(own), lead).ravel()


def _fibers(lengths: Words) -> Words:
    """Return where fibers begin, in both factors, and how long they are."""
    begin = np.cumsum(lengths) - lengths
    return np.stack([begin, begin, lengths], axis=1).astype(np.int64)


def _reduced(
    work: Work, view: NodeView, inputs: Streams, streams: list[Blocks]
) -> dict[str, Blocks]:
    """Give the meaning of a fold some fibers at a time."""
    columns = [work.formed(each.fields[0]) for each in streams]
    stream, length = streams[0], streams[0].inner[-1]
    lead = spread_shape(columns)[:-1]
    rows = [
        np.broadcast_to(column, (*lead, length)).reshape(prod(lead), length) for column in columns
    ]
    parts: list[Words] = []
    step = max(1, CHUNK // length)
    for first in range(0, prod(lead), step):
        some = [each[first : first + step] for each in rows]
        counts = np.full(len(some[0]), length)
        fibers = {
            port: Ragged((counts,), each.reshape(1, -1))
            for port, each in zip(inputs, some, strict=True)
        }
        parts.append(meaning_of("reduce")(view, fibers)["out"].fields[0])
    found = np.concatenate(parts).reshape(lead)
    return {"out": Blocks(stream.lengths, stream.count, stream.inner[:-1], (found,))}


def _accumulate(work: Work, view: NodeView, inputs: Streams) -> dict[str, Blocks] | None:
    """Add where every row has all kept coordinates, which are one level then."""
    crd, val = aligned(work.limit, inputs["crd"], inputs["val"])
    sizes = tuple(map(view.storage.size, view.params["size"]))
    kept, size = len(sizes), prod(sizes)
    if view.params["op"] != "sum" or crd.inner[len(crd.inner) - kept :] != sizes:
        return None
    for port, own in zip(("outer", "crd")[-kept:], sizes, strict=True):
        if not np.array_equal(inputs[port].array(0).ravel(), np.arange(own)):
            return None
    kind = view.inputs["val"].fields[0].kind
    fold = Fold.of(view.params, view.value, kind, view.flags)
    column = val.fields[0]
    of = view.value
    if isinstance(column, Product) and column.kind == fold.inside:
        factors = column.a, column.b
    else:
        of, factors = fold.addend, _alone(fold, val, work.formed(column))
    a, b = (_one_level(work, factor, sizes) for factor in factors)
    if b.shape[-1] == 1:
        a, b = b, a
    if b.shape[-1] != size:
        return None
    rows = Blocks(crd.lengths, crd.count, (*crd.inner[:-kept], size), ())
    try:
        sums, empty = _added(work, fold, of, view, rows, a, b)
    except OverflowingError:
        return None
    if view.params["mode"] == "dense" or not empty.any():
        return _by_level(sums, sizes)
    return {"out": _without(sums, empty)} if kept == 1 else None


def _one_level(work: Work, factor: Words, sizes: tuple[int, ...]) -> Words:
    """Merge the kept levels of a factor that varies over them."""
    above, own = factor.shape[: -len(sizes)], factor.shape[-len(sizes) :]
    if prod(own) == 1:
        return factor.reshape(*above, 1)
    check_room(prod(above) * prod(sizes), work.limit)
    return np.broadcast_to(factor, (*above, *sizes)).reshape(*above, prod(sizes))


def _by_level(sums: Blocks, sizes: tuple[int, ...]) -> dict[str, Blocks]:
    """Part kept levels again, and give them their coordinates."""
    above, found = sums.inner[:-1], sums.array(0)
    found = found.reshape(*found.shape[:-1], *sizes)

    def level(count: int, *fields: Words) -> Blocks:
        inner = (*above, *sizes[:count])
        crd = np.arange(sizes[count - 1]).reshape(*(1 for _ in inner), sizes[count - 1])
        return Blocks(sums.lengths, sums.count, inner, (crd, *fields))

    out = {"out": level(len(sizes), found)}
    return out if len(sizes) == 1 else {"outer": level(1), **out}


def _without(sums: Blocks, empty: Mask) -> Blocks:
    """Leave out the rows to which nothing was added."""
    keys = np.arange(sums.inner[-1]).reshape(*(1 for _ in sums.inner), sums.inner[-1])
    spread = sums.like(keys, sums.array(0)).ragged(1 << 62)
    counts = np.where(empty, 0, sums.inner[-1])
    kept = np.repeat(~empty, sums.inner[-1])
    return Blocks.of(Ragged((*spread.lengths[:-1], counts), spread.fields[:, kept]))


def _added(
    work: Work, fold: Fold, of: ValueType, view: NodeView, rows: Blocks,
    a: Words, b: Words,
) -> tuple[Blocks, Mask]:  # fmt: skip
    """Sum the products of every row, coordinate by coordinate; tell where there are none."""
    size, flat = rows.inner[-1], list[Words]()
    if len(rows.inner) > 1:
        length = rows.inner[-2]
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        starts = np.empty((prod(lead), 3), np.int64)
        for k, factor in enumerate((a, b)):
            starts[:, k] = _rows(factor.shape[:-2], lead) * length
            full = (*factor.shape[:-2], length, factor.shape[-1])
            check_room(prod(full), work.limit)
            flat.append(np.broadcast_to(factor, full).reshape(-1, factor.shape[-1]))
        starts[:, 2] = length
        levels, count, inner = rows.lengths, rows.count, rows.inner[:-2]
    else:
        for factor in (a, b):
            check_room(rows.count * factor.shape[-1], work.limit)
            flat.append(np.broadcast_to(factor, (rows.count, factor.shape[-1])))
        starts, lead = _fibers(rows.lengths[-1]), (len(rows.lengths[-1]),)
        levels, count, inner = rows.lengths[:-1], len(rows.lengths[-1]), ()
    x, y = (_singles(of, factor) for factor in flat)
    sums, wrapped = row_sums(x, y, starts, fold.inside)
    view.flags.overflow |= wrapped
    empty = starts[:, 2] == 0
    found = fold.words(np.where(empty[:, np.newaxis], fold.nothing, sums))
    return Blocks(levels, count, (*inner, size), (found.reshape(*lead, size),)), empty


def _root(work: Work, view: NodeView, inputs: Streams) -> dict[str, Blocks]:
    return {"out": Blocks((), 1, (), (np.zeros(1, np.int64),))}


_RULES: dict[str, Rule] = {
    "root": _root,
    "scan_dense": _scan_dense,
    "scan_compressed": _scan_compressed,
    "repeat": _repeat,
    "alu": _alu,
    "reduce": _reduce,
    "accumulate": _accumulate,
}
