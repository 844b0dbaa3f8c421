"""A real graph to the end: products of the Cora citation graph through the RTL."""

import numpy as np
import pytest
import scipy.sparse as sp

import fuseflow
from fuseflow import Program, VerifyResult
from fuseflow.samml.values import FP32
from fuseflow.tensor import Tensor
from tests.shared_data import SHARED

CORA = SHARED / "data" / "cora.npz"
WIDTH = 16

pytestmark = [
    pytest.mark.rtl,
    pytest.mark.skipif(not CORA.exists(), reason="data/cora.npz is not beside the repository"),
]


@pytest.fixture
def adjacency() -> sp.csr_array:
    with np.load(CORA) as data:
        indptr, indices = data["adj_indptr"], data["adj_indices"]
    size = len(indptr) - 1
    return sp.csr_array((np.ones(len(indices), np.int64), indices, indptr), shape=(size, size))


def verify(program: Program) -> VerifyResult:
    assert any(node.primitive == "locate" for node in program.graph.nodes)
    verified = program.verify()
    assert verified.differences == ()
    assert verified.rtl_cycles == verified.run.cycles
    assert verified.run.cycles / verified.run.ideal_banks <= 1.05
    return verified


def test_a_times_a(adjacency: sp.csr_array) -> None:
    operand = Tensor.from_scipy("A", adjacency, "CSR")
    program = fuseflow.compile("X(i,j) = A(i,k) * A(k,j)", operand, order="i,k,j")
    result = verify(program).run.result.to_numpy()
    assert (result == (adjacency @ adjacency).toarray()).all()


def test_a_times_dense_features(adjacency: sp.csr_array) -> None:
    """The first product of a graph convolution, in fp32 with weighted edges."""
    rng = np.random.default_rng(2)
    weights = adjacency.astype(np.float32)
    weights.data = rng.uniform(0.1, 2, weights.nnz).astype(np.float32)
    features = rng.standard_normal((adjacency.shape[0], WIDTH)).astype(np.float32)
    program = fuseflow.compile(
        "X(i,j) = A(i,k) * H(k,j)",
        Tensor.from_scipy("A", weights, "CSR", value=FP32),
        Tensor.from_numpy("H", features, "dd", value=FP32),
        formats={"X": "dd"},
        order="i,k,j",
    )
    run = verify(program).run
    truth = weights.astype(np.float64) @ features.astype(np.float64)
    assert run.max_error is not None
    assert run.error_bound is not None
    assert 0 < run.max_error <= run.error_bound < 1e-2
    largest = np.abs(run.result.to_numpy() - truth).max()
    assert largest == pytest.approx(run.max_error, rel=1e-6)
