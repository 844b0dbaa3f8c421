"""Random statements of every operator, format, order, type and fill, on both models."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fuseflow
from fuseflow.samml.errors import LoweringError
from tests.compiler.running import formats, operands, statements, value_types
from tests.nightly import nightly

WAYS_OUT = ("use an order", "give one operand another fill", "split the region")


def run_one(data: st.DataObject) -> None:
    """Golden meaning, cycle model and truth agree, or the compiler names a way out."""
    statement = data.draw(statements(), label="statement")
    kind = data.draw(value_types(), label="value type")
    forms = {
        access.tensor: data.draw(formats(len(access.indices)), label=str(access))
        for access in {a.tensor: a for a in (statement.target, *statement.operands)}.values()
    }
    tensors = data.draw(operands(statement, forms, kind))
    try:
        program = fuseflow.compile(
            statement, *tensors.values(), formats=forms, value=kind, auto_convert=True
        )
    except LoweringError as error:
        if any(way in str(error) for way in WAYS_OUT):
            return
        raise
    run = program.run()
    assert run.overflow or (run.max_error is not None and run.error_bound is not None)
    assert str(run.result.format) == str(forms[statement.target.tensor])


@settings(deadline=None, max_examples=50, print_blob=True)
@given(st.data())
def test_some(data: st.DataObject) -> None:
    run_one(data)


@pytest.mark.regress
@nightly(1000)
@given(st.data())
def test_a_thousand(data: st.DataObject) -> None:
    run_one(data)
