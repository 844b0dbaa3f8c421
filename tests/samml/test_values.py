"""Value types: words, rounding, and the constants of the standard (IEEE 754-2019)."""

import math
import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuseflow.samml.values import BF16, FP16, FP32, INT8, INT16, INT32, VALUE_TYPES, ValueType
from tests.samml.strategies import quick

FLOATS = (BF16, FP16, FP32)
DTYPES = {BF16: ml_dtypes.bfloat16, FP16: np.float16, FP32: np.float32}


@pytest.mark.parametrize("value", FLOATS, ids=lambda value: value.name)
def test_every_exponent_and_some_significands_round_trip(value: ValueType) -> None:
    assert value.fraction is not None
    for exponent in range(1, (1 << value.exponent) - 1):
        for significand in {0, 1, (1 << value.fraction) - 1, 0x55 & ((1 << value.fraction) - 1)}:
            word = exponent << value.fraction | significand
            assert value.encode(value.decode(word)) == word
            assert value.encode(-value.decode(word)) == word | 1 << (value.bits - 1)


@pytest.mark.parametrize("value", FLOATS, ids=lambda value: value.name)
def test_constants(value: ValueType) -> None:
    info = ml_dtypes.finfo(DTYPES[value])
    assert value.largest == float(info.max)
    assert value.smallest == float(info.smallest_normal)
    assert value.unit == float(info.eps) / 2
    assert value.encode(math.inf) == int(
        np.array(np.inf, DTYPES[value]).view(f"u{value.bits // 8}")
    )
    assert math.isnan(value.decode(value.nan))
    assert value.encode(math.nan) == value.nan


@quick
@given(st.floats(width=32, allow_nan=False), st.sampled_from(FLOATS))
def test_rounding_is_that_of_numpy(number: float, value: ValueType) -> None:
    """Where nothing is subnormal; a float32 has no double rounding on its way to 16 bits."""
    with np.errstate(over="ignore"):
        rounded = np.float32(number).astype(DTYPES[value])
    if abs(number) >= value.smallest or number == 0:
        assert value.encode(number) == int(rounded.view(f"u{value.bits // 8}"))
    else:
        assert value.decode(value.encode(number)) == 0
        assert math.copysign(1, value.decode(value.encode(number))) == math.copysign(1, number)


def test_ties_go_to_even_and_below_the_smallest_flushes() -> None:
    assert FP32.encode(1 + 2**-24) == FP32.encode(1)
    assert FP32.encode(1 + 3 * 2**-24) == FP32.encode(1 + 2**-22)
    assert FP32.encode(FP32.smallest * (1 - 2**-30)) == 0
    assert FP16.decode(0x03FF) == 0
    assert BF16.encode(float(BF16.largest) * (1 + 2**-8)) == BF16.encode(math.inf)
    assert FP32.decode(struct.unpack("<I", struct.pack("<f", 0.1))[0]) == np.float32(0.1)


def test_wide_types() -> None:
    assert {value.name: value.wide.name for value in VALUE_TYPES.values()} == {
        "int8": "int32", "int16": "int32", "int32": "int32",
        "bf16": "fp32", "fp16": "fp32", "fp32": "fp32",
    }  # fmt: skip


def test_identities_and_what_a_type_holds() -> None:
    assert INT8.identity("max") == -128
    assert INT16.identity("min") == 2**15 - 1
    assert FP32.identity("max") == -math.inf
    assert INT32.identity("sum") == 0
    assert INT8.holds(-128)
    assert not INT8.holds(128)
    assert not INT32.holds(0.5)
    assert not INT32.holds(math.inf)
    assert not INT32.holds(10**400)
    assert not FP32.holds(10**400)
    assert BF16.holds(-math.inf)
    assert not BF16.holds(0.1)
    assert FP16.holds(65504)
    assert not FP16.holds(65505)
