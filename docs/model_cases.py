"""What `make bench-models` measures: example models, their data and how they are compiled."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from examples.models import cnn, gcn, gpt, mlp, sae, sage
from examples.models.train_gcn import csr, operands, train
from fuseflow.data import Graph, bigbird_mask, citation, karate, mean_neighbours
from fuseflow.model import PreparedModel
from fuseflow.torch import export
from fuseflow.torch.compiling import function_of

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SEED = 1
HIDDEN = 16
BATCH = 4
SEQUENCE, WIDTH = 1024, 768


@dataclass(frozen=True, eq=False)
class Case:
    """A model on its data.

    Attributes
    ----------
    model, data : str
        What tables call them.
    module : nn.Module
        In evaluation mode.
    inputs : tuple of Tensor
    formats : mapping of str to str
    regions : tuple of str
    closed : bool or None
        Whether runs are closed-form; None leaves it to what is expected of them.
    """

    model: str
    data: str
    module: nn.Module
    inputs: tuple[Tensor, ...]
    formats: Mapping[str, str]
    regions: tuple[str, ...]
    closed: bool | None = None

    def prepare(self, value: str | None = None) -> PreparedModel:
        """Export the model and make a program of it."""
        function = function_of(export(self.module.eval(), self.inputs, self.formats))
        return function.prepare(formats=self.formats, regions=self.regions, value=value)

    def expected(self) -> np.ndarray:
        """Return what PyTorch computes in float64."""
        self.module.eval().double()
        with torch.no_grad():
            found = self.module(*(each.double() for each in self.inputs)).numpy()
        self.module.float()
        return found


def cases(chosen: Collection[str] = ()) -> Iterator[Case]:
    """Yield cases of some models, or all; citation graphs stand beside the repository, or not."""
    makers = {
        "GCN": [partial(convolutional, graph) for graph in graphs()],
        "GraphSAGE": [partial(aggregating, graph) for graph in graphs()],
        "SAE": [partial(autoencoder, features) for features in (784, 50176)],
        "MLP": [perceptron],
        "CNN": [partial(convolutions, 16)],
        "GPT": [partial(decoder, block) for block in (16, 32, 64)],
    }
    for name in chosen or makers:
        for make in makers[name]:
            torch.manual_seed(SEED)
            yield make()


def graphs() -> Iterator[Graph]:
    """Yield the karate club, Cora and Citeseer."""
    yield karate()
    for name in ("cora", "citeseer"):
        path = DATA / f"{name}.npz"
        if path.exists():
            yield citation(path)


def convolutional(graph: Graph) -> Case:
    """Return a GCN on a graph."""
    adj, x = operands(graph)
    trained = graph.name == "cora"
    model = train(graph)[0] if trained else gcn.GCN(x.shape[1], HIDDEN, graph.classes)
    return Case("GCN", graph.name, model, (adj, x), gcn.FORMATS, gcn.REGIONS)


def aggregating(graph: Graph) -> Case:
    """Return GraphSAGE on a graph."""
    _, x = operands(graph)
    mean = csr(mean_neighbours(graph.adjacency))
    model = sage.GraphSAGE(x.shape[1], HIDDEN, graph.classes)
    return Case("GraphSAGE", graph.name, model, (mean, x), sage.FORMATS, sage.REGIONS)


def autoencoder(features: int) -> Case:
    """Return an autoencoder with 256 codes whose weights are 90 % zero."""
    model = sae.SparseAutoencoder(features, 256)
    inputs = (half_full(BATCH, features),)
    return Case("SAE", f"{features}-256-{features}", model, inputs, sae.FORMATS, sae.REGIONS)


def perceptron() -> Case:
    """Return a pruned perceptron for images of 28 x 28 pixels."""
    model, inputs = mlp.MLP(784, 256, 128, 10), (half_full(BATCH, 784),)
    return Case("MLP", "784-256-128-10", model, inputs, mlp.formats(3), mlp.regions(3))


def convolutions(size: int) -> Case:
    """Return pruned convolutions on a square image with three channels."""
    model = cnn.CNN(size, size, (3, 16, 32))
    image = torch.rand(size * size, 3)
    return Case("CNN", f"{size} x {size}, 3-16-32", model, (image,), cnn.FORMATS, cnn.REGIONS)


def decoder(block: int, sequence: int = SEQUENCE, width: int = WIDTH, heads: int = 12) -> Case:
    """Return a decoder block with block-sparse attention."""
    mask = torch.from_numpy(bigbird_mask(sequence, block))
    model = gpt.DecoderBlock(mask, width, heads, 4 * width)
    inputs = (torch.randn(sequence, width),)
    name = f"{sequence} tokens, blocks of {block}"
    return Case("GPT block", name, model, inputs, gpt.FORMATS, gpt.REGIONS, closed=True)


def half_full(rows: int, columns: int) -> Tensor:
    """Return a matrix in which about half of the entries are zero."""
    return torch.rand(rows, columns) * (torch.rand(rows, columns) < 0.5)
