"""Weights of edges, and Zachary's club."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from fuseflow.data import karate, mean_neighbours, normalised
from fuseflow.samml.errors import TensorError


def path_of_three() -> sp.csr_array:
    """Nodes 0 - 1 - 2, and node 3 alone."""
    return sp.csr_array(
        np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], np.float32)
    )


def test_normalised_is_the_formula_of_the_paper() -> None:
    got = normalised(path_of_three())
    tilde = path_of_three().toarray() + np.eye(4)
    half = np.diag(tilde.sum(1) ** -0.5)
    np.testing.assert_allclose(got.toarray(), half @ tilde @ half, rtol=1e-6)
    assert got.dtype == np.float32
    assert got.nnz == 8


def test_a_node_without_neighbours_has_an_empty_row() -> None:
    assert normalised(path_of_three(), loops=False).nnz == 4
    means = mean_neighbours(path_of_three())
    np.testing.assert_allclose(means.sum(axis=1), [1, 1, 1, 0])
    np.testing.assert_allclose(means.toarray()[1], [0.5, 0, 0.5, 0])


def test_the_mean_may_count_the_node_itself() -> None:
    means = mean_neighbours(path_of_three(), loops=True)
    np.testing.assert_allclose(means.toarray()[1], [1 / 3, 1 / 3, 1 / 3, 0])
    np.testing.assert_allclose(means.toarray()[3], [0, 0, 0, 1])


def test_a_matrix_with_entries_named_twice_is_not_changed() -> None:
    twice = sp.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2))
    np.testing.assert_allclose(mean_neighbours(twice).toarray(), [[0, 1], [0, 0]])
    assert twice.nnz == 2


@pytest.mark.parametrize("weigh", [normalised, mean_neighbours])
def test_what_is_no_adjacency(weigh) -> None:
    with pytest.raises(TensorError, match="is square, got 2 x 3"):
        weigh(np.ones((2, 3)))
    with pytest.raises(TensorError, match="no negative weights"):
        weigh(-np.ones((2, 2)))


def test_the_karate_club() -> None:
    club = karate()
    assert (club.nodes, club.classes, club.adjacency.nnz) == (34, 2, 156)
    expected = nx.to_numpy_array(nx.karate_club_graph(), weight=None)
    np.testing.assert_array_equal(club.adjacency.toarray(), expected)
    assert (club.features.toarray() == np.eye(34)).all()
    assert club.labels[[0, 33]].tolist() == [0, 1]
    assert np.flatnonzero(club.training).tolist() == [0, 33]
    assert (club.training | club.test).all()
    assert not club.validation.any()
