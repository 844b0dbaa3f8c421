"""Zachary's karate club, which comes with networkx."""

from typing import Any, cast

import numpy as np

from fuseflow.data.graph import Graph, adjacency_of, parts
from fuseflow.tensor.untyped import sparse


def karate() -> Graph:
    """Return the club: 34 members, 78 friendships, and in which half each went when it split.

    Features are one-hot; the two leaders, nodes 0 and 33, are for training, all others for test.
    Source: W. Zachary, An Information Flow Model for Conflict and Fission in Small Groups, 1977.
    """
    import networkx

    club = cast(Any, networkx).karate_club_graph()
    nodes = len(club)
    edges = np.array(list(club.edges), np.int64).T
    labels = np.array([club.nodes[node]["club"] != "Mr. Hi" for node in club], np.int64)
    training, validation, test = parts(nodes, [0, nodes - 1], None, np.arange(1, nodes - 1))
    both = np.concatenate([edges, edges[::-1]], axis=1)
    return Graph(
        "karate",
        adjacency_of("karate", both, nodes),
        sparse.eye_array(nodes, dtype=np.float32, format="csr"),
        labels,
        training,
        validation,
        test,
    )
