"""A unit that does the work of two gives the words and the flag of the two."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from fuseflow.samml.values import Number, ValueType
from tests.sim_models.dense import Step, dense_bench
from tests.sim_models.words import TYPES, Words, edge_pairs, edge_words, random_pairs, random_words

Steps = Sequence[Step]
PRODUCT, WIDE, SUM = {"op": "mul"}, {"op": "mul", "wide": True}, ("reduce", "val", {})
PAIRS: dict[str, tuple[Steps, Steps]] = {
    **{
        f"{op}_relu": (
            [("alu", "", {"op": op, "relu": True})],
            [("alu", "", {"op": op}), ("unary", "a", {"op": "relu"})],
        )
        for op in ("add", "sub", "mul", "div", "max", "min")
    },
    "products": ([("reduce", "", {"multiply": True})], [("alu", "", WIDE), SUM]),
    "products_onward": (
        [("reduce", "", {"multiply": True, "wide": True}), SUM],
        [("alu", "", WIDE), ("reduce", "val", {"wide": True}), SUM],
    ),
    **{
        f"products_{op}": (
            [("reduce", "", {"multiply": True, "op": op})],
            [("alu", "", PRODUCT), ("reduce", "val", {"op": op})],
        )
        for op in ("max", "min")
    },
}
"""Of two operands: one unit, and two."""

FLAGLESS = ("max_relu", "min_relu")
CASES = [
    pytest.param(name, value, id=f"{name}-{value.name}")
    for name in PAIRS
    for value in TYPES
    if value.is_float or name != "div_relu"
]


def outcome(
    value: ValueType, operands: Mapping[str, Words], steps: Steps
) -> tuple[list[int], bool]:
    """Return words and flag, on which meaning and cycle model agree."""
    it = dense_bench(value, operands, steps)
    golden, run = it.golden(), it.run(trace=False)
    words = list(golden.outputs["X"].vals)
    assert list(run.outputs["X"].vals) == words
    assert run.flags == golden.flags
    return words, run.flags.overflow


def check_alike(
    value: ValueType, operands: Mapping[str, Words], fused: Steps, plain: Steps
) -> bool:
    """Compare the two ways; return the flag."""
    words, overflow = outcome(value, operands, fused)
    assert (words, overflow) == outcome(value, operands, plain)
    return overflow


def check_operands(name: str, value: ValueType, a: Words, b: Words, width: int = 1) -> bool:
    """Compare on operands, in fibers of a width where there is a fold."""
    fused, plain = PAIRS[name]
    folds = sum(primitive == "reduce" for primitive, _, _ in fused)
    shape = (-1, *(1 if len(a) < 3 * width else 3, width)[2 - folds :])
    whole = len(a) // (3 * width) * 3 * width or len(a)
    operands = {port: each[:whole].reshape(shape) for port, each in (("a", a), ("b", b))}
    return check_alike(value, operands, fused, plain)


@pytest.mark.parametrize(("name", "value"), CASES)
def test_two_operands(name: str, value: ValueType) -> None:
    edges, others = edge_pairs(value), random_pairs(value, 4_000, seed=4)
    a, b = (np.concatenate(both) for both in zip(edges, others, strict=True))
    for width in (1, 2, 7, 8, 9, 23) if "products" in name else (1,):
        check_operands(name, value, a, b, width)


@pytest.mark.parametrize(("name", "value"), CASES)
def test_the_flag_of_one_pair(name: str, value: ValueType) -> None:
    """A flag is sticky, so that only runs of one pair tell which pairs raise it."""
    numbers = [0, 1, -1, 3, value.largest, -value.largest, value.low]
    numbers += [value.smallest, -value.smallest] if value.is_float else []
    words = [np.array([value.encode(number)], np.int64) for number in numbers]
    flags = {check_operands(name, value, a, b) for a in words for b in words}
    assert flags == ({False} if name in FLAGLESS else {False, True})


def constants(value: ValueType) -> list[tuple[Number, Number]]:
    """Return factors and offsets: both round, cancel or leave the range."""
    some = [(-3, 5), (value.high, value.low), (-1, value.low)]
    if value.is_float:
        some += [(value.largest, -value.largest), (0.375, -0.0), (value.smallest, 1.5)]
    return some


@pytest.mark.parametrize("value", TYPES, ids=lambda value: value.name)
def test_affine(value: ValueType) -> None:
    edges = np.array(edge_words(value), np.int64)
    a = np.concatenate([edges, random_words(value, 2_000, seed=6)])
    for constant, offset in constants(value):
        fused = [("unary", "", {"op": "affine", "constant": constant, "offset": offset})]
        plain = [
            ("unary", "", {"op": "scale", "constant": constant}),
            ("unary", "a", {"op": "shift", "constant": offset}),
        ]
        check_alike(value, {"a": a}, fused, plain)
        for k in range(len(edges)):
            check_alike(value, {"a": a[k : k + 1]}, fused, plain)
