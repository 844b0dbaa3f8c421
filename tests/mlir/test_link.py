"""Programs that modules become: the values of every one, at every granularity."""

import numpy as np
import pytest

from fuseflow.mlir.errors import MlirError
from fuseflow.mlir.read import read_mlir
from fuseflow.model import Function
from tests.mlir.cases import CASES, PROGRAMS

pytest.importorskip("torch_mlir", reason="needs torch-mlir")


VIEWS = ("inserted", "pad", "views")
"""Programs that compute nothing."""


@pytest.mark.parametrize("fusion", ["none", "regions", "full", "auto"])
@pytest.mark.parametrize("name", [name for name in CASES if name not in VIEWS])
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


@pytest.mark.parametrize("name", VIEWS)
def test_views_alone_are_no_program(name: str) -> None:
    function = Function(read_mlir(PROGRAMS / f"{name}.mlir"))
    with pytest.raises(MlirError) as caught:
        function.prepare()
    assert str(caught.value) == f"'{name}' computes nothing: it returns parts of what it is given"
