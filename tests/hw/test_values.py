"""Streams of every value type under random back-pressure, cycle by cycle against the oracles."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from fuseflow.samml.graph import Graph
from fuseflow.samml.tokens import Token, encode
from fuseflow.samml.values import BF16, FP16, FP32, INT8, INT16, INT32, ValueType
from tests.hw.arithmetic import edges
from tests.hw.bench import graph_of, run, tensor
from tests.hw.folds import accumulated, one, reduced
from tests.hw.oracle import Accumulate, Filter, Oracle, Reduce, Union, simple
from tests.hw.test_random import accumulate, check, nest, sink
from tests.samml.graphs import edge, node, source


def words(value: ValueType, rng: random.Random) -> Callable[[], int]:
    """Words of a type: edges, numbers that cancel, and any; few infinities and NaN."""
    ends = [word for word in edges(value) if not value.is_float or _ordinary(word, value)]
    few = [rng.choice(ends) for _ in range(3)]

    def word() -> int:
        kind = rng.random()
        if kind < 0.02:
            return rng.choice(edges(value))
        if kind < 0.3:
            return rng.choice(ends)
        if kind < 0.5:
            return rng.choice(few)
        if not value.is_float:
            return value.wrap(rng.getrandbits(value.bits))
        return value.encode(rng.uniform(-1, 1) * 2.0 ** rng.randint(-9, 9))

    return word


def name_of(parameter: Any) -> str:
    return parameter.name if isinstance(parameter, ValueType) else str(parameter)


def _ordinary(word: int, value: ValueType) -> bool:
    return abs(float(value.decode(word))) < float(value.largest) / 64


def of(value: ValueType, graph: Graph) -> Graph:
    return replace(graph, value=value)


@pytest.mark.parametrize(
    "op", ["add", "sub", "mul", "wide", "max", "min", "add relu", "mul relu", "min relu"]
)
@pytest.mark.parametrize("value", [FP32, BF16, INT8], ids=name_of)
def test_alu(value: ValueType, op: str) -> None:
    rng = random.Random(f"{value.name} {op}")
    word = words(value, rng)
    wide, relu = op == "wide", op.endswith(" relu")
    op = "mul" if wide else op.removesuffix(" relu")
    nested = nest(rng, 2, lambda: (word(), word()), 5)
    graph = graph_of(
        source("s", "a/val", "b/val", levels=("i", "j")),
        node("dut", "alu", edge("a", "s", "a"), edge("b", "s", "b"), op=op, wide=wide, relu=relu),
        sink("dut", "val"),
    )

    def rule(heads: Any) -> Any:
        a, b = heads["a"], heads["b"]
        payload = None
        if a.empty == 0:
            result = one(op, value, *a.payload, *b.payload, value.wide if wide else value)
            payload = (one("max", value, result, 0) if relu else result,)
        return {"a", "b"}, {"out": Token(payload, a.empty, a.close)}

    check(of(value, graph), {"s": encode(nested, 2)}, lambda: {"dut": simple(rule)}, 1)


OFFSET = 7
"""What affine adds."""

FUNCTIONS = {
    "neg": lambda x, c, v: one("neg", v, x),
    "abs": lambda x, c, v: one("abs", v, x),
    "relu": lambda x, c, v: one("max", v, x, 0),
    "scale": lambda x, c, v: one("mul", v, x, c),
    "shift": lambda x, c, v: one("add", v, x, c),
    "affine": lambda x, c, v: one("add", v, one("mul", v, x, c), v.encode(OFFSET)),
    "max": lambda x, c, v: one("max", v, x, c),
    "min": lambda x, c, v: one("min", v, x, c),
}


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("value", [FP16, INT16], ids=name_of)
def test_unary(value: ValueType, op: str) -> None:
    rng = random.Random(f"{value.name} {op}")
    nested = nest(rng, 2, words(value, rng), 5)
    constant = -0.75 if value.is_float else -3
    graph = graph_of(
        source("s", "a/val", levels=("i", "j")),
        node("dut", "unary", edge("a", "s", "a"), op=op, constant=constant, offset=OFFSET),
        sink("dut", "val"),
    )

    def rule(heads: Any) -> Any:
        a = heads["a"]
        payload = None
        if a.empty == 0:
            payload = (FUNCTIONS[op](a.payload[0], value.encode(constant), value),)
        return {"a"}, {"out": Token(payload, a.empty, a.close)}

    check(of(value, graph), {"s": encode(nested, 2)}, lambda: {"dut": simple(rule)}, 1)


def long_nest(rng: random.Random, leaf: Callable[[], Any]) -> Any:
    """Fibers on both sides of the number of lanes, many of one element."""
    lengths = (0, 1, 1, 1, 2, 3, 5, 7, 8, 9, 11, 16, 17, 30)
    return [
        [[leaf() for _ in range(rng.choice(lengths))] for _ in range(rng.choice((0, 1, 2, 5)))]
        for _ in range(5)
    ]


@pytest.mark.parametrize(
    ("value", "op", "wide"),
    [
        (FP32, "sum", ""), (FP16, "sum", ""), (BF16, "sum", "in, out"), (INT8, "sum", ""),
        (INT8, "sum", "out"), (INT16, "sum", "in"), (FP32, "max", ""), (BF16, "min", ""),
        (INT32, "min", ""),
    ],
    ids=name_of,
)  # fmt: skip
def test_reduce(value: ValueType, op: str, wide: str) -> None:
    rng = random.Random(f"{value.name} {op} {wide}")
    kind = "sum" if "in" in wide else "val"
    nested = long_nest(rng, words(value.wide if "in" in wide else value, rng))
    graph = graph_of(
        source("s", f"val/{kind}", levels=("i", "j", "k")),
        node("dut", "reduce", edge("val", "s", "val"), op=op, wide="out" in wide),
        sink("dut", "val"),
    )
    total = partial(reduced, op, value=value, wide=wide)
    oracle = lambda: {"dut": Reduce(total)}  # noqa: E731
    check(of(value, with_room(graph)), {"s": encode(nested, 3)}, oracle, 1)


def with_room(graph: Graph) -> Graph:
    """Return a graph whose source `s` holds long streams."""
    return replace(graph, nodes=tuple(
        replace(each, params={**each.params, "words": 2000}) if each.name == "s" else each
        for each in graph.nodes
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("value", "op", "wide"),
    [
        (FP32, "sum", False), (BF16, "sum", False), (FP16, "sum", True), (INT8, "sum", False),
        (INT32, "sum", False), (INT16, "sum", True), (BF16, "max", False), (INT8, "min", False),
    ],
    ids=name_of,
)  # fmt: skip
def test_reduce_of_products(value: ValueType, op: str, wide: bool) -> None:
    rng = random.Random(f"products {value.name} {op} {wide}")
    word = words(value, rng)
    nested = long_nest(rng, lambda: (word(), word()))
    graph = graph_of(
        source("s", "a/val", "b/val", levels=("i", "j", "k")),
        node(
            "dut", "reduce", edge("a", "s", "a"), edge("b", "s", "b"),
            op=op, wide=wide, multiply=True,
        ),
        sink("dut", "val"),
    )  # fmt: skip

    def oracle() -> dict[str, Oracle]:
        to = value.wide if op == "sum" else value
        total = partial(reduced, op, value=value, wide="in" + ", out" * wide)
        return {"dut": Reduce(total, lambda a, b: one("mul", value, a, b, to))}

    check(of(value, with_room(graph)), {"s": encode(nested, 3)}, oracle, 1)


@pytest.mark.parametrize(
    ("value", "op", "banks", "adder", "mode"),
    [
        (FP32, "sum", 4, 0, "sparse"),
        (FP32, "sum", 3, 7, "sparse"),
        (FP32, "sum", 1, 1, "dense"),
        (BF16, "sum", 2, 0, "dense"),
        (FP16, "sum", 2, 2, "sparse"),
        (INT8, "sum", 2, 3, "dense"),
        (FP32, "max", 2, 0, "sparse"),
        (BF16, "min", 2, 3, "dense"),
        (INT16, "max", 1, 0, "dense"),
    ],
    ids=name_of,
)
def test_accumulate(value: ValueType, op: str, banks: int, adder: int, mode: str) -> None:
    size = 6
    graph = accumulate(1, (size,), banks=banks, adder=adder, mode=mode, op=op)
    rng = random.Random(f"{value.name} {op} {banks} {adder}")
    word = words(value, rng)
    recent = [0]

    def leaf() -> tuple[int, int]:
        if rng.random() < 0.5:
            recent.append(rng.randrange(size))
        return rng.choice(recent[-2:]), word()

    tokens: list[Token] = []
    for most in (3, 4):
        tokens += encode([*nest(rng, 3, partial(nest, rng, 1, leaf, most)), [], [[]]], 4)

    def oracles() -> dict[str, Oracle]:
        latency = adder or (value.wide.adder if op == "sum" else 1)
        both = Accumulate(
            1, banks, latency, size if mode == "dense" else None,
            partial(accumulated, op, value=value),
        )  # fmt: skip
        return {"dut.fill": both.fill, "dut.emit": both.emit}

    streams = sum(token.close == 4 for token in tokens)
    check(of(value, graph), {"s": tokens}, oracles, 3, sizes={"size_0": size}, streams=streams)


@pytest.mark.parametrize("value", [FP32, BF16], ids=name_of)
def test_accumulate_takes_wide_products(value: ValueType) -> None:
    graph = accumulate(1, (6,))
    first, *others = graph.nodes
    wide = replace(first, params={**first.params, "fields": ("crd/crd", "val/sum")})
    graph = replace(of(value, graph), nodes=(wide, *others))
    rng = random.Random(value.name)
    word = words(value.wide, rng)
    tokens = encode(nest(rng, 4, lambda: (rng.randrange(3), word()), 4), 4)

    def oracles() -> dict[str, Oracle]:
        total = partial(accumulated, "sum", value=value, wide="in")
        both = Accumulate(1, 4, 4, None, total)
        return {"dut.fill": both.fill, "dut.emit": both.emit}

    check(graph, {"s": tokens}, oracles, 3, sizes={"size_0": 6})


@pytest.mark.parametrize("fill", [0, 1.5, float("inf"), float("-inf"), float("nan")])
def test_drop_value(fill: float) -> None:
    value = FP32
    graph = of(value, graph_of(
        source("s", "crd/crd", "val/val", levels=("i",)),
        node("dut", "drop_value", edge("crd", "s", "crd"), edge("val", "s", "val"), fill=fill),
        sink("dut", "crd", "val"),
    ))  # fmt: skip
    numbers = [0.0, 1.5, -1.5, float("inf"), float("-inf"), float("nan")]
    tried = [value.encode(each) for each in numbers] + [1 << 31, 1, (1 << 31) | 5, 0x7F80_0001]

    def judge(heads: Any) -> Any:
        crd, val = heads["crd"], heads["val"]
        if crd is None or val is None:
            return None
        same = value.decode(val.payload[0]) == fill
        return {"crd", "val"}, Token(crd.payload + val.payload, 0, crd.close), same

    tokens = encode(list(enumerate(tried)), 1)
    check(graph, {"s": tokens}, lambda: {"dut": Filter("out", 0, judge)}, 1)


def test_union_fills_what_is_missing() -> None:
    graph = of(BF16, graph_of(
        source("l", "crd/crd", "v/val", levels=("i",)),
        source("r", "crd/crd", "w/sum", levels=("i",)),
        node("dut", "union", edge("left", "l", "crd", "v"), edge("right", "r", "crd", "w"),
             left=float("-inf"), right=1.5),
        sink("dut", "crd", "v", "w"),
    ))  # fmt: skip
    left, right = encode([(1, 0x3F80), (2, 0xFFFF)], 1), encode([(2, 0xFFFF_FFFF), (3, 7)], 1)
    absent = {"left": (0xFF80,), "right": (0x3FC0_0000,)}
    check(graph, {"l": left, "r": right}, lambda: {"dut": Union(absent)}, 1)


def test_array_loads_the_fill() -> None:
    graph = of(FP16, graph_of(
        source("s", "ref/ref", levels=("i",)),
        node("dut", "array", edge("ref", "s", "ref"), tensor="T"),
        sink("dut", "val"),
        tensors=[tensor("T", (4,), fill=float("-inf"))],
    ))  # fmt: skip
    stored = [0x7E01, 0x8001, 0xFFFF, 0x3C00]
    result = run(graph, {"s": encode([0, None, 1, 2, 3], 1)}, memories={"dut.val": stored})
    got = [token.payload[0] for token in result.edges["sink.in"].tokens]
    assert got == [0x7E01, 0xFC00, 0x8001, 0xFFFF, 0x3C00]


@pytest.mark.parametrize(
    ("value", "op", "pair", "raised"),
    [
        (FP32, "add", (0x7F7F_FFFF, 0x7F7F_FFFF), True),
        (FP32, "add", (0x7F80_0000, 0x7F7F_FFFF), False),
        (FP32, "mul", (0x7F7F_FFFF, 0x4000_0000), True),
        (BF16, "add", (0x7F7F, 0x7B7F), True),
        (FP16, "mul", (0x7BFF, 0x3C01), True),
        (INT8, "mul", (16, 8), True),
        (INT8, "mul", (-16, 8), False),
        (INT8, "sub", (-128, 1), True),
        (INT16, "add", (-1, -(1 << 15)), True),
    ],
)
def test_overflow_is_flagged(
    value: ValueType, op: str, pair: tuple[int, int], raised: bool
) -> None:
    graph = of(value, graph_of(
        source("s", "a/val", "b/val", levels=()),
        node("dut", "alu", edge("a", "s", "a"), edge("b", "s", "b"), op=op),
        sink("dut", "val"),
    ))  # fmt: skip
    result = run(graph, {"s": [Token(pair, 0, 0)]})
    assert result.flags == ({"dut.overflow"} if raised else set())


@pytest.mark.parametrize(
    ("value", "fiber", "raised"),
    [
        (FP32, [0x7F7F_FFFF, 0x7F7F_FFFF], True),  # in a pair
        (FP32, [0x7F7F_FFFF, *[0] * 7, 0x7F7F_FFFF, *[0xFF80_0000]], True),  # in a lane
        (FP32, [0x7F7F_FFFF, 0x7F80_0000], False),
        (BF16, [0x7F7F, 0x7B00], True),  # on leaving
        (INT8, [100, 100], True),  # on leaving
        (INT8, [100, 100, -100], False),
        (INT32, [2**31 - 1, 1, -1], True),
    ],
)
def test_reduce_flags_an_overflow(value: ValueType, fiber: list[int], raised: bool) -> None:
    graph = of(value, graph_of(
        source("s", "val/val"),
        node("dut", "reduce", edge("val", "s", "val")),
        sink("dut", "val"),
    ))  # fmt: skip
    result = run(graph, {"s": encode(fiber, 1)})
    assert result.flags == ({"dut.overflow"} if raised else set())


@pytest.mark.parametrize(
    ("value", "fiber", "raised"),
    [
        (FP32, [(0x7F7F_FFFF, 0x7F7F_FFFF)], True),  # in a product
        (FP32, [(0x7F80_0000, 0x7F7F_FFFF)], False),
        (FP32, [(0x7F7F_FFFF, 0x3F80_0000)] * 2, True),  # in a sum
        (BF16, [(0x7F7F, 0x3F80), (0x7B00, 0x3F80)], True),  # on leaving
        (BF16, [(0x5F80, 0x5F00), (0xDF80, 0x5F00)], False),  # products that fp32 holds
        (INT8, [(100, 2)], True),  # on leaving
        (INT8, [(100, 2), (-100, 1)], False),
        (INT32, [(65536, 32768)], True),
        (INT32, [(-65536, 32768)], False),
    ],
)
def test_products_flag_an_overflow(
    value: ValueType, fiber: list[tuple[int, int]], raised: bool
) -> None:
    graph = of(value, graph_of(
        source("s", "a/val", "b/val"),
        node("dut", "reduce", edge("a", "s", "a"), edge("b", "s", "b"), multiply=True),
        sink("dut", "val"),
    ))  # fmt: skip
    result = run(graph, {"s": encode(fiber, 1)})
    assert result.flags == ({"dut.overflow"} if raised else set())


@pytest.mark.parametrize(
    ("value", "word", "result", "raised"),
    [
        (FP32, 0x7F7F_FFFF, 0x7F80_0000, True),  # in the product
        (FP32, 0x7F80_0000, 0x7F80_0000, False),
        (FP32, 0x3F80_0000, 0x4110_0000, False),
        (INT8, 64, -121, True),
        (INT8, 61, -127, True),  # in the sum
    ],
)
def test_affine_flags_an_overflow(value: ValueType, word: int, result: int, raised: bool) -> None:
    graph = of(value, graph_of(
        source("s", "a/val", levels=()),
        node("dut", "unary", edge("a", "s", "a"), op="affine", constant=2, offset=7),
        sink("dut", "val"),
    ))  # fmt: skip
    played = run(graph, {"s": [Token((word,), 0, 0)]})
    assert played.edges["sink.in"].tokens == [Token((result,), 0, 0)]
    assert played.flags == ({"dut.overflow"} if raised else set())
    assert played.edges["sink.in"].pops == [1 + value.multiplier + value.adder]


def test_relu_hides_a_result_but_not_its_overflow() -> None:
    graph = of(FP32, graph_of(
        source("s", "a/val", "b/val"),
        node("dut", "alu", edge("a", "s", "a"), edge("b", "s", "b"), op="add", relu=True),
        sink("dut", "val"),
    ))  # fmt: skip
    nan, low = 0xFFC0_0001, 0xFF7F_FFFF
    result = run(graph, {"s": encode([(nan, 0), (1 << 31, 1 << 31), (low, 0)], 1)})
    assert [token.payload for token in result.edges["sink.in"].tokens] == [(FP32.nan,), (0,), (0,)]
    assert not result.flags
    result = run(graph, {"s": encode([(low, low)], 1)})
    assert [token.payload for token in result.edges["sink.in"].tokens] == [(0,)]
    assert result.flags == {"dut.overflow"}


def test_a_floating_sum_comes_twenty_cycles_after_its_end() -> None:
    graph = of(FP32, graph_of(
        source("s", "val/val", levels=("i", "j")),
        node("dut", "reduce", edge("val", "s", "val")),
        sink("dut", "val"),
    ))  # fmt: skip
    one_, two = 0x3F80_0000, 0x4000_0000
    result = run(graph, {"s": encode([[one_], [two], [], [one_, two]], 2)})
    assert result.edges["dut.val"].pops == [1, 2, 3, 4, 5]
    assert result.edges["sink.in"].issues == [1, 2, 3, 5]
    assert result.edges["sink.in"].pops == [21, 22, 23, 25]
    payloads = [token.payload[0] for token in result.edges["sink.in"].tokens]
    assert payloads == [one_, two, 0, 0x4040_0000]
