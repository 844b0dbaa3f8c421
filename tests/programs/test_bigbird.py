"""Scores of masked attention: only those that the mask keeps are computed."""

import numpy as np
import pytest

import fuseflow
from fuseflow.data.bigbird import bigbird_mask
from fuseflow.samml.errors import TensorError
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.streams import Kind
from fuseflow.samml.units import UnitGraph, flatten
from fuseflow.samml.values import FP32
from fuseflow.tensor import Tensor
from sim_models.cycle.result import CycleResult
from sim_models.cycle.simulate import simulate

BLOCK = 16
MASKED = "S(i,j) = M(i,j) * Q(i,d) * K(j,d)"
PRODUCT_THEN_MASK = "T(i,j) = Q(i,d) * K(j,d); S(i,j) = M(i,j) * T(i,j)"


def operands(sequence: int, depth: int) -> list[Tensor]:
    rng = np.random.default_rng(depth)
    mask = bigbird_mask(sequence, BLOCK).astype(float)
    rows = [rng.uniform(-2, 2, (sequence, depth)) for _ in "QK"]
    return [
        Tensor.from_numpy("M", mask, "sparse", value=FP32),
        Tensor.from_numpy("Q", rows[0], "dense", value=FP32),
        Tensor.from_numpy("K", rows[1], "dense", value=FP32),
    ]


def compiled(text: str, tensors: list[Tensor]) -> fuseflow.Program:
    capacity = {"S": tensors[0].nnz}
    return fuseflow.compile(
        text, *tensors, fusion="full", formats={"S": "sparse"}, capacities=capacity
    )


def value_tokens(units: UnitGraph, model: CycleResult) -> int:
    """Count the tokens of all streams that carry values."""
    return sum(
        report.tokens
        for edge, report in zip(units.edges, model.edges, strict=True)
        if any(field.kind is Kind.VAL for field in edge.type.fields)
    )


def expected_tokens(scores: int, depth: int) -> int:
    """Count the value tokens of a graph that computes kept scores alone.

    Both factors stream into the sum of products for every kept score and feature; the sum, the
    mask, their product, and the result through both drops, for every kept score.
    """
    return scores * (2 * depth + 5)


def test_the_mask_has_the_blocks_of_the_field() -> None:
    mask = bigbird_mask(1024, BLOCK)
    blocks = mask[::BLOCK, ::BLOCK]
    assert blocks.sum() == 549
    assert mask.sum() == 549 * BLOCK**2
    assert blocks[:2].all()
    assert blocks[:, :2].all()
    for offset in (-1, 0, 1):
        assert blocks.diagonal(offset).all()
    local = np.tri(64, k=1, dtype=bool) & ~np.tri(64, k=-2, dtype=bool)
    local[:2] = local[:, :2] = True
    assert ((blocks & ~local).sum(axis=1) <= 2).all()
    assert (blocks & ~local).any()
    np.testing.assert_array_equal(mask, bigbird_mask(1024, BLOCK))
    assert (mask != bigbird_mask(1024, BLOCK, seed=1)).any()


def test_blocks_divide_the_sequence() -> None:
    assert bigbird_mask(16, 16).all()
    with pytest.raises(TensorError, match="no whole number of blocks of 16: choose a multiple"):
        bigbird_mask(100, 16)


@pytest.mark.parametrize("depth", [1, 5])
def test_both_writings_agree_with_the_truth(depth: int) -> None:
    tensors = operands(64, depth)
    graphs: list[object] = []
    for text in (MASKED, PRODUCT_THEN_MASK):
        program = compiled(text, tensors)
        run = program.run()
        assert run.max_error is not None
        assert run.result.nnz == tensors[0].nnz
        assert value_tokens(run.units, run.model) == expected_tokens(tensors[0].nnz, depth)
        graphs.append(program.graph)
    assert graphs[0] == graphs[1]


@pytest.mark.parametrize("text", [MASKED, PRODUCT_THEN_MASK])
def test_a_sequence_of_1024(text: str) -> None:
    """Tokens are as many as the closed form has, of 549 blocks of 4,096."""
    depth = 8
    tensors = operands(1024, depth)
    program = compiled(text, tensors)
    units = flatten(program.graph)
    images = {tensor.name: tensor.image() for tensor in tensors}
    model = simulate(units, images, {"S": (1024, 1024)})
    scores = 549 * BLOCK**2
    assert model.edge("reduce_d.a").tokens == scores * depth
    assert value_tokens(units, model) == expected_tokens(scores, depth)
    assert model.cycles < scores * depth + 100
    form = program.graph.tensor("S").format
    assert LevelKind.DENSE not in form.levels
    found = Tensor.from_image("S", model.outputs["S"], form, value=FP32, computed=True).to_numpy()
    mask, rows, columns = (tensor.to_numpy() for tensor in tensors)
    np.testing.assert_allclose(found, mask * (rows @ columns.T), rtol=1e-4, atol=1e-4)
