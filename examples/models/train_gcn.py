"""Trains the graph convolutional network on a citation graph such as Cora, with plain PyTorch.

Run ``python -m examples.models.train_gcn cora.npz`` from the root of the repository.
"""

import argparse
import time
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch.nn import functional

from examples.models.gcn import GCN
from fuseflow.data import Graph, citation, normalised

HIDDEN = 16
EPOCHS = 200


def csr(matrix: Any) -> torch.Tensor:
    """Return a SciPy matrix as a CSR tensor."""
    matrix = sp.csr_array(matrix).sorted_indices()
    parts = (torch.from_numpy(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    with warnings.catch_warnings():
        # PyTorch says of every first CSR tensor that they are in beta state.
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(*parts, size=matrix.shape, check_invariants=True)


def features(graph: Graph) -> sp.csr_array:
    """Return the features of a graph as CSR, in rows that add up to 1."""
    rows = sp.csr_array(graph.features)
    sums = np.asarray(rows.sum(axis=1)).reshape(-1)
    return sp.csr_array(sp.diags_array(1 / np.maximum(sums, 1)) @ rows).astype(np.float32)


def operands(graph: Graph) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the normalised adjacency and the features, both as CSR: the inputs of the model."""
    return csr(normalised(graph.adjacency)), csr(features(graph))


@contextmanager
def one_thread() -> Generator[None]:
    """Compute with one thread: for products as small as these, more cost more than they bring."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@one_thread()
def train(graph: Graph, seed: int = 1) -> tuple[GCN, float]:
    """Train a network; the epoch that is best on the validation nodes counts.

    The product of adjacency and features is of data alone, so it is computed once.

    Returns
    -------
    model : GCN
        In evaluation mode.
    accuracy : float
        On the test nodes.
    """
    torch.manual_seed(seed)
    adjacency = normalised(graph.adjacency)
    adj, sums = csr(adjacency), torch.from_numpy((adjacency @ features(graph)).toarray())
    labels = torch.from_numpy(graph.labels)
    training, validation, test = map(
        torch.from_numpy, (graph.training, graph.validation, graph.test)
    )
    model = GCN(sums.shape[1], HIDDEN, graph.classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, accuracy, weights = -1.0, 0.0, model.state_dict()
    for _ in range(EPOCHS):
        model.train()
        optimizer.zero_grad()
        logits = model.classify(adj, model.conv1.update(sums))
        loss = functional.cross_entropy(logits[training], labels[training])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = model.classify(adj, model.conv1.update(sums)).argmax(1) == labels
        score = right[validation].double().mean().item()
        if score > best:
            best, accuracy = score, right[test].double().mean().item()
            weights = {name: data.clone() for name, data in model.state_dict().items()}
    model.load_state_dict(weights)
    return model.eval(), accuracy


def main() -> None:
    """Print the accuracy, and write the weights where a file is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", help="a .npz file")
    parser.add_argument("--output", help="for the weights, a .pt file")
    given = parser.parse_args()
    started = time.perf_counter()
    graph = citation(given.graph)
    model, accuracy = train(graph)
    print(f"{graph.name}: {accuracy:.1%} of the test nodes, {time.perf_counter() - started:.1f} s")
    if given.output:
        torch.save(model.state_dict(), given.output)


if __name__ == "__main__":
    main()
