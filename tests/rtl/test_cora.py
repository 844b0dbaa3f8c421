"""A real graph to the end: A*A of the Cora citation graph through the RTL."""

import numpy as np
import pytest
import scipy.sparse as sp

import fuseflow
from fuseflow.tensor import Tensor
from tests.shared_data import SHARED

CORA = SHARED / "data" / "cora.npz"

pytestmark = [
    pytest.mark.rtl,
    pytest.mark.skipif(not CORA.exists(), reason="data/cora.npz is not beside the repository"),
]


def test_a_times_a() -> None:
    with np.load(CORA) as data:
        indptr, indices = data["adj_indptr"], data["adj_indices"]
    size = len(indptr) - 1
    a = sp.csr_array((np.ones(len(indices), np.int64), indices, indptr), shape=(size, size))
    program = fuseflow.compile(
        "X(i,j) = A(i,k) * A(k,j)", Tensor.from_scipy("A", a, "CSR"), order="i,k,j"
    )
    assert any(node.primitive == "locate" for node in program.graph.nodes)
    verified = program.verify()
    assert verified.differences == ()
    assert verified.rtl_cycles == verified.run.cycles
    assert (verified.run.result.to_numpy() == (a @ a).toarray()).all()
    assert verified.run.cycles / verified.run.ideal_banks <= 1.05
