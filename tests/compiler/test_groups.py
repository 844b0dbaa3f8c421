"""Softmax and layernorm, written out, mean what NumPy means."""

import re

import numpy as np
import pytest

from fuseflow.compiler.groups import fresh
from fuseflow.compiler.parse import parse
from fuseflow.compiler.program_text import parse_program
from fuseflow.samml.errors import ParseError
from tests.compiler.dense import Floats, run

RNG = np.random.default_rng(3)
CUBE = RNG.normal(size=(3, 4, 5))


def softmax(x: Floats, axis: int | tuple[int, ...]) -> Floats:
    powers = np.exp(x)
    return powers / powers.sum(axis=axis, keepdims=True)


def texts(program: str) -> list[str]:
    return [str(statement) for statement in parse_program(program).statements]


@pytest.mark.parametrize(
    ("indices", "folded", "axes"),
    [
        ("i", "i", (0,)),
        ("i,j", "j", (1,)),
        ("i,j", "i", (0,)),
        ("i,j,k", "i,k", (0, 2)),
        ("i,j,k", "j,i,k", (0, 1, 2)),
    ],
)
def test_any_rank_and_any_axes(indices: str, folded: str, axes: tuple[int, ...]) -> None:
    x = CUBE[(0,) * (3 - indices.count(",") - 1)]
    y = run(parse_program(f"Y({indices}) = softmax[{folded}](S({indices}))"), {"S": x})["Y"]
    np.testing.assert_allclose(y, softmax(x, axes), rtol=1e-13)
    size = np.prod([x.shape[axis] for axis in axes])
    z = run(
        parse_program(f"Z({indices}) = layernorm[{folded}](S({indices}), {size}, 1e-3)"), {"S": x}
    )
    centred = x - x.mean(axis=axes, keepdims=True)
    variance = (centred**2).mean(axis=axes, keepdims=True)
    np.testing.assert_allclose(z["Z"], centred / np.sqrt(variance + 1e-3), rtol=1e-12)


def test_softmax_does_not_overflow() -> None:
    y = run(parse_program("Y(i) = softmax[i](x(i))"), {"x": [1e4, 1e4 - 1]})["Y"]
    np.testing.assert_allclose(y, softmax(np.array([1.0, 0.0]), 0))


def test_a_mask_takes_its_entries_out() -> None:
    mask = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [2, 3, 4, 5]])
    program = parse_program("P(i,j) = softmax[j](where(M(i,j), S(i,j), -inf))")
    p = run(program, {"M": mask, "S": CUBE[:, :, 0]})["P"]
    for row, kept, scores in zip(p, mask != 0, CUBE[:, :, 0], strict=True):
        np.testing.assert_allclose(row[kept], softmax(scores[kept], 0))
        assert not row[~kept].any()


def test_statements_of_a_softmax() -> None:
    assert texts("Y(i,j) = softmax[j](S(i,j))") == [
        "Y_max(i) = max[j](S(i,j))",
        "Y_exp(i,j) = exp(S(i,j) - Y_max(i))",
        "Y_sum(i) = sum[j](Y_exp(i,j))",
        "Y(i,j) = Y_exp(i,j) / Y_sum(i)",
    ]
    product = texts("Y(i,j) = softmax[j](A(i,k) * B(k,j))")
    assert product[:2] == ["Y_in(i,j) = A(i,k) * B(k,j)", "Y_max(i) = max[j](Y_in(i,j))"]
    assert texts("Y(i,j) = softmax[j](S(j,i))")[0] == "Y_in(i,j) = S(j,i)"


def test_statements_of_a_layernorm() -> None:
    assert texts("Y(i,j) = layernorm[j](2 * x(i,j), 8, 0.5)") == [
        "Y_in(i,j) = 2 * x(i,j)",
        "Y_mean(i) = sum[j](Y_in(i,j)) * 0.125",
        "Y_centred(i,j) = Y_in(i,j) - Y_mean(i)",
        "Y_var(i) = sum[j](Y_centred(i,j) * Y_centred(i,j)) * 0.125",
        "Y(i,j) = Y_centred(i,j) * rsqrt(Y_var(i) + 0.5)",
    ]


def test_names_that_are_taken_get_a_number() -> None:
    taken = {"Y_max", "Y_max1"}
    assert [fresh("Y_max", taken), fresh("Y_max", taken), fresh("Z", taken)] == [
        "Y_max2", "Y_max3", "Z",
    ]  # fmt: skip
    written = texts("Y(i) = softmax[i](x(i))\nZ(i) = Y_max * Y_exp(i) * Y(i)")
    assert written[0] == "Y_max1 = max[i](x(i))"
    assert written[1] == "Y_exp1(i) = exp(x(i) - Y_max1)"
    again = texts("Y(i) = softmax[i](x(i))\nY_max(i) = softmax[i](Y(i))")
    assert again[0] == "Y_max1 = max[i](x(i))"
    assert again[-1] == "Y_max(i) = Y_max_exp(i) / Y_max_sum"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Y(i) = 1 + softmax[i](x(i))", "1:12: 'softmax' stands for several statements: give it "
         "the whole right-hand side of a statement in a program"),
        ("Y(i) = softmax[i](x(i)) / 2", "1:8: 'softmax' stands for several statements"),
        ("Y(i) = (softmax[i](x(i)))", "1:9: 'softmax' stands for several statements"),
        ("Y(i) = softmax[i](layernorm[i](x(i), 2, 1))", "1:19: 'layernorm' stands for several"),
        ("Y(i) = softmax[j](X(i,j))", "1:1: softmax over 'j', which its result 'Y(i)' lacks: it "
         "keeps every index"),
        ("Y(i,j) = softmax[j](x(i))", "1:1: index 'j' of result 'Y_in(i,j)' occurs in no operand"),
        ("Y(i) = softmax[](x(i))", "1:16: expected an index, got ']'"),
        ("Y(i) = layernorm[i](x(i))", "1:25: expected ',', got ')'"),
        ("Y(i) = layernorm[i](x(i), n, 1)", "1:27: expected the number of elements that layernorm "
         "normalises over, got 'n'"),
        ("Y(i) = layernorm[i](x(i), 2, e)", "1:30: expected what layernorm adds to the variance"),
        ("Y(i) = layernorm[i](x(i), 0, 1)", "1:1: layernorm of size 0 and eps 1: give the number "
         "of elements that it normalises over, and an eps of 0 or more"),
        ("Y(i) = layernorm[i](x(i), 2, -1)", "1:1: layernorm of size 2 and eps -1"),
        ("Y(i) = layernorm[i](x(i), " + "9" * 400 + ", 1)", "1:1: layernorm of size inf"),
    ],
)  # fmt: skip
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=re.escape(message)):
        parse_program(text)


def test_a_single_statement_is_no_group() -> None:
    with pytest.raises(ParseError, match="stands for several statements"):
        parse("Y(i) = softmax[i](x(i))")
    assert str(parse("Y(i) = softmax(i) * layernorm")) == "Y(i) = softmax(i) * layernorm"
