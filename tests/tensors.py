"""Hypothesis strategies of tensors: every rank, format, value type and fill."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.values import VALUE_TYPES, Number, ValueType
from fuseflow.tensor import Tensor

VALUES = tuple(VALUE_TYPES.values())


@st.composite
def formats(draw: st.DrawFn, rank: int) -> Format:
    kinds = draw(st.tuples(*[st.sampled_from(LevelKind)] * rank))
    return Format(kinds, tuple(draw(st.permutations(range(rank)))))


def fills(value: ValueType) -> list[Number]:
    """Return fills that the type holds."""
    return [0, 7, -math.inf, -0.5] if value.is_float else [0, 7, value.low]


def numbers(value: ValueType, fill: Number) -> st.SearchStrategy[Number]:
    """Draw numbers that fit the type: the fill, small ones, and the extremes."""
    small = st.integers(-3, 3)
    if not value.is_float:
        return st.one_of(st.just(fill), small, st.sampled_from([value.low, value.high]))
    most = float(value.largest)
    extremes = [0.0, -0.0, value.smallest, value.smallest / 2, most, -most]
    return st.one_of(
        st.just(fill), small, st.sampled_from(extremes), st.floats(-most, most, allow_nan=False)
    )


@st.composite
def tensors(
    draw: st.DrawFn,
    most: int = 4,
    values: tuple[ValueType, ...] = VALUES,
    filled: bool = True,
) -> Tensor:
    """Draw a tensor whose array also holds what the format does not store."""
    shape = draw(st.lists(st.integers(0, 4 if most < 4 else 3), max_size=most))
    value = draw(st.sampled_from(values))
    fill = draw(st.sampled_from(fills(value))) if filled else 0
    size = math.prod(shape)
    flat = draw(st.lists(numbers(value, fill), min_size=size, max_size=size))
    dtype = np.float64 if value.is_float else np.int64
    array = np.array(flat, dtype).reshape(shape)
    form = draw(formats(len(shape)))
    return Tensor.from_numpy("T", array, form, fill=fill, value=value)


def words(tensor: Tensor) -> Any:
    """Return the dense array of words, -0 as +0: what a tensor means, bit by bit."""
    dense = tensor.to_numpy()
    return (dense + np.zeros((), dense.dtype)).view(f"u{dense.dtype.itemsize}")
