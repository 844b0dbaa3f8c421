"""A stack of pruned convolutions, each one a product with a sparse matrix of zeros and ones.

An image is a matrix with a row for every pixel and a column for every channel. A convolution reads
a window of pixels for every pixel that it writes: the matrix U has a row for every place in every
window, with a 1 at the pixel that stands there, or nothing where the window leaves the image. So
``U @ x`` is the unfolded image (im2col), and the convolution is a linear layer on it. Stride,
padding, dilation and the window's shape are all in U, for every layer alike; nothing is prepared
outside of the model.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.models.pruning import prune_linear

FORMATS = {"layers.0.linear.weight": "CSR", "layers.1.linear.weight": "CSR"}
REGIONS = ("layers.0", "layers.1")


def unfolding(height: int, width: int, kernel: int, stride: int, padding: int) -> Tensor:
    """Return U, (pixels written * places of a window) x pixels read, as CSR.

    PyTorch's own unfolding of an image that holds the numbers of its pixels says which they are.
    """
    numbers = torch.arange(1.0, height * width + 1, dtype=torch.float64).view(1, 1, height, width)
    windows = functional.unfold(numbers, kernel, padding=padding, stride=stride)[0].T.reshape(-1)
    rows = windows.nonzero()[:, 0]
    places = torch.stack([rows, windows[rows].long() - 1])
    shape = (len(windows), height * width)
    ones = torch.ones(len(rows))
    return torch.sparse_coo_tensor(
        places, ones, shape, check_invariants=True, is_coalesced=True
    ).to_sparse_csr()


class Convolution(nn.Module):
    """A convolution with ReLU."""

    def __init__(self, channels: int, filters: int, kernel: int, unfold: Tensor) -> None:
        super().__init__()
        self.places = kernel * kernel
        self.linear = nn.Linear(channels * self.places, filters)
        self.register_buffer("unfold", unfold)

    def forward(self, x: Tensor) -> Tensor:
        """Return pixels x filters from pixels x channels."""
        windows = (self.unfold @ x).reshape(-1, self.linear.in_features)
        return torch.relu(self.linear(windows))


class CNN(nn.Module):
    """Convolutions of 3 x 3 windows at stride 1 that keep the image's size."""

    def __init__(
        self, height: int, width: int, channels: tuple[int, ...], pruned: float = 0.9
    ) -> None:
        super().__init__()
        unfold = unfolding(height, width, kernel=3, stride=1, padding=1)
        self.layers = nn.Sequential(
            *(Convolution(before, after, 3, unfold) for before, after in pairwise(channels))
        )
        prune_linear(self, pruned)

    def forward(self, x: Tensor) -> Tensor:
        """Return pixels x filters of the last layer."""
        return self.layers(x)
