"""A decoder block of GPT-3 small with block-sparse attention (BigBird)."""

import torch
from torch import Tensor, nn

FORMATS = {"attention.mask": "CSR"}
"""The mask is dense in PyTorch; only scores that it keeps are computed."""

REGIONS = ("attention.project", "attention.mix", "feed_forward")
"""Queries, keys and values are stored once: rows of scores read the same keys again and again."""


class Projection(nn.Module):
    """Queries, keys and values of several heads, behind a layer normalisation."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(hidden)
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return heads x tokens x the width of a head, three times."""
        normed = self.norm(x)
        query, key, value = (
            linear(normed).view(len(x), self.heads, -1).transpose(0, 1)
            for linear in (self.query, self.key, self.value)
        )
        return query, key, value


class Mixing(nn.Module):
    """Values in the shares that a softmax of masked scores gives them, and a linear layer."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.scale = (hidden // heads) ** -0.5
        self.output = nn.Linear(hidden, hidden)

    def forward(self, x: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """Return tokens x hidden, the residual included."""
        scores = query @ key.transpose(1, 2) * self.scale
        chances = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
        return x + self.output((chances @ value).transpose(0, 1).flatten(1))


class Attention(nn.Module):
    """Attention of several heads where a mask allows it."""

    def __init__(self, hidden: int, heads: int, mask: Tensor) -> None:
        super().__init__()
        self.project = Projection(hidden, heads)
        self.mix = Mixing(hidden, heads)
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        """Return tokens x hidden, the residual included."""
        return self.mix(x, *self.project(x), self.mask)


class FeedForward(nn.Module):
    """Two linear layers, behind a layer normalisation."""

    def __init__(self, hidden: int, inner: int, activation: nn.Module) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.expand = nn.Linear(hidden, inner)
        self.activation = activation
        self.contract = nn.Linear(inner, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Return tokens x hidden, the residual included."""
        return x + self.contract(self.activation(self.expand(self.norm(x))))


class DecoderBlock(nn.Module):
    """The sizes of GPT-3 small by default: 12 heads of 64, 768 hidden, 3,072 inside."""

    def __init__(
        self,
        mask: Tensor,
        hidden: int = 768,
        heads: int = 12,
        inner: int = 3072,
        activation: nn.Module | None = None,
    ) -> None:
        """Take a mask of tokens x tokens booleans, and GELU unless another activation is given."""
        super().__init__()
        self.attention = Attention(hidden, heads, mask)
        self.feed_forward = FeedForward(hidden, inner, activation or nn.GELU())

    def forward(self, x: Tensor) -> Tensor:
        """Return tokens x hidden."""
        return self.feed_forward(self.attention(x))
