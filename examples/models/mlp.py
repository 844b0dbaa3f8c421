"""A pruned multilayer perceptron."""

from itertools import pairwise

from torch import Tensor, nn

from examples.models.pruning import prune_linear


def formats(layers: int) -> dict[str, str]:
    """Return the formats of a perceptron of so many linear layers."""
    return {f"{name}.weight": "CSR" for name in _linear(layers)}


def regions(layers: int) -> tuple[str, ...]:
    """Return the regions: every linear layer, whose sums the next one reads many times, alone."""
    return (*_linear(layers), "softmax")


class MLP(nn.Module):
    """Linear layers with ReLU between them, and a softmax."""

    def __init__(self, *widths: int, pruned: float = 0.9) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])
        self.softmax = nn.Softmax(dim=-1)
        prune_linear(self, pruned)

    def forward(self, x: Tensor) -> Tensor:
        """Return probabilities, rows x classes."""
        return self.softmax(self.layers(x))


def _linear(layers: int) -> list[str]:
    return [f"layers.{2 * number}" for number in range(layers)]
