"""Arithmetic on whole arrays says what it says of one word at a time, flag included."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseflow.samml.streams import Kind
from fuseflow.samml.values import Number, ValueType
from sim_models.arithmetic import Fold, apply, numbers, rounded, words
from sim_models.storage import Flags
from tests.sim_models.words import FLOATS, FOLDS, TYPES, edge_words


def quotient(a: Number, b: Number) -> float:
    if b:
        return a / b
    negative = math.copysign(1, a) * math.copysign(1, b) < 0
    return math.nan if a == 0 or a != a else -math.inf if negative else math.inf


def greater(a: Number, b: Number) -> Number:
    if a != a or b != b:
        return math.nan
    return max(a, b, key=lambda x: (x, math.copysign(1, x)))


SCALAR: dict[str, Callable[..., Number]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": greater,
    "min": lambda a, b: -greater(-a, -b),
    "neg": operator.neg,
    "abs": abs,
    "div": quotient,
    "reciprocal": lambda a: quotient(1, a),
    "sqrt": lambda a: math.nan if a < 0 else math.sqrt(a),
}
FLOATING = ("div", "reciprocal", "sqrt")
CASES = [
    pytest.param(value, op, id=f"{value.name}-{op}")
    for value in TYPES
    for op in SCALAR
    if value.is_float or op not in FLOATING
]


def word_of(value: ValueType) -> st.SearchStrategy[int]:
    """Return any word; often one at which arithmetic changes its ways."""
    first = 0 if value.is_float else int(value.low)
    return st.sampled_from(edge_words(value)) | st.integers(first, first + (1 << value.bits) - 1)


def near(value: ValueType, word: int, bits: int) -> int:
    """Return nearly the negative of a word, whose sum with it cancels."""
    return word ^ (1 << value.bits - 1 | bits) if value.is_float else value.wrap(bits - word)


def pairs_of(value: ValueType) -> st.SearchStrategy[tuple[int, int]]:
    word = word_of(value)
    cancelling = st.builds(lambda a, bits: (a, near(value, a, bits)), word, st.integers(0, 3))
    return st.tuples(word, word) | cancelling


def write(value: ValueType, exact: Number, flags: Flags) -> int:
    """Round one number; note where it left the type's range."""
    word = value.encode(exact)
    infinite = math.isinf(value.decode(word)) and math.isfinite(exact)
    flags.overflow |= infinite if value.is_float else word != exact
    return word


def array(words: Sequence[int]) -> Any:
    return np.array(words, np.int64)


@pytest.mark.parametrize(("value", "op"), CASES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_operations(value: ValueType, op: str, data: st.DataObject) -> None:
    to = data.draw(st.sampled_from([value, value.wide])) if op == "mul" else value
    pairs = data.draw(st.lists(pairs_of(value), max_size=20))
    operands = list(zip(*pairs, strict=True)) or [(), ()]
    if op in ("neg", "abs", "reciprocal", "sqrt"):
        del operands[1:]
    one, many = Flags(), Flags()
    expected = [
        write(to, SCALAR[op](*map(value.decode, each)), one) for each in zip(*operands, strict=True)
    ]
    found = apply(op, to, many, *(numbers(value, array(operand)) for operand in operands))
    assert words(to, found).tolist() == expected
    assert many == one


@pytest.mark.parametrize("value", FLOATS, ids=lambda value: value.name)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_float64_is_rounded_at_once(value: ValueType, data: st.DataObject) -> None:
    # Beside the middle of two values two roundings, the first to a narrower type, differ from one.
    middle = word_of(value).map(lambda word: (value.decode(word & ~1) + value.decode(word | 1)) / 2)
    ties = st.builds(math.nextafter, middle, middle | st.just(math.inf) | st.just(-math.inf))
    # No operation on words gives more.
    others = st.floats(-(2.0**1010), 2.0**1010)
    exact = data.draw(st.lists(others | ties, max_size=20))
    one, many = Flags(), Flags()
    expected = [write(value, number, one) for number in exact]
    found = rounded(value, np.array(exact, np.float64), many)
    assert words(value, found).tolist() == expected
    assert many == one


@pytest.mark.parametrize("value", TYPES, ids=lambda value: value.name)
@pytest.mark.parametrize(("op", "kind", "wide"), FOLDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_folds(value: ValueType, op: str, kind: str, wide: bool, data: st.DataObject) -> None:
    one, many = Flags(), Flags()
    fold = Fold.of({"op": op, "wide": wide}, value, Kind(kind), many)
    pairs = data.draw(st.lists(pairs_of(fold.addend), max_size=12))
    addends = [word for pair in pairs for word in pair]
    count = data.draw(st.integers(1, 4))
    places = st.integers(0, count - 1)
    groups = data.draw(st.lists(places, min_size=len(addends), max_size=len(addends)))
    totals = [fold.inside.encode(fold.first)] * count
    for group, word in zip(groups, addends, strict=True):
        partial = SCALAR[fold.op](fold.inside.decode(totals[group]), fold.addend.decode(word))
        totals[group] = write(fold.inside, partial, one)
    expected = [write(fold.result, fold.inside.decode(total), one) for total in totals]
    found = fold.totals(numbers(fold.addend, array(addends)), array(groups), count)
    assert fold.words(found).tolist() == expected
    assert many == one
