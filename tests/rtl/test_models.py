"""PyTorch models to the end: their RTL under Verilator, in bits and cycles."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from examples.models import cnn, gcn, gpt, mlp, sae, sage  # noqa: E402
from examples.models.accuracy import Trained  # noqa: E402
from examples.models.train_gcn import csr, operands, train  # noqa: E402
from fuseflow.data import bigbird_mask, citation, karate, mean_neighbours  # noqa: E402
from fuseflow.model import Model  # noqa: E402
from fuseflow.outcome import VerifyResult  # noqa: E402
from fuseflow.torch import compile  # noqa: E402
from tests.shared_data import shared_path  # noqa: E402
from tests.torch.models import quietly  # noqa: E402

pytestmark = pytest.mark.rtl

AROUND = 10


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(1)


def verified(model: Model) -> VerifyResult:
    found = model.verify()
    assert found.bit_exact, found.differences
    assert found.rtl_cycles == found.run.graph_cycles
    assert [part.rtl_cycles for part in found.regions] == [
        part.run.cycles for part in found.regions
    ]
    return found


def check(module: Any, inputs: tuple[Any, ...], formats: Any, regions: Any) -> VerifyResult:
    """Verify a model, and compare what it computes with PyTorch's float64."""
    model = compile(module.eval(), inputs, formats=formats, regions=regions)
    found = verified(model)
    with torch.no_grad():
        expected = module.double()(*(each.double() for each in inputs)).numpy()
    (output,) = model.outputs(found.run).values()
    assert found.run.error_bound is not None
    assert np.abs(output - expected).max() <= found.run.error_bound
    return found


def test_gcn() -> None:
    club = karate()
    check(gcn.GCN(club.nodes, 16, 2), operands(club), gcn.FORMATS, gcn.REGIONS)


def test_sage() -> None:
    club = karate()
    inputs = csr(mean_neighbours(club.adjacency)), csr(club.features)
    check(sage.GraphSAGE(club.nodes, 16, 2), inputs, sage.FORMATS, sage.REGIONS)


class Heads(torch.nn.Module):
    """The attention of a decoder block, projections included."""

    def __init__(self, mask: Any, hidden: int, heads: int) -> None:
        super().__init__()
        self.attention = gpt.Attention(hidden, heads, mask)

    def forward(self, x: Any) -> Any:
        return self.attention(x)


def test_attention() -> None:
    mask = torch.from_numpy(bigbird_mask(32, 8))
    assert 0 < mask.double().mean() <= 1
    found = check(Heads(mask, 16, 2), (torch.randn(32, 16),), gpt.FORMATS, gpt.REGIONS[:2])
    assert len(found.regions) == 2


def test_sae() -> None:
    x = torch.rand(4, 32) * (torch.rand(4, 32) < 0.5)
    check(sae.SparseAutoencoder(32, 48), (x,), sae.FORMATS, sae.REGIONS)


def test_cnn() -> None:
    module = quietly(lambda: cnn.CNN(4, 6, (3, 8, 6)))
    check(module, (torch.rand(24, 3),), cnn.FORMATS, cnn.REGIONS)


def test_mlp() -> None:
    module = mlp.MLP(24, 16, 8, 4, pruned=0.6)
    check(module, (torch.rand(3, 24),), mlp.formats(3), mlp.regions(3))


def trained() -> Trained:
    graph = citation(shared_path("data/cora.npz"))
    return Trained.on(graph, train(graph)[0])


def test_trained_network_around_test_nodes() -> None:
    """Test nodes of Cora with all that two layers read for them have the classes of float64."""
    whole = trained()
    part = whole.around(AROUND)
    model = part.compile("fp32")
    found = verified(model)
    (logits,) = model.outputs(found.run).values()
    assert (part.classes(logits) != whole.classes(whole.exact())[:AROUND]).sum() <= 1


@pytest.mark.regress
def test_trained_network_on_cora() -> None:
    whole = trained()
    model = whole.compile("fp32")
    found = verified(model)
    (logits,) = model.outputs(found.run).values()
    assert (whole.classes(logits) != whole.classes(whole.exact())).sum() <= 1
    assert whole.accuracy(logits) >= 0.8
