"""The example models export, compute what they say, and are what their files name."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from examples.models import cnn, gcn, gpt, mlp, sae, sage
from examples.models.accuracy import Trained
from examples.models.train_gcn import csr, operands, train
from fuseflow.data import bigbird_mask, citation, karate, mean_neighbours, normalised
from fuseflow.torch import export
from fuseflow.torch.compiling import compile
from tests.shared_data import shared_path
from tests.torch.models import quietly, sparse

CLUB = karate()
MEAN = csr(mean_neighbours(CLUB.adjacency))
ADJ = csr(normalised(CLUB.adjacency))
IDENTITY = csr(CLUB.features)
MASK = torch.from_numpy(bigbird_mask(32, 4))
X = torch.randn(32, 24, generator=torch.Generator().manual_seed(1))

MODELS: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...], Any]] = {
    "gcn": (gcn.GCN(34, 16, 2), (ADJ, IDENTITY), gcn),
    "gcn with softmax": (gcn.GCN(24, 16, 2, True), (csr(normalised(MASK)), X), gcn),
    "sage": (sage.GraphSAGE(34, 16, 2), (MEAN, torch.eye(34)), sage),
    "sage with cat": (sage.GraphSAGE(34, 16, 2, True), (MEAN, torch.eye(34)), sage),
    "sae": (sae.SparseAutoencoder(24, 48), (X,), sae),
    "gpt": (gpt.DecoderBlock(MASK, 24, 3, 96), (X,), gpt),
    "gpt with relu": (gpt.DecoderBlock(MASK, 24, 3, 96, nn.ReLU()), (X,), gpt),
    "cnn": (cnn.CNN(4, 8, (24, 5, 6)), (X,), cnn),
    "mlp": (mlp.MLP(24, 16, 16, 4), (X,), None),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_exported_with_its_formats(name: str) -> None:
    model, inputs, file = MODELS[name]
    formats = mlp.formats(3) if file is None else file.FORMATS
    exported = export(model.eval(), inputs, formats)
    assert exported.results == ("result",)
    text = str(exported.module)
    assert set(re.findall(r"\b(linalg|tensor|arith|math|cf|scf|tm_tensor)\.", text)) <= {
        "linalg", "tensor", "arith", "math",
    }  # fmt: skip
    assert "dense_resource" not in text
    named = {argument.name for argument in exported.arguments if argument.kind != "input"}
    assert named >= {key for key, _ in model.named_parameters()}
    for region in () if file is None else file.REGIONS:
        model.get_submodule(region)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [(3, 1, 1), (3, 2, 0), (2, 2, 1), (1, 1, 0)]
)
def test_a_convolution_is_that_of_pytorch(kernel: int, stride: int, padding: int) -> None:
    height, width, channels, filters = 5, 7, 3, 4
    unfold = quietly(lambda: cnn.unfolding(height, width, kernel, stride, padding))
    layer = cnn.Convolution(channels, filters, kernel, unfold)
    x = torch.randn(height * width, channels)
    weight = layer.linear.weight.view(filters, kernel, kernel, channels).permute(0, 3, 1, 2)
    image = x.T.reshape(1, channels, height, width)
    expected = functional.conv2d(image, weight, layer.linear.bias, stride, padding)
    expected = torch.relu(expected)[0].reshape(filters, -1).T
    torch.testing.assert_close(layer(x), expected)


def test_both_layers_of_sage_are_one_function() -> None:
    two, one = sage.Layer(6, 4, last=False), sage.ConcatenatingLayer(6, 4, last=False)
    with torch.no_grad():
        one.linear.weight.copy_(torch.cat([two.itself.weight, two.neighbours.weight], dim=1))
        one.linear.bias.copy_(two.itself.bias)
    mean, x = sparse("CSR"), torch.randn(6, 6)
    torch.testing.assert_close(one(mean, x), two(mean, x))


def test_pruning_keeps_the_largest_tenth() -> None:
    model = sae.SparseAutoencoder(50, 100)
    for layer in (model.encoder, model.decoder):
        assert (layer.weight == 0).double().mean().item() == 0.9
        assert [name for name, _ in layer.named_parameters()] == ["bias", "weight"]


def test_attention_is_that_of_pytorch() -> None:
    block = gpt.DecoderBlock(MASK, 24, 3, 96).eval()
    attention, project, x = block.attention, block.attention.project, X
    heads = [
        linear(project.norm(x)).view(32, 3, 8).transpose(0, 1)
        for linear in (project.query, project.key, project.value)
    ]
    mixed = functional.scaled_dot_product_attention(*heads, attn_mask=MASK)
    expected = x + attention.mix.output(mixed.transpose(0, 1).reshape(32, 24))
    torch.testing.assert_close(attention(x), expected)


@pytest.mark.regress
def test_cora_is_learnt() -> None:
    graph = citation(shared_path("data/cora.npz"))
    model, accuracy = train(graph)
    assert accuracy >= 0.8
    assert not model.training
    adj, x = operands(graph)
    right = model(adj.to_dense(), x.to_dense()).argmax(1).numpy() == graph.labels
    assert right[graph.test].mean() == pytest.approx(accuracy)
    exported = export(model, (adj, x))
    assert [each.layout for each in exported.arguments[-2:]] == ["CSR", "CSR"]


SLOW = frozenset(("gpt", "gpt with relu"))
GRANULARITIES = ("none", "regions", "full", "auto")


@pytest.mark.parametrize("fusion", GRANULARITIES)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.regress] * (name in SLOW)) for name in MODELS]
)
def test_a_model_computes_what_pytorch_does(name: str, fusion: str) -> None:
    model, inputs, file = MODELS[name]
    formats = mlp.formats(3) if file is None else file.FORMATS
    regions = mlp.regions(3) if file is None else file.REGIONS
    compiled = compile(model.eval(), inputs, formats=formats, regions=regions, fusion=fusion)
    expected = exact(model, inputs)
    found = compiled.run()
    assert found.run.error_bound is not None
    assert np.abs(found.output - expected).max() <= found.run.error_bound
    np.testing.assert_allclose(found.output, expected, rtol=1e-5, atol=1e-6)


def exact(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> np.ndarray:
    """Return what PyTorch computes in float64."""
    with torch.no_grad():
        found = model.double()(*(each.to_dense().double() for each in inputs)).numpy()
    model.float()
    return found


@pytest.mark.regress
def test_rounding_hardly_changes_classes() -> None:
    """fp32 changes the class of one test node of Cora at most, bf16 the accuracy by 0.5 points."""
    graph = citation(shared_path("data/cora.npz"))
    trained = Trained.on(graph, train(graph)[0])
    logits = trained.exact()
    single, half = (trained.compile(value).run().output for value in ("fp32", "bf16"))
    assert (trained.classes(single) != trained.classes(logits)).sum() <= 1
    assert trained.accuracy(half) == pytest.approx(trained.accuracy(logits), abs=0.005)


def test_a_neighbourhood_is_all_that_its_nodes_need() -> None:
    trained = Trained.on(CLUB, gcn.GCN(34, 16, 2).eval())
    part = trained.around(3)
    assert len(part.labels) < 34
    judged = np.flatnonzero(trained.judged)[:3]
    np.testing.assert_allclose(part.exact()[part.judged], trained.exact()[judged], rtol=1e-12)
