"""Programs written in Python: what is recorded, its schedule, and refusals."""

import asyncio
import math
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fuseflow
from fuseflow import lang
from fuseflow.compiler.program import Program, Region
from fuseflow.compiler.program_text import parse_program, print_program
from fuseflow.lang import (
    Tensor,
    einsum,
    fuse_region,
    layernorm,
    linear,
    maximum,
    minimum,
    operands,
    order,
    program,
    recording,
    relu,
    softmax,
    where,
)
from fuseflow.samml.errors import FuseFlowError, ParseError, TensorError
from tests.compiler.dense import run

RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def apart() -> Any:
    with recording():
        yield


def texts(result: lang.Computed) -> list[str]:
    return list(map(str, program(result).statements))


def test_a_layer_with_its_schedule() -> None:
    a, x = Tensor("A", (34, 34), format="CSR"), Tensor("X", (34, 9), fill=-math.inf)
    w, b = Tensor("W1", (9, 4), format="dense"), Tensor("b1", (4,))
    with fuse_region("layer"):
        hidden = relu(linear(einsum("ik,kj->ij", a, x), w, b))
        order(priority=["i", "k", "j"])
    y = lang.sum(hidden, axis=1)
    order(["k", "i"])
    assert hidden.shape == (34, 4)
    assert y.shape == (34,)
    assert print_program(program(y, H=hidden)) == (
        "format A = CSR\n"
        "format W1 = dense\n"
        "fill X = -inf\n"
        "order k, i\n"
        "fuse layer {\n"
        "  order i, k, j\n"
        "  T0(i,j) = A(i,k) * X(k,j)\n"
        "  T1(i,i0) = T0(i,j) * W1(j,i0) + b1(i0)\n"
        "  H(i,i0) = relu(T1(i,i0))\n"
        "}\n"
        "T2(i) = sum[i0](H(i,i0))\n"
        "result T2, H\n"
    )


def test_only_what_is_needed_in_the_order_in_which_it_was_made() -> None:
    a = Tensor("a", (3,))
    with fuse_region():
        first = a + 1
        unneeded = first * 2
        third = first * 3
    with fuse_region("gone"):
        late = unneeded - 1
    fifth = third + first
    assert program(fifth) == parse_program(
        "fuse {\nT0(i0) = a(i0) + 1\nT1(i0) = T0(i0) * 3\n}\nT2(i0) = T1(i0) + T0(i0)"
    )
    assert program(late, fifth).regions == (Region(0, 3), Region(3, 4, name="gone"))
    assert program(fifth) == program(fifth)
    assert program(fifth, first).results == ("T2", "T0")


def test_elements_meet_from_the_last_mode() -> None:
    x = einsum("ij->ij", Tensor("X", (3, 4)))
    v, s = Tensor("v", (4,)), Tensor("s", ())
    for made, text in {
        x + v: "X2(i,j) = X1(i,j) + v(j)",
        v + x: "X2(i,j) = v(j) + X1(i,j)",
        x * s: "X2(i,j) = X1(i,j) * s",
        Tensor("Y", (3, 4)) - x: "X2(i,j) = Y(i,j) - X1(i,j)",
        2 / x: "X2(i,j) = 2 / X1(i,j)",
        x - np.float32(0.5): "X2(i,j) = X1(i,j) - 0.5",
        np.int64(3) * x: "X2(i,j) = 3 * X1(i,j)",
        np.float64(-3) - x: "X2(i,j) = -3 - X1(i,j)",
        -x: "X2(i,j) = -X1(i,j)",
        abs(x): "X2(i,j) = abs(X1(i,j))",
        lang.exp(x): "X2(i,j) = exp(X1(i,j))",
        lang.rsqrt(x): "X2(i,j) = rsqrt(X1(i,j))",
        lang.log(x): "X2(i,j) = log(X1(i,j))",
        lang.sigmoid(x): "X2(i,j) = sigmoid(X1(i,j))",
        lang.tanh(x): "X2(i,j) = tanh(X1(i,j))",
        lang.gelu(x): "X2(i,j) = gelu(X1(i,j))",
        lang.sqrt(x): "X2(i,j) = sqrt(X1(i,j))",
        lang.reciprocal(x): "X2(i,j) = reciprocal(X1(i,j))",
        maximum(x, 0): "X2(i,j) = max(X1(i,j), 0)",
        minimum(1.5, x): "X2(i,j) = min(1.5, X1(i,j))",
        where(Tensor("M", (3, 4)), x, -math.inf): "X2(i,j) = where(M(i,j), X1(i,j), -inf)",
        where(v, x, 1.0): "X2(i,j) = where(v(j), X1(i,j), 1)",
        s + 10**17: f"X2 = s + {10**17}",
    }.items():
        *_, last = program(X2=made, **({"X1": x} if x in made.operands else {})).statements
        assert str(last) == text


def test_generated_index_variables_never_meet_given_ones() -> None:
    x, w = Tensor("X", (3, 3)), Tensor("W", (3, 3))
    made = relu(x) + einsum("ij,jk->ik", linear(x, w), w)
    assert texts(made) == [
        "T0(i0,i1) = relu(X(i0,i1))",
        "T1(i0,i2) = X(i0,i1) * W(i1,i2)",
        "T2(i,k) = T1(i,j) * W(j,k)",
        "T3(i0,i1) = T0(i0,i1) + T2(i0,i1)",
    ]


def test_generated_names_never_meet_given_ones() -> None:
    x, m = Tensor("T0", (3,)), Tensor("T2_max", ())
    y = softmax(x * m)
    assert [text.partition("(")[0] for text in texts(y)] == [
        "T1", "T2_max1 = max[i0]", "T2_exp", "T2_sum = sum[i0]", "T2",
    ]  # fmt: skip
    assert [each.target.tensor for each in program(T1=y).statements] == [
        "T2", "T1_max", "T1_exp", "T1_sum", "T1",
    ]  # fmt: skip


def test_every_operation_means_what_numpy_means() -> None:
    x, w, b, s = (RNG.normal(size=size) for size in [(4, 5), (5, 3), (3,), (4, 4)])
    mask = np.tril(np.ones((4, 4)))
    given = {"X": x, "W": w, "b": b, "S": s, "M": mask}
    tx, tw, tb, ts, tm = (Tensor(name, array.shape) for name, array in given.items())
    masked = np.where(mask != 0, np.exp(s), 0)
    centred = x - x.mean(axis=0)
    wanted = {
        linear(tx, tw, tb): x @ w + b,
        linear(tb, einsum("ij->ji", tw)): w @ b,
        einsum("ij,ik->jk", tx, tx): x.T @ x,
        einsum("ij,ij", tx, tx): (x * x).sum(),
        einsum("ij,jk->", tx, tw): (x @ w).sum(),
        lang.sum(tx): x.sum(),
        lang.max(tx, axis=-2): x.max(axis=0),
        lang.min(tx, axis=(0, 1)): x.min(),
        lang.neg(tx) / (lang.abs(tx) + 2): -x / (np.abs(x) + 2),
        softmax(where(tm, ts, -math.inf)): masked / masked.sum(axis=1, keepdims=True),
        softmax(tx, axis=(0, 1)): np.exp(x) / np.exp(x).sum(),
        layernorm(tx, axis=0, eps=0.25): centred / np.sqrt((centred**2).mean(axis=0) + 0.25),
    }
    for made, truth in wanted.items():
        assert made.shape == truth.shape
        np.testing.assert_allclose(run(program(Y=made), given)["Y"], truth, rtol=1e-11, atol=1e-13)


def test_stored_tensors_are_operands() -> None:
    eye = fuseflow.Tensor.from_numpy("E", np.eye(3, dtype=int), "CSC")
    scores = fuseflow.Tensor.from_numpy("S", np.eye(3), "DCSR", value="fp32", fill=-math.inf)
    shape_only = Tensor("D", (3, 3))
    made = einsum("ij,jk->ik", eye, scores) + eye * shape_only - eye
    stored = program(made)
    assert stored.formats == {"E": "ds:1,0", "S": "ss:0,1"}
    assert stored.fills == {"S": -math.inf}
    assert operands(made) == {"E": eye, "S": scores, "D": shape_only}
    assert list(operands(made)) == ["E", "S", "D"]
    assert parse_program(print_program(stored)) == stored


def test_an_order_may_name_what_a_program_does_not_need() -> None:
    x = Tensor("X", (3, 3))
    with fuse_region():
        y = einsum("ij->ji", x)
        einsum("mn,nq->mq", x, x)
        order(["q", "j", "i"])
    order(["m", "i"])
    order(["i", "m", "j"])
    made = program(y)
    assert made.order == ("i", "j")
    assert made.regions == (Region(0, 1, ("j", "i")),)
    order(["i", "z"])
    with pytest.raises(ParseError, match="the order of the program names 'z', which no statement"):
        program(y)


def test_recordings_are_apart() -> None:
    x = Tensor("X", (3, 3))
    outer = einsum("ij->ji", x)
    order(["i", "j"])
    with fuse_region(), recording():
        inner = einsum("ij->ji", x)
        assert program(inner).order == ()
        order(["j"])
        with pytest.raises(
            TensorError, match=r"add: the result of einsum of shape \(3, 3\) belongs"
        ):
            inner + outer
    assert program(inner).order == ("j",)
    assert program(inner).regions == ()
    assert program(outer).order == ("i", "j")
    with pytest.raises(TensorError, match="belong to two recordings: make a program of each"):
        program(inner, outer)


def _made(name: str) -> Program:
    made = einsum("ij->ji", Tensor(name, (3, 3)))
    order(["j"] if name == "A" else ["i"])
    return program(made)


def test_threads_have_recordings_of_their_own() -> None:
    found: dict[str, Program] = {}
    threads = [
        threading.Thread(target=lambda name=name: found.update({name: _made(name)}))
        for name in "AB"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["A"].order == ("j",)
    assert found["B"].order == ("i",)
    assert program(einsum("ij->ji", Tensor("A", (3, 3)))).order == ()


def test_regions_of_tasks_are_apart() -> None:
    x = Tensor("X", (3,))

    async def region(name: str) -> lang.Computed:
        with fuse_region(name):
            value = x + 1
            await asyncio.sleep(0)
            return value * 2

    async def two() -> list[lang.Computed]:
        return await asyncio.gather(region("one"), region("two"))

    one, two_ = asyncio.run(two())
    assert program(one).regions == (Region(0, 2, name="one"),)
    assert program(two_).regions == (Region(0, 2, name="two"),)
    with pytest.raises(ParseError, match="statements stand between those of region 'one': make"):
        program(one, two_)


def test_a_region_ends_with_its_block_even_by_an_error() -> None:
    x = Tensor("X", (3,))
    with pytest.raises(TensorError), fuse_region():
        x + Tensor("Y", (4,))
    assert program(x + 1).regions == ()


X, V, S = Tensor("X", (3, 4)), Tensor("v", (3,)), Tensor("s", ())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: X + V, "add: 'v' of shape (3,) does not fit 'X' of shape (3, 4): its modes must "
         "be the last ones there"),
        (lambda: relu(X) * Tensor("Y", (3, 5)), "mul: 'Y' of shape (3, 5) does not fit the result "
         "of relu of shape (3, 4)"),
        (lambda: where(V, X, 0), "where: 'v' of shape (3,) does not fit 'X'"),
        (lambda: maximum(1, 2), "max: no operand is a tensor; compute it in Python"),
        (lambda: X + math.inf, "inf is no constant: give a finite number"),
        (lambda: X + 10**400, "inf is no constant: give a finite number"),
        (lambda: where(X, X, math.nan), "nan is no fill: give a number, inf or -inf"),
        (lambda: relu(3), "int is no tensor: declare one, or store it (fuseflow.Tensor)"),
        (lambda: relu(np.eye(3)), "ndarray is no tensor: declare one"),
        (lambda: where(1, X, 0), "int is no tensor"),
        (lambda: maximum(X, np.eye(3)), "ndarray is neither tensor nor number: declare a tensor"),
        (lambda: einsum("ij,jk->ik", X, X), "einsum 'ij,jk->ik': 'j' is 4 in 'X' of shape (3, 4) "
         "and 3 in 'X' of shape (3, 4): one letter has one size"),
        (lambda: einsum("i->i", X), "einsum 'i->i': 'i' does not fit 'X' of shape (3, 4): give one "
         "letter per mode"),
        (lambda: einsum("ij->ij", X, X), "subscripts 'ij->ij' name 1 operands, got 2"),
        (lambda: einsum("i1->i", X), "subscripts 'i1->i': use letters"),
        (lambda: einsum("ii->i", Tensor("Q", (3, 3))), "einsum 'ii->i': 'ii' has 'i' twice"),
        (lambda: einsum("i->ii", V), "einsum 'i->ii': 'ii' has 'i' twice"),
        (lambda: einsum("i->iz", V), "einsum 'i->iz': no operand has 'z': its size is unknown"),
        (lambda: linear(X, V), "linear: 'X' of shape (3, 4) does not fit 'v' of shape (3,): the "
         "weights are a matrix of inputs by outputs"),
        (lambda: linear(S, X), "linear: 's' of shape () does not fit 'X' of shape (3, 4)"),
        (lambda: linear(V, X, V), "linear: 'v' of shape (3,) does not fit 'X' of shape (3, 4): the "
         "bias is a vector of the outputs"),
        (lambda: lang.sum(X, axis=2), "sum: 'X' of shape (3, 4) has no axis 2: it has 2"),
        (lambda: lang.sum(X, axis="i"), "sum: 'i' names no axis of 'X' of shape (3, 4): give a"),  # type: ignore[arg-type]
        (lambda: lang.max(X, axis=1.5), "max: 1.5 names no axis of 'X'"),  # type: ignore[arg-type]
        (lambda: softmax(X, axis=-3), "softmax: 'X' of shape (3, 4) has no axis -3"),
        (lambda: lang.max(S), "max: no axis of 's' of shape () is given: name one or more"),
        (lambda: softmax(X, axis=()), "softmax: no axis of 'X' of shape (3, 4) is given"),
        (lambda: layernorm(Tensor("Z", (3, 0))), "layernorm of size 0 and eps 1e-05: give"),
        (lambda: layernorm(X, eps=-1), "layernorm of size 4 and eps -1"),
        (lambda: Tensor("my tensor", (3,)), "'my tensor' cannot name a tensor: use letters"),
        (lambda: Tensor("relu", (3,)), "'relu' cannot name a tensor"),
        (lambda: Tensor("X", (3, -1)), "tensor 'X': size -1 of mode 1 is outside"),
        (lambda: Tensor("X", (3,), format="CSX"), "unknown format 'CSX'"),
        (lambda: Tensor("X", (3,), format="CSR"), "tensor 'X': format CSR does not fit shape (3,): "
         "give a format with one letter per mode"),
        (lambda: program(), "a program needs a result: give one or more values"),
        (lambda: program(X), "a program computes values, not Tensor: give what operations made"),
        (lambda: program(X=relu(X)), "result 'X' is also an operand: give it its own name"),
        (lambda: program(exp=relu(X)), "'exp' cannot name a result: use ASCII letters"),
        (lambda: program(relu(X) + Tensor("X", (4,))), "two operands are named 'X': rename one"),
    ],
)  # fmt: skip
def test_refuses(make: Callable[[], object], message: str) -> None:
    with pytest.raises(FuseFlowError, match=re.escape(message)) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_one_result_has_one_name() -> None:
    y = relu(X)
    with pytest.raises(ParseError, match="'Y' is listed as a result twice"):
        program(y, Y=y)


def test_a_region_stands_in_no_other() -> None:
    with (
        fuse_region(),
        pytest.raises(ParseError, match="a fuse_region within another"),
        fuse_region(),
    ):
        pass


def test_blocks_are_not_implemented() -> None:
    with pytest.raises(
        NotImplementedError,
        match=r"tensor 'A': blocking \(4, 4\) is not implemented; leave it out",
    ):
        Tensor("A", (34, 34), blocking=(4, 4))


def test_other_types_are_left_to_python() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        X + "text"  # type: ignore[operator]
    with pytest.raises(TypeError):
        np.eye(3) + X  # type: ignore[operator]


def test_values_show_what_made_them() -> None:
    assert repr(X) == "<'X' of shape (3, 4)>"
    assert repr(softmax(X)) == "<the result of softmax of shape (3, 4)>"
