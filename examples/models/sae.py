"""A sparse autoencoder: pruned encoder and decoder, and codes that ReLU makes sparse."""

import torch
from torch import Tensor, nn

from examples.models.pruning import prune_linear

FORMATS = {"encoder.weight": "CSR", "decoder.weight": "CSR"}
REGIONS = ("encoder", "decoder")


class SparseAutoencoder(nn.Module):
    """relu(W x + b), and back."""

    def __init__(self, features: int, codes: int, pruned: float = 0.9) -> None:
        super().__init__()
        self.encoder = nn.Linear(features, codes)
        self.decoder = nn.Linear(codes, features)
        prune_linear(self, pruned)

    def forward(self, x: Tensor) -> Tensor:
        """Return what the codes say of each row."""
        return self.decoder(torch.relu(self.encoder(x)))
