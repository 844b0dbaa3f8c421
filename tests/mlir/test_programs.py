"""Every program of `programs/` means what NumPy says."""

import numpy as np
import pytest

from fuseflow.mlir.module import Compute, Encoding
from fuseflow.mlir.read import read_mlir
from fuseflow.samml.formats import Format
from tests.mlir.cases import CASES, PROGRAMS
from tests.mlir.meaning import evaluate

pytest.importorskip("torch_mlir", reason="needs torch-mlir")


def read(name):
    """Read a program."""
    return read_mlir(PROGRAMS / f"{name}.mlir")


def test_every_program_has_a_case():
    assert {path.stem for path in PROGRAMS.glob("*.mlir")} == set(CASES)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_meaning(name, seed):
    case = CASES[name]
    arguments = case.arguments(seed)
    wanted = case.reference(*arguments)
    found = evaluate(read(name), arguments)
    assert len(found) == len(wanted)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)


def statements(name):
    """Return the Einsums of a program as text."""
    return [
        f"{step.target}({','.join(step.indices)}) = {step.value}"
        for step in read(name).steps
        if isinstance(step, Compute)
    ]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("spmv", ["v0(i0) = sum[i1](arg0(i0,i1) * arg1(i1))"]),
        ("chain", ["v0(i0,i1) = sum[i2](arg0(i0,i2) * arg1(i2,i1))",
                   "v1(i0,i1) = arg3(i0,i1) + sum[i2](v0(i0,i2) * arg2(i2,i1))"]),
        ("mlp", ["v0(i0,i1) = sum[i2](arg0(i0,i2) * c0(i2,i1))",
                 "v1(i0,i1) = relu(v0(i0,i1) + c1(i1))",
                 "v2(i0,i1) = sum[i2](v1(i0,i2) * c2(i2,i1))"]),
        ("causal", ["v0(i0,i1) = where(c0(i0,i1), arg0(i0,i1), -inf)",
                    "v1(i0,i1) = where(c1(i0,i1), arg0(i0,i1), -1000000000)"]),
        ("scores", ["v0(i0,i1) = where(c0(i0,i1), arg0(i0,i1), -inf)",
                    "v1(i0) = max[i1](v0(i0,i1))",
                    "v2(i0,i1) = exp(v0(i0,i1) - v1(i0))",
                    "v3(i0) = sum[i1](v2(i0,i1))",
                    "v4(i0,i1) = v2(i0,i1) / v3(i0)",
                    "v5(i0,i1) = where(c0(i0,i1), arg1(i0,i1), -2147483648)"]),
        ("thresholds", ["v0(i0,i1) = relu(arg0(i0,i1) - 0.5)",
                        "v1(i0,i1) = arg0(i0,i1) - where(v0(i0,i1), arg0(i0,i1), 0)"
                        " + where(v0(i0,i1), arg1(i0,i1), 0)",
                        "v2(i0,i1) = relu(arg0(i0,i1) - arg1(i0,i1))",
                        "v3(i0,i1) = where(v2(i0,i1), arg1(i0,i1), 2)",
                        "v4(i0,i1) = abs(arg0(i0,i1) - arg1(i0,i1))",
                        "v5(i0,i1) = arg0(i0,i1) - where(v4(i0,i1), arg0(i0,i1), 0)"
                        " + where(v4(i0,i1), -1, 0)",
                        "v6(i0,i1) = relu(arg1(i0,i1) - arg0(i0,i1))",
                        "v7(i0,i1) = where(v6(i0,i1), 1, 0)"]),
        ("gelu_steps", ["v0(i0,i1) = gelu(arg0(i0,i1))"]),
        ("repeated", ["v0(i0) = arg0(i0) * arg1(i0)", "v1(i0) = v0(i0) + v0(i0)"]),
        ("softmax", ["v0(i0) = max[i1](arg0(i0,i1))",
                     "v2(i0,i1) = exp(arg0(i0,i1) - v1(i0,i2))",
                     "v3(i0,i1) = sum[i2](v2(i0,i2))",
                     "v4(i0,i1) = v2(i0,i1) / v3(i0,i2)"]),
        ("functions", ["v0(i0) = gelu(arg0(i0)) + arg0(i0) * sigmoid(arg0(i0)) + tanh(arg0(i0))",
                       "v1(i0) = log(arg1(i0)) + sqrt(arg1(i0)) - sqrt(arg1(i0)) + rsqrt(arg1(i0))",
                       "v2(i0) = min(max(arg0(i0), -0.5), 0.5) * abs(arg0(i0))"
                       " + arg0(i0) * arg0(i0) * arg0(i0)",
                       "v3(i0) = min(max(arg0(i0), 0.5 / arg1(i0)), reciprocal(arg1(i0)))"
                       " + abs(arg0(i0))"]),
    ],
)  # fmt: skip
def test_statements(name, wanted):
    assert statements(name) == wanted


@pytest.mark.parametrize(
    ("name", "value", "levels", "blocks"),
    [
        ("spmv", "arg0", "CSR", (1, 1)),
        ("spmm", "arg0", "CSC", (1, 1)),
        ("sddmm", "arg0", "ss", (1, 1)),
        ("sddmm", "v1", "ss", (1, 1)),
        ("tensor3", "arg0", "sss:2,0,1", (1, 1, 1)),
        ("blocks", "arg0", "dsdd:0,2,1,3", (2, 3)),
        ("storage", "v0", "CSR", (1, 1)),
        ("storage", "v1", "CSC", (1, 1)),
    ],
)
def test_encodings(name, value, levels, blocks):
    assert read(name).types[value].encoding == Encoding(Format.parse(levels), blocks)


def test_locations_are_those_of_the_file():
    module = read("spmv")
    assert str(module.steps[0].location) == f"{PROGRAMS / 'spmv.mlir'}:7:8"
