"""The comparison of model and RTL reports whatever differs; it needs no RTL to be tested."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fuseflow.samml.image import TensorImage
from fuseflow.samml.units import flatten
from sim_models.cycle.result import CycleResult
from sim_models.cycle.simulate import simulate
from tests.gen.graphs import row_sums
from verif.compare import differences
from verif.job import Record

UNITS = flatten(row_sums())
IMAGE = TensorImage((3, 7), (None, [0, 1, 1, 3]), (None, [4, 0, 6]), [5, 7, 9])


@pytest.fixture(scope="module")
def model() -> CycleResult:
    return simulate(UNITS, {"B": IMAGE}, {"x": (3,)})


def record_of(model: CycleResult, **changes: Any) -> Record:
    """Return the record of an RTL that does what the model does, but for some changes."""

    def column(name: str) -> Any:
        return np.array([getattr(edge, name) for edge in model.edges], np.uint64)

    same = Record(
        finished=True, cycles=model.cycles, error=0, overflow=False, seconds=0.0,
        issued=column("tokens"), issue_digest=column("issue_digest"),
        pop_digest=column("pop_digest"), outputs=dict(model.outputs), events=[],
    )  # fmt: skip
    return replace(same, **changes)


def test_equal_runs_do_not_differ(model: CycleResult) -> None:
    assert differences(UNITS, model, record_of(model)) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"finished": False}, "the RTL did not finish"),
        ({"cycles": 1}, "cycles: model"),
        ({"overflow": True}, "overflow flag: model False, RTL True"),
        ({"error": 1}, "error register: 1; model: range error False, overrun False"),
        ({"error": 2}, "error register: 2"),
        ({"error": 3}, "error register: 3"),
    ],
)
def test_a_changed_register_is_reported(
    changes: dict[str, Any], line: str, model: CycleResult
) -> None:
    (found,) = differences(UNITS, model, record_of(model, **changes))
    assert found.startswith(line)


def test_the_register_may_hold_either_error(model: CycleResult) -> None:
    both = replace(model, flags=replace(model.flags, range=True, capacity=True))
    for error in (1, 2):
        assert differences(UNITS, both, record_of(model, error=error)) == []
    (found,) = differences(UNITS, both, record_of(model))
    assert found == "error register: 0; model: range error True, overrun True"


@pytest.mark.parametrize("field", ["issued", "issue_digest", "pop_digest"])
def test_a_changed_edge_is_reported(field: str, model: CycleResult) -> None:
    changed = np.array(getattr(record_of(model), field))
    changed[2] += np.uint64(1)
    (found,) = differences(UNITS, model, record_of(model, **{field: changed}))
    assert found.startswith(f"edge {UNITS.edges[2].name}: ")


def test_a_changed_result_is_reported(model: CycleResult) -> None:
    image = replace(model.outputs["x"], vals=[5, 0, 17])
    (found,) = differences(UNITS, model, record_of(model, outputs={"x": image}))
    assert found == "result x: values differ"
