"""Statements: grammar, normal form, subscripts, refusals."""

import math
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fuseflow.compiler import Access, Binary, Constant, Statement, Unary, einsum, parse
from fuseflow.compiler.expr import BINARY, UNARY, Expr, Where
from fuseflow.compiler.masks import push_masks
from fuseflow.compiler.sums import with_sums
from fuseflow.samml.errors import ParseError
from fuseflow.tensor import Tensor

LEAVES = ("A(i,j)", "B(j,k)", "c(k)", "d", "2", "-0.5", "1e999", "sum[m](e(m))")
leaves = st.sampled_from(LEAVES).map(lambda text: parse(f"x=z+{text}").value.right)


FILLS = (0, 1.5, -2, math.inf, -math.inf)


def compound(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(Binary, st.sampled_from(list(BINARY)), inner, inner),
        st.builds(Unary, st.sampled_from(UNARY), inner),
        st.builds(Where, st.just(Access("A", ("i", "j"))), inner, st.sampled_from(FILLS)),
    )


def is_negated_number(value: Expr) -> bool:
    match value:
        case Unary(op, operand):
            return (op == "neg" and isinstance(operand, Constant)) or is_negated_number(operand)
        case Binary(_, left, right):
            return is_negated_number(left) or is_negated_number(right)
        case Where(_, body):
            return is_negated_number(body)
        case _:
            return False


@settings(deadline=None, max_examples=200)
@given(st.recursive(leaves, compound, max_leaves=8))
def test_printing_is_inverse_to_parsing(value: Expr) -> None:
    assume(not is_negated_number(value))  # it reads as the negative number
    assume(str(value).count("sum[m]") < 2)
    statement = Statement(Access("x"), Binary("add", Access("z"), value))
    assert parse(str(statement)) == statement


def test_precedence_and_spaces() -> None:
    a, b, c = Access("a"), Access("b"), Access("c")
    minus = Binary("sub", a, b)
    assert parse(" x=a-b-c").value == Binary("sub", minus, c)
    assert parse("x = a + b*c").value == Binary("add", a, Binary("mul", b, c))
    assert parse("x = a * b / c / d").value == Binary(
        "div", Binary("div", Binary("mul", a, b), c), Access("d")
    )
    assert parse("x = a / (b * c)").value == Binary("div", a, Binary("mul", b, c))
    assert parse("x() = (a+b) * c").value == Binary("mul", Binary("add", a, b), c)
    assert parse("x = -a * b").value == Binary("mul", Unary("neg", a), b)
    assert parse("x = a - -1.5e1").value == Binary("sub", a, Constant(-15))
    assert parse("x = max(a, b, 2)").value == Binary("max", Binary("max", a, b), Constant(2))
    assert str(parse("x = a/b*(c/d) - max(max(a,b),max(c,d))")) == (
        "x = a / b * (c / d) - max(a, b, max(c, d))"
    )
    assert str(parse("X(i,j)=B(i , k)*C(k,j)")) == "X(i,j) = B(i,k) * C(k,j)"


def test_functions_and_masks() -> None:
    a, mask = Access("a", ("i",)), Access("M", ("i",))
    assert parse("x(i) = exp(a(i)) / rsqrt(2)").value == Binary(
        "div", Unary("exp", a), Unary("rsqrt", Constant(2))
    )
    assert parse("x(i) = where(M(i), a(i), -inf)").value == Where(mask, a, -math.inf)
    assert parse("x(i) = where(M(i), a(i), inf)").value == Where(mask, a, math.inf)
    assert parse("x(i) = -where(M(i), a(i), -0.5)").value == Unary("neg", Where(mask, a, -0.5))
    assert parse("x = exp + inf * where").value == Binary(
        "add", Access("exp"), Binary("mul", Access("inf"), Access("where"))
    )


@pytest.mark.parametrize(
    ("text", "order", "meant"),
    [
        ("x(i) = b(i) - C(i,j) * d(j)", None, "b(i) - sum[j](C(i,j) * d(j))"),
        ("X(i,j) = relu(B(i,k) * C(k,j) + d(j))", None, "relu(sum[k](B(i,k) * C(k,j)) + d(j))"),
        ("X(i,j) = B(i,j) * C(i,k) * D(k,j)", "ijk", "B(i,j) * sum[k](C(i,k) * D(k,j))"),
        ("X(i,j) = B(i,j) * C(i,k) * D(k,j)", "kij", "sum[k](B(i,j) * C(i,k) * D(k,j))"),
        ("x = a(i) * b(j) * c(j)", None, "sum[i](a(i)) * sum[j](b(j) * c(j))"),
        ("x(i) = B(i,j) * (c(j) + D(j,k))", None, "sum[j](B(i,j) * (c(j) + sum[k](D(j,k))))"),
        ("x(i) = max[j](B(i,j) * C(j,k))", None, "max[j](B(i,j) * sum[k](C(j,k)))"),
        ("x = max(a(i), b(i))", None, "sum[i](max(a(i), b(i)))"),
        ("x = abs(a(i))", None, "abs(sum[i](a(i)))"),
    ],
)
def test_implicit_sums(text: str, order: str | None, meant: str) -> None:
    value = with_sums(parse(text)).value
    assert str(push_masks(value, order) if order else value) == meant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a tensor, got the end at position 1 of ''"),
        ("X(i,j)", "expected '=', got the end at position 7 of 'X(i,j)'"),
        ("X(i,) = A(i)", "expected an index, got ')' at position 5"),
        ("x = A(i", "expected ')', got the end at position 8"),
        ("x = a b", "expected the end, got 'b' at position 7"),
        ("x = a ? b", "unexpected '?' at position 7"),
        ("x = a\u00e9", "unexpected '\u00e9' at position 6"),
        ("x = a + \u0663", "unexpected '\u0663' at position 9"),
        ("x = a *", "expected a tensor, got the end at position 8"),
        ("x = max(a)", "expected ',', got ')' at position 10"),
        ("x = sum[](a)", "expected an index, got ']' at position 9"),
        ("x = exp(a, b)", "expected ')', got ',' at position 10"),
        ("x = relu(i) + where(a + b, c, 0)", "expected ',' behind the mask, which is one tensor"),
        ("x = where(2, c, 0)", "expected a mask, which is one tensor, got '2' at position 11"),
        ("x = where(exp(a), c, 0)", "expected a mask, which is one tensor, got 'exp'"),
        ("x = where(a, c)", "expected ',', got ')' at position 15"),
        ("x = where(a, c, d)", "expected a number, inf or -inf, got 'd' at position 17"),
        ("x = where(a, c, 1 + 1)", "expected ')', got '+' at position 19"),
        ("exp(i) = a(i)", "expected a tensor, got 'exp' at position 1"),
        ("x = a /", "expected a tensor, got the end at position 8"),
        ("x = " + "-" * 60 + "a", "nested deeper than 50: split the statement at position 55"),
        ("x = a" + " / a" * 151, "more than 150 operations in one statement: split it"),
        ("x = 2 + 3", "'x = 2 + 3' reads no tensor"),
        ("x = sum[j](a(i))", "'sum[j](a(i))' folds index 'j', which it does not use"),
        ("x(j) = sum[j](a(j))", "index 'j' of 'sum[j](a(j))' is also used outside"),
        ("x(i) = A(i,i)", "'A(i,i)' uses index 'i' twice"),
        ("x(i) = A(i) + A(i,j)", "'A(i)' and 'A(i,j)' use one tensor with two ranks"),
        ("x(m) = A(i)", "index 'm' of result 'x(m)' occurs in no operand"),
        ("x(i) = x(i)", "result 'x' is also an operand"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=re.escape(message)) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_long_numbers_are_read_as_floating_point() -> None:
    assert parse("x = a + 123456789012345678").value == Binary(
        "add", Access("a"), Constant(123456789012345678)
    )
    assert parse(f"x = a + {10**30}").value == Binary("add", Access("a"), Constant(1e30))
    assert parse("x = a + " + "9" * 5000).value == Binary("add", Access("a"), Constant(math.inf))


def test_einsum() -> None:
    b = Tensor.from_numpy("B", [[1, 0], [0, 1]])
    c = Tensor.from_numpy("C", [[1, 0], [0, 1]])
    assert str(einsum("ik,kj->ij", b, c)) == "X(i,j) = B(i,k) * C(k,j)"
    assert str(einsum("ik,kj", b, b, result="Y")) == "Y(i,j) = B(i,k) * B(k,j)"
    assert str(einsum("ij,,j->i")) == "X(i) = A(i,j) * B * C(j)"
    assert str(einsum("i->")) == "X = A(i)"


def test_einsum_refuses() -> None:
    b = Tensor.from_numpy("B", [1])
    with pytest.raises(ParseError, match="name 2 operands, got 1"):
        einsum("i,i->", b)
    with pytest.raises(ParseError, match="use letters"):
        einsum("i1->")
    with pytest.raises(ParseError, match="two operands are named 'B'"):
        einsum("i,i->", b, Tensor.from_numpy("B", [2]))
