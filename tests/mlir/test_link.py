"""Programs that modules become: the values of every one, at every granularity."""

import numpy as np
import pytest

from fuseflow.mlir.read import read_mlir
from fuseflow.model import Function
from tests.mlir.cases import CASES, PROGRAMS

pytest.importorskip("torch_mlir", reason="needs torch-mlir")


@pytest.mark.parametrize("fusion", ["none", "regions", "full", "auto"])
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, fusion: str) -> None:
    case = CASES[name]
    function = Function(read_mlir(PROGRAMS / f"{name}.mlir"))
    arguments = case.arguments()
    data = dict(zip(function.inputs, arguments, strict=True))
    model = function.prepare(data).compile(fusion)
    run = model.run()
    wanted = case.reference(*arguments)
    assert len(run.outputs) == len(wanted)
    for got, want in zip(run.outputs.values(), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
