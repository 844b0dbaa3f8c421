"""Whole programs in one graph each under Verilator: bits and cycles are those of the model."""

import numpy as np
import pytest

import fuseflow
from fuseflow.api import Program
from fuseflow.samml.gates import random_gates
from fuseflow.samml.graph import Role
from fuseflow.samml.values import VALUE_TYPES, ValueType
from fuseflow.tensor import Tensor
from gen.tile import Tile
from sim_models.cycle.simulate import simulate
from tests.programs.corpus import NAMES, Sizes, compiled, is_exact, load, operands
from tests.rtl.test_kernels import compare
from verif.job import Run
from verif.tile import build_tile

pytestmark = pytest.mark.rtl

CASES = {
    "34_chain2": "fp32",
    "35_chain2_orders": "int32",
    "36_sum_of_matmuls": "bf16",
    "37_self_chain": "int16",
    "39_linear2": "fp32",
    "40_softmax_matmul_masked": "bf16",
    "41_chain3": "int8",
    "41_chain3_dense": "fp16",
    "45_qkv4": "fp32",
    "50_ffn3": "int32",
    "53_softmax4": "fp16",
    "59_gcn_layer1": "fp32",
    "62_gcn_axw": "bf16",
    "62_gcn_axw_features_first": "int16",
    "63_gcn_linear_relu_adj": "fp32",
    "66_sage_layer": "fp16",
    "68_sae_encoder": "int8",
    "71_sae_full": "fp32",
    "73_layernorm": "fp32",
    "74_ln_linear": "bf16",
}
"""Programs that are always built, with their value types."""

GATED = ("37_self_chain", "66_sage_layer")
"""Programs whose edges are also stopped at random."""

SIZES = [2, 3, 4]


def shapes(name: str) -> dict[str, tuple[int, ...]]:
    return Sizes(load(name)).shapes(np.random.default_rng(len(name)), SIZES)


def drawn(name: str, density: float, seed: int) -> dict[str, Tensor]:
    return operands(load(name), shapes(name), density, seed, VALUE_TYPES[CASES[name]])


def fused(name: str, tensors: dict[str, Tensor]) -> Program:
    kind: ValueType = VALUE_TYPES[CASES[name]]
    return compiled(load(name), tensors, "full", value=kind, auto_convert=True)


@pytest.mark.parametrize("name", CASES)
def test_verify(name: str) -> None:
    drawings = (fused(name, drawn(name, 0.7, seed)) for seed in range(1, 9))
    program = next(each for each in drawings if each.run().result.nnz)
    verified = program.verify()
    assert verified.bit_exact, verified.differences
    (region,) = verified.regions
    assert region.rtl_cycles == region.run.cycles == verified.rtl_cycles


@pytest.mark.parametrize("name", GATED)
def test_stopped_at_random(name: str) -> None:
    """Other operands of one build, from empty to full, with gates on every edge and without."""
    program = fused(name, drawn(name, 1.0, seed=0))
    tile = build_tile(lambda: Tile(program.run().units.graph, gated=True), optimize=False)
    (kernel,) = program.kernels
    copies = {copy.name: copy for copy in kernel.lowered.copies}
    inputs = [each for each in kernel.graph.tensors if each.role is Role.INPUT]
    runs: list[Run] = []
    for number, density in enumerate((0.0, 0.3, 0.6, 1.0)):
        tensors = drawn(name, density, seed=number)
        stored = tensors | {n: tensors[c.tensor].convert(c.format) for n, c in copies.items()}
        images = {each.name: stored[each.name].image() for each in inputs}
        results = {n: each.shape for n, each in program.run(tensors).results.items()}
        for seed in (None, 1 + number):
            gates = None if seed is None else random_gates(tile.plan.units, seed)
            model = simulate(tile.plan.units, images, results, gates=gates)
            runs.append(Run(images, results, limit=2 * model.cycles + 1000, gates=gates))
    compare(tile, runs)


ACTIVATIONS = """
format A = ds, W = dd, b = d, Y = dd, Z = ds
H(i,j) = sum[k](A(i,k) * W(k,j)) + b(j)
G(i,j) = gelu(H(i,j)) + sigmoid(H(i,j)) * tanh(H(i,j))
Y(i,j) = G(i,j) * reciprocal(1 + exp(H(i,j)))
Z(i,k) = log(1 + sqrt(abs(A(i,k)))) / 3
"""


@pytest.mark.parametrize("kind", ["bf16", "fp32"])
def test_activations(kind: str) -> None:
    rng = np.random.default_rng(3)
    value = VALUE_TYPES[kind]
    arrays = {
        "A": rng.normal(0, 2, (5, 4)),
        "W": rng.normal(0, 2, (4, 6)),
        "b": rng.normal(0, 1, 6),
    }
    arrays["A"] *= rng.random((5, 4)) < 0.6
    forms = {"A": "ds", "W": "dd", "b": "d"}
    tensors = [
        Tensor.from_numpy(name, array, forms[name], value=value) for name, array in arrays.items()
    ]
    verified = fuseflow.compile(ACTIVATIONS, *tensors, fusion="full").verify()
    assert verified.bit_exact, verified.differences


def test_programs_that_are_built() -> None:
    """At least fifteen of several statements, every value type, softmax and layernorm."""
    several = [name for name in CASES if len(load(name).statements) > 1]
    assert len(several) >= 15
    assert {*CASES} < {*NAMES}
    assert {name for name in CASES if not is_exact(load(name))} >= {
        "40_softmax_matmul_masked",
        "53_softmax4",
        "73_layernorm",
    }
    assert {*CASES.values()} == {*VALUE_TYPES}
