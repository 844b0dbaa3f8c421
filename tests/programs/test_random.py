"""Random programs at every granularity: both models, the truth, and each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fuseflow
from fuseflow.api import Program, RunResult
from fuseflow.samml.errors import CapacityError, LoweringError
from fuseflow.samml.values import FP32, INT32, VALUE_TYPES, ValueType
from fuseflow.tensor import Tensor
from tests.nightly import nightly
from tests.programs.strategies import Drawn, operands, programs

WAYS_OUT = ("use an order", "another fill", "split the region", "split it", "store ")
MOST_LOOPS = 3
KINDS = (INT32, INT32, FP32, VALUE_TYPES["bf16"])


def compiled(drawn: Drawn, tensors: dict[str, Tensor], fusion: str) -> Program | None:
    """Compile a program; None where the compiler names a way out instead.

    With many loops there are too many conversions to try.
    """
    convert = len(drawn.program.indices) <= MOST_LOOPS and len(drawn.program.results) == 1
    try:
        return fuseflow.compile(
            drawn.program, *tensors.values(), fusion=fusion, auto_convert=convert
        )
    except (LoweringError, CapacityError) as error:
        if any(way in str(error) for way in WAYS_OUT):
            return None
        raise


def run_one(data: st.DataObject) -> None:
    drawn = data.draw(programs(), label="program")
    kind: ValueType = data.draw(st.sampled_from(KINDS), label="value type")
    tensors = data.draw(operands(drawn, kind))
    first: RunResult | None = None
    for fusion in ("none", "regions", "full"):
        program = compiled(drawn, tensors, fusion)
        if program is None:
            continue
        run = program.run()
        assert run.overflow or run.max_error is not None
        assert list(run.results) == list(drawn.program.results)
        first = first or run
        if not (kind.is_float or run.overflow or first.overflow):
            for name, result in run.results.items():
                np.testing.assert_array_equal(
                    result.to_numpy(), first.results[name].to_numpy(), fusion
                )


@settings(deadline=None, max_examples=50, print_blob=True)
@given(st.data())
def test_some(data: st.DataObject) -> None:
    run_one(data)


@pytest.mark.regress
@nightly(500)
@given(st.data())
def test_five_hundred(data: st.DataObject) -> None:
    run_one(data)


@pytest.mark.rtl
@pytest.mark.regress
@nightly(10)
@given(st.data())
def test_some_in_hardware(data: st.DataObject) -> None:
    drawn = data.draw(programs(), label="program")
    kind = data.draw(st.sampled_from(KINDS), label="value type")
    tensors = data.draw(operands(drawn, kind))
    program = compiled(drawn, tensors, "full")
    if program is not None:
        verified = program.verify()
        assert verified.bit_exact, verified.differences
        assert verified.rtl_cycles == verified.run.graph_cycles
