"""A graph convolutional network of two layers (Kipf and Welling)."""

import torch
from torch import Tensor, nn

FORMATS: dict[str, str] = {}
"""None: the adjacency is a sparse tensor, and features are dense or one."""

REGIONS = ("conv1", "conv2")


class GraphConvolution(nn.Module):
    """A x W + b, and ReLU where the layer is not the last."""

    def __init__(self, features: int, width: int, last: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features, width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.last = last
        nn.init.xavier_uniform_(self.weight)

    def forward(self, adj: Tensor, x: Tensor) -> Tensor:
        """Return a row of the width for every node."""
        return self.update(adj @ x)

    def update(self, sums: Tensor) -> Tensor:
        """Return the layer's rows from the sums over each node's neighbours."""
        rows = sums @ self.weight + self.bias
        return rows if self.last else torch.relu(rows)


class GCN(nn.Module):
    """Classes of nodes: logits, or their softmax."""

    def __init__(
        self, features: int, hidden: int, classes: int, probabilities: bool = False
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.5)
        self.conv1 = GraphConvolution(features, hidden, last=False)
        self.conv2 = GraphConvolution(hidden, classes, last=True)
        self.probabilities = probabilities

    def forward(self, adj: Tensor, x: Tensor) -> Tensor:
        """Return nodes x classes; the adjacency is normalised, nodes x nodes."""
        return self.classify(adj, self.conv1(adj, x))

    def classify(self, adj: Tensor, hidden: Tensor) -> Tensor:
        """Return what the second layer makes of the rows of the first."""
        logits = self.conv2(adj, self.dropout(hidden))
        return torch.softmax(logits, dim=1) if self.probabilities else logits
