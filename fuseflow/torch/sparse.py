"""Sparse tensors in a trace: dense stand-ins, and what sparse functions mean on them.

PyTorch traces only part of its sparse functions. So the trace sees a strided tensor of the same
shape for every sparse one (without memory: a fake), functions of sparse layouts are rewritten to
their dense meaning, and the layouts come back as the types of the arguments.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from fuseflow.torch.errors import ExportError
from fuseflow.torch.untyped import torch_functions


class DenseMeaning(TorchFunctionMode):
    """Gives functions that are defined on sparse layouts their meaning on strided tensors."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Replace a function of the table, or refuse one that has none."""
        named = dict(kwargs or {})
        if func in _MEANINGS:
            return _MEANINGS[func](*args, **named)
        if func in _REFUSED:
            raise ExportError(_REFUSED[func])
        _refuse_sparse(*args)
        result = func(*args, **named)
        _refuse_sparse(result)
        return result


def _refuse_sparse(*values: object) -> None:
    """Refuse a tensor that is sparse itself, for which no stand-in was made."""
    for value in values:
        if isinstance(value, torch.Tensor) and value.layout != torch.strided:
            raise ExportError(
                "a sparse tensor is made inside forward, or comes from outside of the model: make "
                "it an input, or an attribute or a buffer of a module"
            )


def _same(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return tensor


def _to_dense(tensor: torch.Tensor, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    return tensor if dtype is None else tensor.to(dtype)


def _mm(left: torch.Tensor, right: torch.Tensor, reduce: str = "sum") -> torch.Tensor:
    if reduce != "sum":
        raise ExportError(f"torch.sparse.mm with reduce='{reduce}' has no linalg form: use a sum")
    return torch.mm(left, right)


def _sampled(
    pattern: torch.Tensor,
    left: torch.Tensor,
    right: torch.Tensor,
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
) -> torch.Tensor:
    """Return ``alpha * (left @ right)`` where the pattern is not zero, plus ``beta * pattern``."""
    product = torch.where(pattern != 0, _scaled(left @ right, alpha), 0.0)
    return product if beta == 0 else product + _scaled(pattern, beta)


def _scaled(tensor: torch.Tensor, factor: float) -> torch.Tensor:
    return tensor if factor == 1 else tensor * factor


def _softmax(tensor: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Return the softmax of the entries that are not zero; the others stay zero."""
    scores = _to_dense(tensor, dtype)
    return torch.softmax(torch.where(scores != 0, scores, float("-inf")), dim)


def _sum(tensor: torch.Tensor, dim: Any = None, dtype: torch.dtype | None = None) -> torch.Tensor:
    return torch.sum(tensor, dtype=dtype) if dim is None else torch.sum(tensor, dim, dtype=dtype)


def _masked(tensor: torch.Tensor, pattern: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.where(pattern != 0, tensor, 0.0)


def _yes(tensor: torch.Tensor, *_: Any) -> bool:
    return True


_MEANINGS: Mapping[Any, Callable[..., Any]] = {
    torch_functions.sparse.mm: _mm,
    torch_functions.sparse.addmm: torch.addmm,
    torch.sspaddmm: torch.addmm,
    torch.Tensor.sspaddmm: torch.addmm,
    torch.smm: torch.mm,
    torch.hspmm: torch.mm,
    torch_functions.sparse.sampled_addmm: _sampled,
    torch_functions.sparse.softmax: _softmax,
    torch_functions._sparse_sum: _sum,
    torch.Tensor.coalesce: _same,
    torch.Tensor.is_coalesced: _yes,
    torch.Tensor.sparse_mask: _masked,
    torch.Tensor.to_dense: _to_dense,
    torch.Tensor.to_sparse: _same,
    torch.Tensor.to_sparse_coo: _same,
    torch.Tensor.to_sparse_csr: _same,
    torch.Tensor.to_sparse_csc: _same,
    torch.Tensor.to_sparse_bsr: _same,
}

_TAKEN_APART = (
    "indices", "values", "_indices", "_values", "crow_indices", "col_indices", "ccol_indices",
    "row_indices", "_nnz",
)  # fmt: skip

_REFUSED: Mapping[Any, str] = {
    getattr(torch.Tensor, name): (
        f"Tensor.{name} takes the storage of a sparse tensor apart: compute with the tensor itself"
    )
    for name in _TAKEN_APART
} | {
    torch_functions.sparse.log_softmax: (
        "torch.sparse.log_softmax has no dense meaning: use torch.sparse.softmax, or log_softmax "
        "of scores that are -inf where nothing is stored"
    ),
}
