"""GraphSAGE of two layers with the mean aggregator (Hamilton, Ying and Leskovec)."""

import torch
from torch import Tensor, nn

FORMATS: dict[str, str] = {}
"""None: the adjacency is a sparse tensor, and features are dense or one."""

REGIONS = ("layer1", "layer2")


class Layer(nn.Module):
    """W_self x + W_neighbours mean(x) + b, and ReLU where the layer is not the last."""

    def __init__(self, features: int, width: int, last: bool) -> None:
        super().__init__()
        self.itself = nn.Linear(features, width)
        self.neighbours = nn.Linear(features, width, bias=False)
        self.last = last

    def forward(self, mean: Tensor, x: Tensor) -> Tensor:
        """Return a row of the width for every node."""
        sums = self.itself(x) + self.neighbours(mean @ x)
        return sums if self.last else torch.relu(sums)


class ConcatenatingLayer(nn.Module):
    """W [x, mean(x)] + b as the paper writes it: the same function with one weight."""

    def __init__(self, features: int, width: int, last: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(2 * features, width)
        self.last = last

    def forward(self, mean: Tensor, x: Tensor) -> Tensor:
        """Return a row of the width for every node."""
        sums = self.linear(torch.cat([x, mean @ x], dim=1))
        return sums if self.last else torch.relu(sums)


class GraphSAGE(nn.Module):
    """Logits of the classes of nodes."""

    def __init__(self, features: int, hidden: int, classes: int, concatenate: bool = False) -> None:
        super().__init__()
        layer = ConcatenatingLayer if concatenate else Layer
        self.layer1 = layer(features, hidden, last=False)
        self.layer2 = layer(hidden, classes, last=True)

    def forward(self, mean: Tensor, x: Tensor) -> Tensor:
        """Return nodes x classes; rows of `mean` add up to 1, nodes x nodes."""
        return self.layer2(mean, self.layer1(mean, x))
