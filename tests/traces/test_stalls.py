"""The stall summary: it adds up, it blames what is to blame, and mending that helps."""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fuseflow
from fuseflow import Tensor
from fuseflow.samml.errors import FuseFlowError
from fuseflow.samml.units import UnitGraph
from fuseflow.samml.values import BF16
from fuseflow.traces import Stalls, find_stalls
from fuseflow.traces.history import History, Why
from fuseflow.traces.path import walk
from sim_models.cycle.result import CycleResult
from tests.compiler.running import formats, operands, statements
from tests.traces.runs import Traced, all_depths, edited, matrix, traced, with_depth, with_params

MATMUL = "X(i,j) = B(i,k) * C(k,j)"
ADD = "X(i,j) = B(i,j) + C(i,j)"
PLACES = {Why.ROOM, Why.BANK}
"""What more slots or banks would spare."""


def stalls_of(run: Traced) -> Stalls:
    return find_stalls(run.graph, run.result)


# --- it adds up --------------------------------------------------------------------------


def check(graph: UnitGraph, result: CycleResult) -> Stalls:
    """Check what holds of every run, and return its summary."""
    stalls = find_stalls(graph, result)
    assert sum(part.cycles for part in stalls.path) == result.cycles
    for unit, report in zip(stalls.units, result.units, strict=True):
        assert unit.firings == report.firings
        waited = sum(wait.cycles for wait in unit.waits)
        assert unit.firings + waited + unit.idle == result.cycles
    history = History(graph, result)
    busy: Counter[int] = Counter()
    for step in walk(history):
        if step.cause.why is Why.BUSY:
            busy[step.unit] += step.cycle - step.cause.cycle
    for number, report in enumerate(result.units):
        assert len(history.firings[number]) == report.firings
        assert busy[number] <= report.firings
    return stalls


STATEMENTS = {
    "gustavson": (MATMUL, {"order": "i,k,j"}, {}),
    "inner": (MATMUL, {"order": "i,j,k"}, {"C": "CSC"}),
    "outer": (MATMUL, {"order": "k,i,j", "formats": {"X": "DCSR"}}, {"B": "CSC"}),
    "add": (ADD, {}, {}),
    "product": ("X(i,j) = B(i,j) * C(i,j)", {}, {}),
    "dense": ("X(i,j) = B(i,j) * C(i,j)", {}, {"B": "dense", "C": "dense"}),
    "chain": ("X(i,j) = B(i,k) * C(k,j) + D(i,j)", {}, {}),
    "trace": ("x = B(i,k) * C(i,k)", {}, {}),
}


@pytest.mark.parametrize("case", STATEMENTS.values(), ids=STATEMENTS)
def test_every_cycle_has_one_reason(case: tuple[str, dict[str, Any], dict[str, str]]) -> None:
    text, options, forms = case
    tensors = [
        matrix(name, 12, 12, form=forms.get(name, "CSR")) for name in "BCD" if f"{name}(" in text
    ]
    run = traced(text, *tensors, **options)
    check(run.graph, run.result)


@pytest.mark.parametrize("order", ["i,k,j", "i,j,k"])
def test_every_cycle_of_a_floating_point_run_has_one_reason(order: str) -> None:
    form = "CSC" if order == "i,j,k" else "CSR"
    tensors = matrix("B", 12, 12, value=BF16), matrix("C", 12, 12, form=form, value=BF16)
    run = traced(MATMUL, *tensors, order=order)
    found = {part.why for part in check(run.graph, run.result).path}
    # Sums take the adder's latency: one row after the other meets the same few coordinates.
    assert (Why.COORDINATE in found) == (order == "i,k,j")


@settings(deadline=None, max_examples=60, print_blob=True)
@given(st.data())
def test_without_a_wait_for_places_on_the_path_more_places_do_not_help(data: st.DataObject) -> None:
    """The path is then a chain that no depth and no bank can shorten."""
    statement = data.draw(statements(), label="statement")
    accesses = {a.tensor: a for a in (statement.target, *statement.operands)}.values()
    forms = {each.tensor: data.draw(formats(len(each.indices))) for each in accesses}
    tensors = data.draw(operands(statement, forms))
    shallow = data.draw(st.booleans(), label="shallow")
    banks = data.draw(st.integers(1, 3), label="banks")

    def run(depth: int | None, banks: int) -> Traced:
        kept = all_depths(lambda read: read.depth if depth is None else depth)
        some = with_params("accumulate", banks=banks)
        outcome = edited(program, lambda graph: some(kept(graph))).run(trace=True)
        return Traced(outcome.units, outcome.model)

    found = None
    try:
        program = fuseflow.compile(statement, *tensors.values(), formats=forms)
        found = run(6 if shallow else None, banks)
    except FuseFlowError:
        pass
    assume(found is not None)
    stalls = check(found.graph, found.result)
    roomy = run(1 << 12, 64).result.cycles
    assert roomy <= found.result.cycles
    if not any(part.why in PLACES for part in stalls.path):
        assert roomy == found.result.cycles


# --- it blames what is to blame ------------------------------------------------------------


def test_a_fork_without_slack_is_blamed_on_the_short_edge() -> None:
    tensors = matrix("B", 30, 40), matrix("C", 30, 40)
    run = traced(ADD, *tensors, edit=with_depth("drop_j.crd", 2))
    stalls = stalls_of(run)
    worst = stalls.path[0]
    assert (worst.why, worst.unit, worst.edge) == (Why.ROOM, "union_j", "drop_j.crd")
    assert worst.depth == 2
    assert worst.cycles > 0.9 * run.result.cycles
    # What waits at the other end of the fork is named as the way the trouble took.
    links = [(link.unit, link.by) for link in stalls.chain]
    assert links[0][0] == "write_X_j"
    assert links[-1][1] == "union_j"
    assert all(before[1] == after[0] for before, after in pairwise(links))
    mended = traced(ADD, *tensors)
    assert mended.result.cycles < 0.5 * run.result.cycles
    assert not any(part.why in PLACES for part in stalls_of(mended).path)


def test_one_bank_is_blamed_where_rows_are_short() -> None:
    tensors = matrix("B", 200, 40, share=0.05), matrix("C", 40, 30, share=0.05)
    run = traced(MATMUL, *tensors, order="i,k,j", edit=with_params("accumulate", banks=1))
    worst = stalls_of(run).path[0]
    assert (worst.why, worst.unit, worst.edge) == (Why.BANK, "accumulate_k.fill", None)
    fill = next(unit for unit in stalls_of(run).units if unit.unit == "accumulate_k.fill")
    assert run.result.unit("accumulate_k.fill").bank in [wait.cycles for wait in fill.waits]
    more = traced(MATMUL, *tensors, order="i,k,j", edit=with_params("accumulate", banks=8))
    assert more.result.cycles < run.result.cycles - worst.cycles / 2
    assert all(part.why is not Why.BANK for part in stalls_of(more).path[:1])


def test_a_slow_adder_is_blamed_where_coordinates_repeat() -> None:
    tensors = matrix("B", 10, 20), Tensor.from_numpy("C", np.ones((20, 1), int), "CSR")
    run = traced(MATMUL, *tensors, order="i,k,j", edit=with_params("accumulate", adder=8))
    worst = stalls_of(run).path[0]
    assert (worst.why, worst.unit) == (Why.COORDINATE, "accumulate_k.fill")
    assert worst.cycles > 0.9 * run.result.cycles


def test_a_slow_producer_is_blamed_for_the_waiting_behind_it() -> None:
    """An inner product merges every pair of row and column: the joiner fires all the time."""
    tensors = matrix("B", 20, 30), matrix("C", 30, 20, form="CSC")
    run = traced(MATMUL, *tensors, order="i,j,k")
    stalls = stalls_of(run)
    assert (stalls.path[0].why, stalls.path[0].unit) == (Why.BUSY, "intersect_k")
    assert run.result.bottleneck.name == "intersect_k"
    chain = [link.unit for link in stalls.chain]
    assert chain == ["write_X_j", "drop_j", "reduce_k", "array_B"]
    for link in stalls.chain:
        assert link.why is Why.HEAD
        assert link.cycles == run.result.edge(str(link.edge)).missing > 0
    writer = next(unit for unit in stalls.units if unit.unit == "write_X_j")
    assert writer.busy < 0.1
    assert writer.waits[0].edge == "write_X_j.crd"


# --- the text ------------------------------------------------------------------------------


def test_text() -> None:
    run = traced(ADD, matrix("B", 30, 40), matrix("C", 30, 40), edit=with_depth("drop_j.crd", 2))
    lines = str(stalls_of(run)).splitlines()
    assert lines[0] == f"critical path of {run.result.cycles:,} cycles"
    assert lines[1].endswith("union_j had to wait for room on drop_j.crd (depth 2)")
    assert lines[9].endswith("elsewhere")
    assert lines[10].startswith("write_X_j waited ")
    assert lines[-1] == "  because union_j had to wait for room on drop_j.crd (depth 2)"
    shares = sum(int(line.split()[0].replace(",", "")) for line in lines[1:10])
    assert shares == run.result.cycles
    assert str(stalls_of(run)) == "\n".join(lines)
