"""Models of PyTorch, exported by torch-mlir, mean what PyTorch computes."""

import numpy as np
import pytest

from fuseflow.mlir.errors import MlirError
from fuseflow.mlir.module import Compute, Concat
from fuseflow.mlir.read import read_module
from tests.mlir.meaning import evaluate

torch = pytest.importorskip("torch", reason="needs PyTorch")
fx = pytest.importorskip("torch_mlir.fx", reason="needs torch-mlir")
nn, F = torch.nn, torch.nn.functional

# torch.export looks at its own trees in a way that PyTorch calls old.
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec.*:FutureWarning")


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


class Gcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 4, bias=False), nn.Linear(4, 3, bias=False)

    def forward(self, a, x):
        return F.log_softmax(a @ self.second(F.relu(a @ self.first(x))), -1)


class Sage(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(10, 4)

    def forward(self, a, x):
        mean = (a @ x) / a.sum(-1, keepdim=True).clamp(min=1)
        return F.relu(self.linear(torch.cat([x, mean], -1)))


class Gat(nn.Module):
    """A head of graph attention, with the score of what is no edge as its first code has it."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 4, bias=False)
        self.left, self.right = nn.Parameter(normal(4)), nn.Parameter(normal(4))

    def forward(self, a, x):
        h = self.linear(x)
        scores = F.leaky_relu((h @ self.left)[:, None] + (h @ self.right)[None, :], 0.2)
        weights = torch.softmax(torch.where(a > 0, scores, torch.full_like(scores, -9e15)), -1)
        return F.elu(weights @ h)


class Attention(nn.Module):
    """Two heads with a mask, a residual and a LayerNorm: the score of a hidden pair is -inf."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x, mask):
        n = x.shape[0]
        q, k, v = (t.reshape(n, 2, 4).transpose(0, 1) for t in self.qkv(self.norm(x)).chunk(3, -1))
        scores = (q @ k.transpose(-1, -2)) / 2
        weights = torch.softmax(scores.masked_fill(mask == 0, float("-inf")), -1)
        return x + self.out((weights @ v).transpose(0, 1).reshape(n, 8))


class Causal(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        kept = torch.ones(n, n).tril() == 0
        added = torch.triu(torch.full((n, n), float("-inf")), 1)
        return torch.softmax(x.masked_fill(kept, float("-inf")), -1), torch.softmax(x + added, -1)


class Unfold(nn.Module):
    """A convolution as a product with unfolded windows."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 18))

    def forward(self, x):
        return (self.weight @ F.unfold(x, 3)).reshape(1, 5, 3, 3)


class Function(nn.Module):
    """A function of tensors as a model."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


def chosen(*shape):
    """Return bits that leave something of every row."""
    return (torch.rand(*shape) < 0.5) | torch.eye(*shape, dtype=torch.bool)


def normal(*shape):
    """Return normal numbers."""
    return torch.randn(*shape)


def attend(**options):
    """Return PyTorch's own attention as a model."""
    return Function(lambda q, k, v, *m: F.scaled_dot_product_attention(q, k, v, *m, **options))


HEADS = tuple((1, 2, 4, 8) for _ in range(3))
MODELS = {
    "mlp": (Mlp, lambda: [normal(2, 4)]),
    "gcn": (Gcn, lambda: [normal(6, 6).relu(), normal(6, 5)]),
    "graphsage": (Sage, lambda: [(normal(6, 6) > 0.5).float(), normal(6, 5)]),
    "gat": (Gat, lambda: [chosen(6, 6).float(), normal(6, 5)]),
    "encoder": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        lambda: [normal(1, 5, 8)],
    ),
    "softplus": (nn.Softplus, lambda: [normal(3, 4)]),
    "mish": (nn.Mish, lambda: [normal(3, 4)]),
    "prelu": (nn.PReLU, lambda: [normal(3, 4)]),
    "diagonal": (lambda: Function(lambda x: x.diagonal()), lambda: [normal(4, 4)]),
    "logsumexp": (lambda: Function(lambda x: torch.logsumexp(x, -1)), lambda: [normal(3, 4)]),
    "masked-mean": (
        lambda: Function(lambda x, m: (x * m[:, None].float()).sum(0) / m.float().sum()),
        lambda: [normal(5, 3), torch.tensor([True, True, False, True, False])],
    ),
    "hidden-rows": (
        lambda: Function(
            lambda x, m: torch.nan_to_num(torch.softmax(x.masked_fill(~m, float("-inf")), -1))
        ),
        lambda: [normal(4, 4), torch.eye(4, dtype=torch.bool) & (torch.arange(4) > 0)],
    ),
    "depthwise": (lambda: nn.Conv2d(4, 4, 3, groups=4), lambda: [normal(1, 4, 5, 5)]),
    "attention": (Attention, lambda: [normal(4, 8), chosen(4, 4).float()]),
    "causal": (Causal, lambda: [normal(4, 4)]),
    "sdpa": (attend, lambda: [normal(*s) for s in HEADS]),
    "sdpa-causal": (lambda: attend(is_causal=True), lambda: [normal(*s) for s in HEADS]),
    "sdpa-mask": (attend, lambda: [*(normal(*s) for s in HEADS), chosen(4, 4)]),
    "sdpa-added": (attend, lambda: [*(normal(*s) for s in HEADS), normal(4, 4)]),
    "batchnorm": (lambda: nn.BatchNorm1d(6), lambda: [normal(3, 6)]),
    "conv2d": (lambda: nn.Conv2d(2, 3, 3, padding=1), lambda: [normal(1, 2, 5, 5)]),
    "conv2d-stride": (lambda: nn.Conv2d(2, 3, 2, stride=2), lambda: [normal(1, 2, 4, 4)]),
    "maxpool": (lambda: nn.MaxPool2d(2), lambda: [normal(1, 2, 4, 4)]),
    "avgpool": (lambda: nn.AvgPool2d(2), lambda: [normal(1, 2, 4, 4)]),
    "unfold": (Unfold, lambda: [normal(1, 2, 5, 5)]),
    "gelu": (nn.GELU, lambda: [normal(3, 4)]),
    "gelu-tanh": (lambda: nn.GELU("tanh"), lambda: [normal(3, 4)]),
    "silu": (nn.SiLU, lambda: [normal(3, 4)]),
    "elu": (nn.ELU, lambda: [normal(3, 4)]),
    "leaky-relu": (nn.LeakyReLU, lambda: [normal(3, 4)]),
    "hardtanh": (nn.Hardtanh, lambda: [normal(3, 4)]),
    "rms": (lambda: nn.RMSNorm(8), lambda: [normal(3, 8)]),
    "dropout": (nn.Dropout, lambda: [normal(3, 8)]),
    "powers": (
        lambda: Function(lambda x: (x**2 + x**3, x.abs() ** 0.5, (x.abs() + 1) ** -0.5, 1 / x)),
        lambda: [normal(5)],
    ),
    "reductions": (
        lambda: Function(
            lambda x: (
                x.mean(-1),
                x.max(-1).values,
                x.amin(0),
                x.var(-1),
                x.sum(),
                x.max(),
                x.std(),
            )
        ),
        lambda: [normal(4, 6)],
    ),
    "views": (
        lambda: Function(
            lambda x: (
                torch.cat([x, 2 * x], 0),
                torch.stack([x, x + 1]),
                x[1:3, ::2],
                x[:, 1],
                x.view(2, 2, 6).permute(1, 0, 2),
                x.flatten(),
                x.T,
                x.expand(2, 4, 6),
                x.repeat(2, 1),
                F.pad(x, (1, 2)),
                x.flip(0),
                torch.einsum("ij,kj->ik", x, x),
            )
        ),
        lambda: [normal(4, 6)],
    ),
    "embedding": (
        lambda: Function(lambda x: x[torch.tensor([2, 0, 2])]),
        lambda: [normal(3, 4)],
    ),
    "where": (
        lambda: Function(
            lambda x, m: (
                torch.where(m, x, 0.5),
                torch.where(m, 0.5, x),
                torch.where(m, x, 2 * x),
                torch.where(x > 0, x, 0),
                torch.maximum(x, 2 * x),
                x.masked_fill(~m, -1),
                x * m,
            )
        ),
        lambda: [normal(4, 4), chosen(4, 4)],
    ),
}


def exported(model, inputs):
    """Return the linalg module of a model."""
    return fx.export_and_import(model.eval(), *inputs, output_type="linalg-on-tensors")


@pytest.mark.parametrize("name", MODELS)
def test_model(name):
    torch.manual_seed(len(name))
    build, make = MODELS[name]
    model, inputs = build(), make()
    module = read_module(exported(model, inputs))
    wanted = model(*inputs)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    found = evaluate(module, [tensor.numpy() for tensor in inputs])
    assert len(found) == len(wanted)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_mlp_is_five_einsums_of_constants():
    module = read_module(exported(Mlp(), [normal(2, 4)]))
    assert [str(step.value) for step in module.steps if isinstance(step, Compute)] == [
        "sum[i2](arg0(i0,i2) * c0(i2,i1))",
        "v0(i0,i1) + c1(i1)",
        "relu(v1(i0,i1))",
        "sum[i2](v2(i0,i2) * c2(i2,i1))",
        "v3(i0,i1) + c3(i1)",
    ]
    assert module.types["c0"].shape == (4, 8)


def test_normalization_computes_its_mean_once():
    module = read_module(exported(nn.LayerNorm(8), [normal(3, 8)]))
    sums = [step for step in module.steps if isinstance(step, Compute) and "sum" in str(step.value)]
    assert len(sums) == 2


def test_concatenation_is_one():
    module = read_module(exported(Sage(), [normal(6, 6), normal(6, 5)]))
    assert sum(isinstance(step, Concat) for step in module.steps) == 1


def test_an_export_stays_as_it_is():
    module = exported(Mlp(), [normal(2, 4)])
    before = str(module)
    read_module(module)
    assert str(module) == before


def test_places_are_those_of_the_model():
    module = read_module(exported(Mlp(), [normal(2, 4)]))
    location = module.steps[0].location
    assert location.file == __file__
    assert location.line > 1


def test_a_nan_is_no_number():
    module = exported(Function(torch.isnan), [normal(3)])
    with pytest.raises(MlirError, match="asks for NaN"):
        read_module(module)


@pytest.mark.parametrize("lowest", [-9e15, torch.finfo(torch.float32).min, -torch.inf])
def test_what_a_softmax_does_not_see_is_minus_infinity(lowest):
    model = Function(lambda x, m: torch.softmax(x.masked_fill(m == 0, lowest), -1))
    module = read_module(exported(model, [normal(4, 4), chosen(4, 4).float()]))
    first = module.steps[0]
    assert isinstance(first, Compute)
    assert str(first.value) == "where(arg1(i0,i1), arg0(i0,i1), -inf)"
