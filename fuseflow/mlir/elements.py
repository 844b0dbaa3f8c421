"""Element types of MLIR and what NumPy makes of them."""

from typing import Any

import ml_dtypes
import numpy as np

_DTYPES: dict[str, np.dtype[Any]] = {
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "ui8": np.dtype(np.uint8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "index": np.dtype(np.int64),
}


def is_element(name: str) -> bool:
    """Whether values of a type can be computed with, at least in constants."""
    return name in _DTYPES


def dtype_of(name: str) -> np.dtype[Any]:
    """Return the dtype of an element type."""
    return _DTYPES[name]
