"""Programs that cannot be compiled say what, where, and the ways out; those are tried here."""

import re
import time
from typing import Any

import numpy as np
import pytest

import fuseflow
from fuseflow import Tensor, parse_program
from fuseflow.compiler.schedule import Scheduled, Scheduler
from fuseflow.samml.errors import CapacityError, LoweringError, ParseError, TensorError

CONFLICT = "T(i,j) = A(i,j) * c(j); Y(i,j) = T(i,j) + B(i,j)"
STORED = {"A": "ss", "B": "ss:1,0", "c": "d"}


def tensors(stored: dict[str, str], shape: tuple[int, int] = (5, 5)) -> list[Tensor]:
    found: list[Tensor] = []
    for number, (name, form) in enumerate(stored.items()):
        rng = np.random.default_rng(number)
        sizes = shape[: len(form.partition(":")[0])]
        array = rng.integers(-4, 5, sizes) * (rng.random(sizes) < 0.6)
        found.append(Tensor.from_numpy(name, array, form))
    return found


def schedule(text: str, fusion: str = "full", **options: Any) -> Scheduled:
    return Scheduler(parse_program(text), options=options).compile(fusion)


# --- orders --------------------------------------------------------------------------------


def test_conflicting_orders_name_axis_tensors_statements_and_ways_out() -> None:
    with pytest.raises(LoweringError) as caught:
        fuseflow.compile(CONFLICT, *tensors(STORED), fusion="full", formats={"Y": "ss"})
    message = str(caught.value)
    assert message.startswith("Fusion constraint violation at axis i: no loop order satisfies")
    assert "i before j by A(i,j) in ss:0,1 of T" in message
    assert "j before i by B(i,j) in ss:1,0 of Y" in message
    assert "(--auto-convert), or split the region" in message


def test_a_conversion_is_a_way_out_of_conflicting_orders() -> None:
    operands = tensors(STORED)
    a, b, c = (tensor.to_numpy() for tensor in operands)
    program = fuseflow.compile(
        CONFLICT, *operands, fusion="full", formats={"Y": "ss"}, auto_convert=True
    )
    run = program.run()
    np.testing.assert_array_equal(run.result.to_numpy(), a * c + b)
    assert len(run.regions) == len(run.conversions) == 1


def test_an_order_that_formats_contradict() -> None:
    text = f"order j, i; {CONFLICT}"
    with pytest.raises(LoweringError, match="j before i by the order j,i"):
        fuseflow.compile(text, *tensors({"A": "ss", "B": "ss", "c": "d"}), fusion="full")


# --- the program itself ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "U(i) = a(i)\nT(i) = Y(i) + U(i)\nY(i) = 2 * T(i)",
            r":2:1: statement 2 'T\(i\) = Y\(i\) \+ U\(i\)' reads 'Y' before its definition in "
            r"statement 3, which depends on 'T': a program has no cycle",
        ),
        (
            "fuse {\n  Y(i) = T(i) * a(i)\n  T(i) = 2 * a(i)\n}",
            r":2:3: statement 1 .* reads 'T' before its definition in statement 2: move that",
        ),
        (
            "Y(i) = a(i)\nZ(i) = Y(i)\nY(i) = b(i)\nresult Z",
            r":3:1: statement 3 'Y\(i\) = b\(i\)' defines 'Y', which statement 1 defines: give "
            "its result another name",
        ),
        ("a(i) = b(i)\nY(i) = a(i,j)", r":2:1: .*one tensor has one rank, so rename"),
        ("Y(i) = Y(i) * a(i)", "result 'Y' is also an operand: give the result its own"),
    ],
    ids=["cycle", "use before definition", "overwritten", "rank", "itself"],
)
def test_programs_that_make_no_sense_are_refused_at_their_line(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        fuseflow.compile(text)


def test_shapes_that_conflict_two_statements_later() -> None:
    text = "T(i,j) = B(i,k) * C(k,j); U(i,j) = relu(T(i,j)); Y(i) = U(i,j) * d(j)"
    operands = tensors({"B": "ss", "C": "ss"})
    d = Tensor.from_numpy("d", np.ones(6, int), "dense")
    for fusion in ("none", "full"):
        with pytest.raises(TensorError) as caught:
            fuseflow.compile(text, *operands, d, fusion=fusion)
        assert str(caught.value) == (
            "statement 3 'Y(i) = U(i,j) * d(j)': index j has size 5 in U(i,j), which statement 2 "
            "'U(i,j) = relu(T(i,j))' computes, but 6 in d(j)"
        )


def test_a_mask_that_its_region_computes() -> None:
    text = "M(i,j) = A(i,j) * B(i,j); Y(i,j) = where(M(i,j), C(i,j), -1)"
    operands = tensors({"A": "ss", "B": "ss", "C": "ss"})
    message = (
        "'Y(i,j) = where(M(i,j), C(i,j), -1)' selects by 'M(i,j)', which its region "
        "computes: split the region before 'Y', so that the mask is stored"
    )
    with pytest.raises(LoweringError, match=re.escape(message)):
        fuseflow.compile(text, *operands, fusion="full")
    a, b, c = (tensor.to_numpy() for tensor in operands)
    run = fuseflow.compile(text, *operands, fusion="none", formats={"Y": "ss"}).run()
    np.testing.assert_array_equal(run.result.to_numpy(), np.where(a * b != 0, c, -1))
    assert run.result.fill == -1


# --- too large -------------------------------------------------------------------------------

CENTRED = (
    "m(i) = sum[j](B(i,j)); X(i,j) = B(i,j) - m(i); "
    "v(i) = sum[j](X(i,j) * X(i,j)); Y(i,j) = X(i,j) * v(i)"
)


def test_a_region_that_needs_too_much_room_names_where_to_split_it() -> None:
    """What one graph needs at its forks is more than that of four."""
    needed = next(budget for budget in range(4, 100) if fits(budget, "none"))
    assert not fits(needed, "full")
    with pytest.raises(CapacityError) as caught:
        schedule(CENTRED, budget=needed)
    message = str(caught.value)
    assert f"budget is {needed}: the branches of fork 'scan_B_i' meet there" in message
    assert "split the region at 'scan_B_i', use another order, or raise the budget" in message
    assert len(schedule(CENTRED, "none", budget=needed).regions) == 4


def fits(budget: int, fusion: str) -> bool:
    try:
        schedule(CENTRED, fusion, budget=budget)
    except CapacityError:
        return False
    return True


def chain(step: str, count: int) -> str:
    """Return a program in which every statement reads the one before."""
    steps = (step.replace("Y", f"x{k + 1}").replace("X", f"x{k}") for k in range(count))
    return "; ".join(["x0(i,j) = a(i,j)", *steps])


@pytest.mark.parametrize(
    "step",
    [
        "Y(i,j) = X(i,j) * X(i,j)",
        "Y(i,j) = X(i,j) + 2 * X(i,j)",
        "Y(i,j) = max(X(i,j), 1 - X(i,j))",
        "Y(i,j) = X(i,j) * relu(X(i,j))",
    ],
)
def test_fifty_statements_that_read_the_one_before_twice(step: str) -> None:
    """What is read twice is computed once: the graph grows with the program, not with its paths."""
    started = time.perf_counter()
    (few,) = schedule(chain(step, 10)).regions
    (many,) = schedule(chain(step, 50)).regions
    assert time.perf_counter() - started < 10
    assert len(many.graph.nodes) <= 5 * len(few.graph.nodes)


def test_fifty_statements_whose_loops_nest_without_end_are_refused() -> None:
    started = time.perf_counter()
    with pytest.raises(LoweringError, match="split the region"):
        schedule(chain("Y(i,j) = X(i,k) * X(k,j)", 50))
    assert time.perf_counter() - started < 10
    assert len(schedule(chain("Y(i,j) = X(i,k) * X(k,j)", 3)).regions) == 1


def test_values_of_a_long_chain() -> None:
    a = Tensor.from_numpy("a", np.array([[1, 0], [-1, 1]]), "ss")
    program = fuseflow.compile(chain("Y(i,j) = X(i,j) * X(i,j)", 50), a, fusion="full")
    assert program.run().result.to_numpy().tolist() == [[1, 0], [1, 1]]
