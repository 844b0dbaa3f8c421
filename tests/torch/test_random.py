"""Random models compute what PyTorch computes in float64, at every granularity of fusion."""

from itertools import islice
from random import Random

import numpy as np
import pytest

from fuseflow.samml.errors import FuseFlowError
from fuseflow.torch import export, function_of
from tests.torch.random_models import Sample, sample

FUSIONS = ("none", "regions", "full", "auto")
FEW, MANY = range(10), range(40, 1000)

REFUSALS = (
    "computes nothing",
    "a mode is taken apart in two ways",
    "a view takes them apart",
    "a condition on a single number",
)
"""What a program of Einsums cannot be, whatever it computes."""


def check(made: Sample) -> bool:
    """Compile a model in one way and compare its results; return whether it has a program."""
    fusion = Random(made.seed).choice(FUSIONS)
    function = function_of(export(made.model, made.inputs, made.formats))
    try:
        prepared = function.prepare(formats=made.formats, value=made.value)
    except FuseFlowError as error:
        if any(each in str(error) for each in REFUSALS):
            return False
        raise
    result = prepared.compile(fusion).run()
    bound = result.run.error_bound or 0.0
    for found, expected in zip(result.outputs.values(), made.expected, strict=True):
        wanted = expected.double().numpy()
        assert found.shape == wanted.shape, made.text
        # The constants of an export are of its value type: those of fp32 are rounded.
        slack = 1e-4 * max(1.0, float(np.abs(wanted).max())) if made.value == "fp32" else 0.0
        error = np.abs(found.astype(np.float64) - wanted).max()
        assert error <= bound + slack, f"{fusion}\n{made.text}"
    return True


def test_few() -> None:
    assert sum(check(sample(seed)) for seed in FEW) > len(FEW) / 2


@pytest.mark.regress
@pytest.mark.parametrize("start", MANY[::40])
def test_many(start: int) -> None:
    assert sum(check(sample(seed)) for seed in islice(MANY, start - 40, start)) > 20


@pytest.mark.rtl
@pytest.mark.regress
@pytest.mark.parametrize("seed", [2, 3, 44])
def test_rtl(seed: int) -> None:
    made = sample(seed)
    function = function_of(export(made.model, made.inputs, made.formats))
    model = function.prepare(formats=made.formats, value=made.value).compile("regions")
    assert model.verify().bit_exact
