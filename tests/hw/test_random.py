"""Every unit under random streams and back-pressure, cycle by cycle against its oracle."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from fuseflow.samml.gates import random_gates
from fuseflow.samml.graph import Extent, Graph
from fuseflow.samml.tokens import Token, encode
from fuseflow.samml.units import flatten
from tests.hw.bench import graph_of, run, tensor
from tests.hw.oracle import (
    Accumulate,
    Filter,
    Intersect,
    Iterate,
    Oracle,
    Reduce,
    Union,
    replay,
    simple,
    wrap,
)
from tests.samml.graphs import edge, node, source

SEEDS = range(3)


def nest(rng: random.Random, rank: int, leaf: Callable[[], Any], most: int = 3) -> Any:
    """A random nested list; fibers are often empty or single."""
    if rank == 0:
        return leaf()
    return [nest(rng, rank - 1, leaf, most) for _ in range(rng.choice((0, 1, 1, 2, most)))]


def sorted_nest(rng: random.Random, rank: int, most: int, top: int = 12) -> Any:
    """Like `nest`, with ascending coordinates in the innermost fibers."""
    if rank == 1:
        return sorted(rng.sample(range(top), rng.randrange(most + 1)))
    return [sorted_nest(rng, rank - 1, most, top) for _ in range(rng.choice((0, 1, 2, 3)))]


def check(
    graph: Graph,
    sources: dict[str, list[Token]],
    oracles: Callable[[], dict[str, Oracle]],
    seed: int,
    **options: Any,
) -> None:
    """Run with open gates and with random ones."""
    streams = options.pop("streams", 1)
    for gates in (None, random_gates(flatten(graph), seed)):
        result = run(graph, sources, gates=gates, streams=streams, limit=20000, **options)
        replay(graph, result, oracles())


def sink(stream: str, *fields: str, name: str = "sink") -> Any:
    return node(name, "sink", edge("in", stream, *fields))


def repeat_rule(heads: Any) -> Any:
    x, signal = heads["x"], heads["signal"]
    out = Token(x.payload if signal.empty == 0 else None, signal.empty, signal.close)
    return {"signal", *(["x"] if signal.close else [])}, {"out": out}


@pytest.mark.parametrize("seed", SEEDS)
def test_repeat(seed: int) -> None:
    rng = random.Random(seed)
    nested = nest(rng, 3, lambda: 1)
    outer = [[rng.choice((None, rng.randrange(60))) for _ in row] for row in nested]
    graph = graph_of(
        source("x", "x/ref", levels=("i", "j")),
        source("s", "crd/crd", levels=("i", "j", "k")),
        node("dut", "repeat", edge("x", "x", "x"), edge("signal", "s")),
        sink("dut", "x"),
    )
    check(
        graph,
        {"x": encode(outer, 2), "s": encode(nested, 3)},
        lambda: {"dut": simple(repeat_rule)},
        seed,
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [0, 1, 5])
def test_scan_dense(seed: int, size: int) -> None:
    rng = random.Random(seed)
    graph = graph_of(
        source("s", "ref/ref", levels=("i", "j")),
        node("dut", "scan_dense", edge("ref", "s", "ref"), index="k", size=Extent("T", 1)),
        sink("dut", "crd", "ref"),
        tensors=[tensor("T", (60, 7), positions=(60, 420))],
    )
    nested = nest(rng, 2, lambda: rng.choice((None, rng.randrange(60))), 4)

    def children(payload: Any) -> list[Any]:
        (ref,) = payload
        return [] if ref is None else [(k, ref * size + k) for k in range(size)]

    check(
        graph,
        {"s": encode(nested, 2)},
        lambda: {"dut": Iterate("ref", children)},
        seed,
        sizes={"size": size},
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_scan_compressed(seed: int) -> None:
    rng = random.Random(seed)
    lengths = [rng.choice((0, 1, 2, 5)) for _ in range(11)]
    seg = [sum(lengths[:k]) for k in range(12)]
    crd = [rng.randrange(50) for _ in range(seg[-1])]
    graph = graph_of(
        source("s", "ref/ref", levels=("i",)),
        node("dut", "scan_compressed", edge("ref", "s", "ref"), index="k", tensor="T", level=1),
        sink("dut", "crd", "ref"),
        tensors=[tensor("T", (11, 50), "ds", positions=(11, 60))],
    )
    refs = [rng.choice((None, *range(11))) for _ in range(20)]

    def lookup(heads: Any) -> Any:
        payload, empty, close = heads["ref"]
        if empty == 0:
            ref = payload[0]
            payload = (0, 0) if ref is None else (seg[ref], seg[ref + 1])
        return {"ref"}, {"span": Token(payload, empty, close)}

    check(
        graph,
        {"s": encode(refs, 1)},
        lambda: {
            "dut.lookup": simple(lookup),
            "dut.emit": Iterate("span", lambda span: [(crd[q], q) for q in range(*span)]),
        },
        seed,
        memories={
            "dut.lookup.even": seg[::2],
            "dut.lookup.odd": seg[1::2],
            "dut.emit.crd": crd,
        },
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("parent", [True, False])
def test_locate(seed: int, parent: bool) -> None:
    rng = random.Random(seed)
    nested = nest(rng, 2, lambda: rng.randrange(7), 4)
    above = [[rng.choice((None, rng.randrange(9))) for _ in row] for row in nested]
    inputs = [edge("crd", "c", "crd")] + ([edge("parent", "p", "parent")] if parent else [])
    sources = {"c": encode(nested, 2)} | ({"p": encode(above, 2)} if parent else {})
    nodes = [source("c", "crd/crd", levels=("i", "j"))]
    nodes += [source("p", "parent/ref", levels=("i", "j"))] if parent else []
    graph = graph_of(
        *nodes,
        node("dut", "locate", *inputs, size=Extent("T", 1), parent=parent),
        sink("dut", "ref"),
        tensors=[tensor("T", (9, 7), positions=(9, 63))],
    )

    def rule(heads: Any) -> Any:
        crd = heads["crd"]
        payload = None
        if crd.empty == 0:
            base = heads["parent"].payload[0] if parent else 0
            payload = (None if base is None else base * 7 + crd.payload[0],)
        return set(heads), {"out": Token(payload, crd.empty, crd.close)}

    check(graph, sources, lambda: {"dut": simple(rule)}, seed, sizes={"size": 7})


@pytest.mark.parametrize("seed", SEEDS)
def test_array(seed: int) -> None:
    rng = random.Random(seed)
    values = [rng.randrange(-(2**31), 2**31) for _ in range(20)]
    nested = nest(rng, 2, lambda: rng.choice((None, rng.randrange(20))), 5)
    graph = graph_of(
        source("s", "ref/ref", levels=("i", "j")),
        node("dut", "array", edge("ref", "s", "ref"), tensor="T"),
        sink("dut", "val"),
        tensors=[tensor("T", (20,), fill=-7)],
    )

    def rule(heads: Any) -> Any:
        payload, empty, close = heads["ref"]
        if empty == 0:
            payload = (-7 if payload[0] is None else values[payload[0]],)
        return {"ref"}, {"out": Token(payload, empty, close)}

    check(
        graph,
        {"s": encode(nested, 2)},
        lambda: {"dut": simple(rule)},
        seed,
        memories={"dut.val": values},
    )


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "max": max,
    "min": min,
}


@pytest.mark.parametrize("op", OPERATIONS)
def test_alu(op: str) -> None:
    rng = random.Random(op)
    special = (0, 1, -1, 2**31 - 1, -(2**31), 65535, 65536, -65536)

    def number() -> int:
        return rng.choice((*special, rng.randrange(-(2**31), 2**31), rng.randrange(-999, 999)))

    pairs = [(number(), number()) for _ in range(60)] + [(a, b) for a in special for b in special]
    graph = graph_of(
        source("s", "a/val", "b/val"),
        node("dut", "alu", edge("a", "s", "a"), edge("b", "s", "b"), op=op),
        sink("dut", "val"),
    )

    def rule(heads: Any) -> Any:
        (a,), (b,) = heads["a"].payload, heads["b"].payload
        close = heads["a"].close
        return {"a", "b"}, {"out": Token((wrap(OPERATIONS[op](a, b)),), 0, close)}

    check(graph, {"s": encode(pairs, 1)}, lambda: {"dut": simple(rule)}, 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_reduce(seed: int) -> None:
    rng = random.Random(seed)
    nested = nest(rng, 3, lambda: rng.randrange(-(2**31), 2**31), 4)
    graph = graph_of(
        source("s", "val/val", levels=("i", "j", "k")),
        node("dut", "reduce", edge("val", "s", "val")),
        sink("dut", "val"),
    )
    check(graph, {"s": encode(nested, 3)}, lambda: {"dut": Reduce()}, seed)


def joined(rng: random.Random, rank: int, streams: int) -> tuple[list[Token], list[Token]]:
    """Two sides that differ in their innermost fibers only."""
    left: list[Token] = []
    right: list[Token] = []
    for _ in range(streams):
        shape = sorted_nest(rng, rank, 4)

        def twin(nested: Any, height: int) -> Any:
            if height == 1:
                fresh = rng.sample(range(12), rng.randrange(5))
                return sorted(rng.choice((nested, fresh, [])))
            return [twin(child, height - 1) for child in nested]

        for out, nested in ((left, shape), (right, twin(shape, rank))):
            out += [
                token._replace(payload=(token.payload, rng.choice((None, 5)), -token.payload))
                if token.empty == 0
                else token
                for token in encode(nested, rank)
            ]
    return left, right


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("primitive", ["intersect", "union"])
@pytest.mark.parametrize("seed", SEEDS)
def test_joiners(primitive: str, rank: int, seed: int) -> None:
    levels = ("i", "j", "k")[-rank:]
    graph = graph_of(
        source("l", "crd/crd", "a/ref", "v/val", levels=levels),
        source("r", "crd/crd", "b/ref", "w/val", levels=levels),
        node(
            "dut",
            primitive,
            edge("left", "l", "crd", "a", "v"),
            edge("right", "r", "crd", "b", "w"),
            **({"left": -3, "right": 8} if primitive == "union" else {}),
        ),
        sink("dut", "crd", "a", "v", "b", "w"),
    )

    def oracle() -> Oracle:
        absent = {"left": (None, -3), "right": (None, 8)}
        return Union(absent) if primitive == "union" else Intersect()

    rng = random.Random(f"{rank} {seed}")
    left, right = joined(rng, rank, 6)
    check(graph, {"l": left, "r": right}, lambda: {"dut": oracle()}, seed, streams=6)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_drop_value(rank: int, seed: int) -> None:
    levels = ("i", "j", "k")[-rank:]
    graph = graph_of(
        source("s", "crd/crd", "val/val", levels=levels),
        node("dut", "drop_value", edge("crd", "s", "crd"), edge("val", "s", "val"), fill=4),
        sink("dut", "crd", "val"),
    )

    def judge(heads: Any) -> Any:
        crd, val = heads["crd"], heads["val"]
        if crd is None or val is None:
            return None
        payload = crd.payload + val.payload if crd.empty == 0 else None
        drop = crd.empty == 0 and val.payload == (4,)
        return {"crd", "val"}, Token(payload, crd.empty, crd.close), drop

    rng = random.Random(seed)
    nested = nest(rng, rank, lambda: (rng.randrange(20), rng.choice((4, 4, 5))), 5)
    check(graph, {"s": encode(nested, rank)}, lambda: {"dut": Filter("out", 0, judge)}, seed)


@pytest.mark.parametrize("height", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_drop_empty(height: int, seed: int) -> None:
    levels = ("i", "j")
    below = (*levels, *("k", "l")[:height])
    graph = graph_of(
        source("o", "crd/crd", levels=levels),
        source("n", "crd/crd", "val/val", levels=below),
        node(
            "dut",
            "drop_empty",
            edge("outer", "o", "crd", depth=20),
            edge("signal", "n"),
            edge("inner0", "n", "crd", "val"),
            signal=height,
            heights=(height,),
        ),
        sink("dut.outer", "crd", name="outer"),
        sink("dut.inner0", "crd", "val", name="inner"),
    )

    def judge_outer(heads: Any) -> Any:
        outer, signal = heads["outer"], heads["signal"]
        if signal is None:
            return None
        if signal.close < height:
            return {"signal"}, None, False
        if outer is None:
            return None
        assert outer.close == signal.close - height
        return {"outer", "signal"}, outer, signal.empty == height

    def judge_inner(heads: Any) -> Any:
        head = heads["inner0"]
        return head and ({"inner0"}, head, head.empty == height)

    rng = random.Random(seed)
    nested = nest(rng, 2 + height, lambda: (rng.randrange(20), rng.randrange(9)), 3)
    outer = [[rng.randrange(20) for _ in row] for row in nested]
    check(
        graph,
        {"o": encode(outer, 2), "n": encode(nested, 2 + height)},
        lambda: {
            "dut.drop_outer": Filter("outer", 0, judge_outer),
            "dut.drop_inner0": Filter("inner0", height, judge_inner),
        },
        seed,
    )


def accumulate(kept: int, sizes: tuple[int, ...], **params: Any) -> Graph:
    levels = ("i", "j", "k", "l")
    space = "s"
    outer = [edge("outer", "o", "crd")] if kept == 2 else []
    return graph_of(
        node("s", "source", fields=("crd/crd", "val/val"), levels=levels, space=space, words=1500),
        *(
            [node("o", "source", fields=("crd/crd",), levels=levels[:3], space=space, words=900)]
            if outer
            else []
        ),
        node(
            "dut",
            "accumulate",
            edge("crd", "s", "crd"),
            edge("val", "s", "val"),
            *outer,
            kept=kept,
            size=tuple(Extent("T", mode) for mode in range(kept)),
            **params,
        ),
        sink("dut.out", "crd", "val"),
        *([sink("dut.outer", "crd", name="outer")] if outer else []),
        tensors=[tensor("T", sizes)],
    )


def payloads(rng: random.Random, top: int) -> Callable[[], tuple[int, int]]:
    """Coordinates that repeat often, at short distances."""
    recent = [0]

    def leaf() -> tuple[int, int]:
        if rng.random() < 0.5:
            recent.append(rng.randrange(top))
        return rng.choice(recent[-2:]), rng.choice((rng.randrange(-99, 99), rng.randrange(2**31)))

    return leaf


@pytest.mark.parametrize(
    ("banks", "adder", "mode", "size"),
    [
        (1, 0, "sparse", 5),
        (2, 0, "sparse", 40),
        (4, 2, "sparse", 7),
        (3, 4, "sparse", 9),
        (4, 0, "dense", 5),
        (2, 2, "dense", 11),
        (1, 1, "dense", 0),
        (2, 1, "sparse", 1),
    ],
)
def test_accumulate_one_kept(banks: int, adder: int, mode: str, size: int) -> None:
    graph = accumulate(1, (max(size, 1),), banks=banks, adder=adder, mode=mode)
    seed = banks * 100 + adder * 10 + size
    rng = random.Random(seed)
    leaf = payloads(rng, max(size, 1))
    tokens: list[Token] = []
    for most in (3, 4, 5, 4):
        tokens += encode([*nest(rng, 3, partial(nest, rng, 1, leaf, most)), [], [[]]], 4)
    if not size:  # nothing may be touched
        tokens = encode([[], [[[], []], []], [[]]], 4)

    def oracles() -> dict[str, Oracle]:
        both = Accumulate(1, banks, adder or 1, size if mode == "dense" else None)
        return {"dut.fill": both.fill, "dut.emit": both.emit}

    streams = sum(token.close == 4 for token in tokens)
    check(graph, {"s": tokens}, oracles, seed, sizes={"size_0": size}, streams=streams)


@pytest.mark.parametrize(
    ("banks", "adder", "sizes"),
    [(1, 0, (3, 3)), (2, 2, (9, 2)), (4, 0, (2, 33)), (4, 1, (17, 20)), (2, 1, (1, 1))],
)
def test_accumulate_two_kept(banks: int, adder: int, sizes: tuple[int, int]) -> None:
    graph = accumulate(2, sizes, banks=banks, adder=adder)
    rng = random.Random(repr(sizes))
    leaf = payloads(rng, sizes[1])
    nested = [*(nest(rng, 3, leaf, 5) for _ in range(8)), [], [[], []]]
    outer = [[[rng.randrange(sizes[0]) for _ in row] for row in rows] for rows in nested]

    def oracles() -> dict[str, Oracle]:
        both = Accumulate(2, banks, adder or 1)
        return {"dut.fill": both.fill, "dut.emit": both.emit}

    check(
        graph,
        {"s": encode(nested, 4), "o": encode(outer, 3)},
        oracles,
        banks,
        sizes={"size_0": sizes[0], "size_1": sizes[1]},
    )
