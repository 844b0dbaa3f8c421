"""The programs of `programs/`: arguments for each, and what it is in NumPy, written by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

Maker = Callable[[np.random.Generator], np.ndarray]
PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Case:
    """Makers of the arguments in order, and a function of them that gives a tuple of results."""

    makers: tuple[Maker, ...]
    reference: Callable[..., tuple[Any, ...]]

    def arguments(self, seed: int = 0) -> list[np.ndarray]:
        """Return arguments: multiples of 1/4, so that sums and products are exact in f32."""
        rng = np.random.default_rng(seed)
        return [maker(rng) for maker in self.makers]


def dense(*shape: int) -> Maker:
    """Make small numbers of both signs."""
    return lambda rng: rng.integers(-6, 7, shape) / 4


def sparse(*shape: int) -> Maker:
    """Make small numbers, two thirds of them 0."""
    return lambda rng: dense(*shape)(rng) * (rng.random(shape) < 1 / 3)


def positive(*shape: int) -> Maker:
    """Make small numbers above 0."""
    return lambda rng: rng.integers(1, 9, shape) / 4


def mask(*shape: int) -> Maker:
    """Make bits, half of them set."""
    return lambda rng: rng.random(shape) < 1 / 2


def hiding_mask(*shape: int) -> Maker:
    """Make bits that leave nothing of the first row, and something of the others."""

    def make(rng: np.random.Generator) -> np.ndarray:
        bits = (rng.random(shape) < 1 / 2) | np.eye(*shape, dtype=bool)
        bits[0] = False
        return bits

    return make


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the softmax along an axis."""
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def gelu(x: np.ndarray) -> np.ndarray:
    """Return the exact gelu."""
    return x * special.ndtr(x)


def _mlp(x):
    w = np.array([[1.0, 2.0], [2.0, 0.0], [-1.0, 1.0], [0.5, -0.5]])
    b = np.array([0.5, -0.25, 0.0, 1.0])
    v = np.array([[1.0, -1.0], [0.5, 2.0], [-0.5, 0.25], [3.0, -2.0]])
    return (np.maximum(x @ w.T + b, 0) @ v,)


def _layernorm(x, g, b):
    return ((x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1 / 16) * g + b,)


def _attention(q, k, v, m):
    scores = np.where(m, np.einsum("bid,bjd->bij", q, k), -np.inf)
    weights = np.zeros_like(scores)
    weights[:, m.any(1)] = softmax(scores[:, m.any(1)])
    return (weights @ v,)


def _causal(x):
    lower = np.where(np.tri(4) > 0, x, -np.inf)
    hidden = np.array([[0, 1, 0, 0], [0, 0, 0, 1], [1, 1, 1, 0], [0, 0, 0, 0]])
    return lower, lower, np.where(hidden, -1e9, x)


def _scores(x, y):
    kept = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0]]) > 0
    return softmax(np.where(kept, x, -np.inf)), np.where(kept, y, -(2.0**31))


def _masks(x, y, m, n):
    n = n != 0
    return (
        np.where(m, x, 2),
        np.where(n, 2, x),
        np.where(m & n, x, 2),
        np.where(m | n, x, 2),
    )


def _functions(x, p):
    return (
        gelu(x) + x * special.expit(x) + np.tanh(x),
        np.log(p) + 1 / np.sqrt(p),
        np.clip(x, -0.5, 0.5) * abs(x) + x**3,
        np.minimum(np.maximum(x, 0.5 / p), 1 / p) + abs(x),
    )


def _convolution(x, w):
    y = np.zeros((1, 3, 2, 2))
    for i in range(2):
        for j in range(2):
            window = x[:, :, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            y[:, :, i, j] = np.einsum("nchw,fchw->nf", window, w)
    return (y,)


def _literals(x):
    a, b, c, d = [1.5, -2.5, 0.25], [0.5, 1, -4], [1, 0, 1], [3, -2, 1]
    return ((x * a + b + c + d) * [1, 2, -0.5] + [1.5, -1, 2],)


CASES: dict[str, Case] = {
    "attention": Case(
        (dense(2, 4, 3), dense(2, 4, 3), dense(2, 4, 3), hiding_mask(4, 4)), _attention
    ),
    "between": Case(
        (dense(4, 5), dense(4, 5), mask(4, 5)),
        lambda x, y, m: (np.where(m, x, y), np.where(m, y, x)),
    ),
    "blocks": Case((sparse(4, 6), dense(6)), lambda a, x: (a @ x,)),
    "causal": Case((dense(4, 4),), _causal),
    "chain": Case(
        (dense(4, 5), dense(5, 6), dense(6, 3), dense(4, 3)),
        lambda a, b, c, d: (a @ b @ c + d,),
    ),
    "constant_views": Case((dense(4, 2),), lambda x: (x * [[2.0], [3.0], [7.0], [7.0]],)),
    "convolution": Case((dense(1, 2, 5, 5), dense(3, 2, 2, 2)), _convolution),
    "fill_mask": Case(
        (dense(3, 4), sparse(3, 4), mask(3, 4)),
        lambda x, m, d: (np.where(m == 0, -1, x), d * x),
    ),
    "diagonal": Case((dense(4, 4),), lambda x: (np.diag(x),)),
    "functions": Case((dense(8), positive(8)), _functions),
    "gather": Case((dense(4, 3),), lambda x: (x[[3, 0, 0, 2, 1]],)),
    "gelu_steps": Case((dense(2, 3),), lambda x: (gelu(x),)),
    "inserted": Case(
        (dense(2, 3), dense(1, 3), dense(3)),
        lambda a, b, c: (
            np.concatenate([a, b, c[None]]),
            np.pad(a, ((1, 0), (1, 0)), constant_values=1),
        ),
    ),
    "layernorm": Case((dense(3, 8), dense(8), dense(8)), _layernorm),
    "literals": Case((dense(3),), _literals),
    "masks": Case((dense(4, 5), dense(4, 5), mask(4, 5), mask(5)), _masks),
    "mlp": Case((dense(3, 2),), _mlp),
    "pad": Case((dense(2, 3),), lambda x: (np.pad(x, ((0, 1), (1, 2)), constant_values=1),)),
    "reductions": Case(
        (dense(4, 6), dense(6)),
        lambda x, b: (
            x.sum(),
            b + (x - x * x).sum(0),
            x.max(1),
            x.min(0),
            np.maximum(x.max(1), 0.5),
        ),
    ),
    "repeated": Case((dense(3), dense(3)), lambda x, y: (2 * x * y,)),
    "scores": Case((dense(4, 4), dense(4, 4)), _scores),
    "sddmm": Case((sparse(6, 5), dense(6, 4), dense(4, 5)), lambda s, a, b: (s * (a @ b),)),
    "softmax": Case((dense(4, 6),), lambda x: (softmax(x),)),
    "softmax_named": Case((dense(4, 6),), lambda x: (softmax(x, 0),)),
    "spmm": Case((sparse(6, 5), dense(5, 4)), lambda a, b: (a @ b,)),
    "spmv": Case((sparse(6, 5), dense(5)), lambda a, x: (a @ x,)),
    "storage": Case((dense(4, 4), sparse(4, 4)), lambda a, b: (a * b, b)),
    "thresholds": Case(
        (dense(3, 4), dense(3, 4)),
        lambda x, y: (
            np.where(x > 0.5, y, x),
            np.where(x <= y, 2, y),
            np.where(x == y, x, -1),
            1.0 * (x < y),
        ),
    ),
    "tensor3": Case((sparse(3, 4, 5), dense(4)), lambda t, v: (np.einsum("ijk,j->ki", t, v),)),
    "units": Case((dense(3, 1), dense(1, 4), dense(1, 1)), lambda a, b, c: ((a + b) * c, c[0, 0])),
    "views": Case(
        (dense(2, 6), dense(3, 6)),
        lambda a, b: (
            np.concatenate([a, b]),
            b[1:3, 0:4:3],
            a.reshape(2, 2, 3),
            a.ravel(),
            b[2],
        ),
    ),
    "windows": Case(
        (dense(8), dense(3, 4)),
        lambda x, y: (np.stack([x[i : i + 3].max() for i in (0, 2, 4)]), y[1]),
    ),
}
