"""Models and tensors that several tests export."""

import warnings
from collections.abc import Callable
from typing import Any

import torch


class Function(torch.nn.Module):
    """A function as a model, with the buffers that it may read as attributes of its first input."""

    def __init__(self, function: Callable[..., Any], **buffers: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, data in buffers.items():
            self.register_buffer(name, data)

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.function(*tensors)


class Propagation(torch.nn.Module):
    """A layer of a graph network."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(features, width)

    def forward(self, adj: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(adj @ self.fc(x))


def quietly(make: Callable[[], torch.Tensor]) -> torch.Tensor:
    """Make a sparse tensor without PyTorch's notice that such tensors are in beta state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return make()


def sparse(layout: str, rows: int = 6, columns: int = 6, seed: int = 1) -> torch.Tensor:
    """Return a matrix with a third of its entries, in a layout that `Argument` names."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(rows, columns, generator=generator)
    dense = torch.where(torch.rand(rows, columns, generator=generator) < 1 / 3, dense, 0.0)
    return stored(dense, layout, (2, 3))


def stored(dense: torch.Tensor, layout: str, blocks: tuple[int, int]) -> torch.Tensor:
    """Return a matrix in a layout that `Argument` names."""
    match layout:
        case "COO":
            return dense.to_sparse_coo()
        case "CSR":
            return quietly(dense.to_sparse_csr)
        case "CSC":
            return quietly(dense.to_sparse_csc)
        case "BSR":
            return quietly(lambda: dense.to_sparse_bsr(blocks))
        case _:
            return dense
