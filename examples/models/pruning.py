"""Magnitude pruning: the smallest weights of every linear layer become zero."""

from torch import nn
from torch.nn.utils import prune


def prune_linear(model: nn.Module, share: float) -> None:
    """Set a share of the weights of every linear layer to zero for good, the smallest first."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            prune.l1_unstructured(module, "weight", share)
            prune.remove(module, "weight")
