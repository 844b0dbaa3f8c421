"""What rounding does to a trained graph convolutional network: classes in several value types."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

import fuseflow.torch
from examples.models.gcn import FORMATS, GCN, REGIONS
from examples.models.train_gcn import csr, features
from fuseflow.data import Graph, normalised
from fuseflow.model import Model


@dataclass(frozen=True, eq=False)
class Trained:
    """A network with the graph, or the part of one, that it classifies.

    Attributes
    ----------
    model : GCN
        In evaluation mode.
    adjacency, features : scipy.sparse.csr_array of float32
        The adjacency is normalised.
    labels : ndarray of int64
    judged : ndarray of bool
        By node, whether its class counts.
    """

    model: GCN
    adjacency: Any
    features: Any
    labels: NDArray[np.int64]
    judged: NDArray[np.bool_]

    @classmethod
    def on(cls, graph: Graph, model: GCN) -> "Trained":
        """Judge the test nodes of a graph."""
        return cls(model, normalised(graph.adjacency), features(graph), graph.labels, graph.test)

    @property
    def inputs(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The inputs of the model."""
        return csr(self.adjacency), csr(self.features)

    def around(self, count: int) -> "Trained":
        """Return the first judged nodes with all nodes that two layers read for them.

        Edges keep their weights, so what is computed for the judged nodes stays the same.
        """
        chosen = np.zeros(len(self.labels), np.bool_)
        chosen[np.flatnonzero(self.judged)[:count]] = True
        links = sp.csr_array(self.adjacency) != 0
        kept = chosen | (links @ chosen)
        kept |= links @ kept
        places = np.flatnonzero(kept)
        return Trained(
            self.model,
            sp.csr_array(self.adjacency)[places][:, places],
            sp.csr_array(self.features)[places],
            self.labels[places],
            chosen[places],
        )

    def compile(self, value: str) -> Model:
        """Compile the network in a value type, one graph a layer."""
        return fuseflow.torch.compile(
            self.model, self.inputs, formats=FORMATS, regions=REGIONS, value=value
        )

    def exact(self) -> NDArray[np.float64]:
        """Return the logits that PyTorch computes in float64."""
        adjacency, rows = self.inputs
        self.model.double()
        with torch.no_grad():
            logits = self.model(adjacency.double(), rows.double()).numpy()
        self.model.float()
        return logits

    def classes(self, logits: NDArray[Any]) -> NDArray[np.int64]:
        """Return the classes of the judged nodes."""
        return np.asarray(logits, np.float64).argmax(axis=1)[self.judged]

    def accuracy(self, logits: NDArray[Any]) -> float:
        """Return which share of the judged nodes has its own class."""
        return float((self.classes(logits) == self.labels[self.judged]).mean())
