"""A chain of two products in all of its 24 loop orders, each fused into one graph."""

import numpy as np
import pytest

from fuseflow.comparison.orders import CHAIN, Ordered, karate_chain, run_orders
from fuseflow.samml.values import FP32, INT32, ValueType

FAST, SLOW = "i,k,j,l", "j,l,i,k"
"""Rows times rows, or inner products of rows that are mostly apart for every column of both."""


@pytest.fixture(scope="module", params=[INT32, FP32], ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> ValueType:
    return request.param


@pytest.fixture(scope="module")
def ordered(kind: ValueType) -> list[Ordered]:
    return run_orders(CHAIN, karate_chain(kind))


def test_every_order_is_one_graph(ordered: list[Ordered]) -> None:
    assert len({each.order for each in ordered}) == 24
    for each in ordered:
        (region,) = each.run.regions
        assert region.cycles == each.cycles
        assert each.run.crossing == frozenset()


def test_values_do_not_depend_on_the_order(ordered: list[Ordered], kind: ValueType) -> None:
    a, b, c = (tensor.to_numpy().astype(float) for tensor in karate_chain(kind))
    expected = a @ b @ c
    for each in ordered:
        found = each.run.result.to_numpy()
        if kind is INT32:
            np.testing.assert_array_equal(found, expected, each.name)
        else:
            # The program's own bound is checked by its run.
            assert each.run.max_error is not None
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


def test_best_and_worst(ordered: list[Ordered]) -> None:
    """Who reduces innermost over a mode that no sparse operand bounds pays for all of it."""
    table = {each.name: each.cycles for each in ordered}
    assert next(iter(table)) == FAST
    assert list(table)[-1] == SLOW
    assert table[SLOW] > 10 * table[FAST]
    stored = [each.name for each in ordered if not each.run.conversions]
    assert stored == [FAST], "all others read converted operands"
