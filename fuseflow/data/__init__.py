"""Graphs, matrices and masks that models run on, as NumPy and SciPy arrays."""

from fuseflow.data.bigbird import bigbird_mask
from fuseflow.data.citation import citation
from fuseflow.data.foreign import from_geometric, from_ogb
from fuseflow.data.graph import Graph, mean_neighbours, normalised
from fuseflow.data.karate import karate
from fuseflow.data.matrix import matrix

__all__ = [
    "Graph",
    "bigbird_mask",
    "citation",
    "from_geometric",
    "from_ogb",
    "karate",
    "matrix",
    "mean_neighbours",
    "normalised",
]
