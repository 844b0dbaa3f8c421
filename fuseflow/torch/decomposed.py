"""Operators that are taken apart before torch-mlir sees them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from fuseflow.torch.untyped import decompositions


def table() -> dict[Any, Callable[..., Any]]:
    """Return what computes operators from others: torch-mlir's own table, and `_OWN`."""
    return {**decompositions(), **_OWN}


def _roll(x: torch.Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> torch.Tensor:
    """Put slices behind one another: torch-mlir computes their sizes when it runs."""
    if not dims:
        return _roll(x.flatten(), shifts, (0,)).view(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim] if x.ndim else 0
        if size and shift % size:
            cut = size - shift % size
            x = torch.cat([x.narrow(dim, cut, size - cut), x.narrow(dim, 0, cut)], dim)
    return x.clone()


def _neg(x: torch.Tensor) -> torch.Tensor:
    """Subtract an integer from 0: torch-mlir makes a floating-point number of it, and rounds."""
    return NotImplemented if x.dtype.is_floating_point else torch.rsub(x, 0)


_OWN: Mapping[Any, Callable[..., Any]] = {
    torch.ops.aten.roll.default: _roll,
    torch.ops.aten.neg.default: _neg,
}
