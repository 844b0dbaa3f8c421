"""Value types: words against the scalar definition, against NumPy, and exactly."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuseflow.samml.values import BF16, FP16, FP32, INT8, INT16, INT32, ValueType
from fuseflow.tensor import Tensor
from fuseflow.tensor.words import decode, encode

FLOATS = (BF16, FP16, FP32)
DTYPES = {
    INT8: np.int8,
    INT16: np.int16,
    INT32: np.int32,
    BF16: ml_dtypes.bfloat16,
    FP16: np.float16,
    FP32: np.float32,
}


@st.composite
def near_ties(draw: st.DrawFn, value: ValueType) -> float:
    """Draw a float64 at or beside the middle of two neighbouring values, or a boundary."""
    word = draw(st.integers(0, value.encode(math.inf) - 1))
    low, high = float(value.decode(word)), float(value.decode(word + 1))
    middle = (low + high) / 2 if math.isfinite(high) else low + (low - value.decode(word - 1)) / 2
    steps = draw(st.integers(-2, 2))
    for _ in range(abs(steps)):
        middle = math.nextafter(middle, math.copysign(math.inf, steps))
    return math.copysign(middle, draw(st.sampled_from([1, -1])))


@pytest.mark.parametrize("value", FLOATS, ids=lambda value: value.name)
@given(st.data())
def test_words_are_those_of_the_scalar_definition(value: ValueType, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.one_of(near_ties(value), st.floats()), min_size=1))
    words = encode(np.array(numbers, np.float64), value)
    assert words.tolist() == [value.encode(number) for number in numbers]
    back = decode(words, value)
    assert back.dtype == DTYPES[value]
    np.testing.assert_array_equal(
        back.astype(np.float64), [value.decode(word) for word in words.tolist()]
    )


@pytest.mark.parametrize("value", FLOATS, ids=lambda value: value.name)
@given(st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1))
@example([2**62 + 2**38 + 1, 2**62 + 2**38, -(2**62) - 2**54 - 1, 2**63 + 2**39 + 1])
def test_integers_of_any_size_round_once(value: ValueType, integers: list[int]) -> None:
    for integer in integers:
        dtype = np.uint64 if integer >= 2**63 else np.int64
        word = int(encode(np.array([integer], dtype), value)[0])
        sign = 1 << (value.bits - 1)
        size, word = abs(integer), word & (sign - 1)
        got = value.decode(word)
        if math.isinf(got):
            assert size >= value.largest + Fraction(2) ** (value.bias - value.fraction) / 2
            continue
        off = abs(Fraction(got) - size)
        for other in (word - 1, word + 1):
            if word and math.isfinite(value.decode(other)):
                distance = abs(Fraction(value.decode(other)) - size)
                assert off < distance or (off == distance and word % 2 == 0)


@pytest.mark.parametrize("value", FLOATS, ids=lambda value: value.name)
@given(st.data())
def test_words_are_those_of_the_natural_dtype(value: ValueType, data: st.DataObject) -> None:
    width = 32 if value is BF16 else 64  # ml_dtypes itself rounds a float64 twice
    numbers = np.array(data.draw(st.lists(st.floats(width=width, allow_nan=False))), np.float64)
    source = numbers.astype(np.float32) if value is BF16 else numbers
    with np.errstate(over="ignore", under="ignore"):
        cast = source.astype(DTYPES[value])
    cast = cast[np.abs(numbers) >= value.smallest]
    words = encode(numbers[np.abs(numbers) >= value.smallest], value)
    assert words.tolist() == cast.view(f"u{value.bits // 8}").tolist()


@pytest.mark.parametrize("value", DTYPES, ids=lambda value: value.name)
def test_to_numpy_has_the_natural_dtype(value: ValueType) -> None:
    tensor = Tensor.from_numpy("x", [0, 1, -2, 3], "s", value=value)
    assert tensor.to_numpy().dtype == DTYPES[value]
    assert tensor.to_numpy().tolist() == [0, 1, -2, 3]
    assert tensor.entries()[1].dtype == DTYPES[value]
    assert tensor.image().vals == [value.encode(number) for number in (1, -2, 3)]
    assert tensor.to_scipy().toarray().tolist() == [0, 1, -2, 3]


@pytest.mark.parametrize(
    "dtype",
    ["?", "i1", "u2", "i8", "u8", "f2", "f4", "f8", "longdouble", "bfloat16", "float8_e4m3fn"],
)
@pytest.mark.parametrize("value", [INT8, BF16], ids=lambda value: value.name)
def test_takes_every_real_dtype(dtype: str, value: ValueType) -> None:
    array = np.array([0, 1, 0, 1]).astype(dtype)
    assert Tensor.from_numpy("x", array, "s", value=value).to_numpy().tolist() == [0, 1, 0, 1]


def test_rounds_fractions_on_request() -> None:
    tensor = Tensor.from_numpy("x", [0.4, 0.5, 1.5, -2.7], "d", round_values=True)
    assert tensor.to_numpy().tolist() == [0, 0, 2, -3]


def test_small_values_flush_and_are_not_stored() -> None:
    below = math.nextafter(FP16.smallest, 0)
    tensor = Tensor.from_numpy("x", [below, -below, FP16.smallest], "s", value=FP16)
    assert tensor.image().crds == ([2],)
    dense = Tensor.from_numpy("x", [below, -below], "d", value=FP16)
    assert dense.image().vals == [0, 0x8000]


def test_infinite_fill() -> None:
    tensor = Tensor.from_numpy("S", [[1, -math.inf], [-math.inf, 2]], fill=-math.inf, value=BF16)
    assert tensor.positions == (2, 2)
    assert tensor.to_numpy().tolist() == [[1, -math.inf], [-math.inf, 2]]
    assert tensor.convert("dd").image().vals == [0x3F80, 0xFF80, 0xFF80, 0x4000]


@pytest.mark.parametrize(
    ("fill", "kept"), [(-0.0, 0), (2.0, 2), (np.float32(0.5), 0.5), (True, 1), (np.int64(3), 3)]
)
def test_fills_are_plain_numbers(fill: float, kept: float) -> None:
    tensor = Tensor.from_numpy("x", [1, 2], fill=fill, value=FP32)
    assert tensor.fill == kept
    assert type(tensor.fill) is type(kept)
    assert math.copysign(1, tensor.fill) == 1
