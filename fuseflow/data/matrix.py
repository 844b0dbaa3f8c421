"""Matrices from tensor files."""

from os import PathLike
from typing import Any

import numpy as np

from fuseflow.samml.values import FP32
from fuseflow.tensor import Tensor


def matrix(path: str | PathLike[str]) -> Any:
    """Read a matrix from a ``.mtx``, ``.tns`` or ``.npz`` file.

    Returns
    -------
    scipy.sparse.csr_array of float32

    Raises
    ------
    TensorError
        The file is unreadable, or holds no matrix.
    """
    return Tensor.read(path, "CSR", value=FP32).to_scipy().tocsr().astype(np.float32)
