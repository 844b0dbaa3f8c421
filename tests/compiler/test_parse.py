"""Statements: grammar, normal form, subscripts, refusals."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseflow.compiler import Access, Add, Mul, Statement, Sub, einsum, parse
from fuseflow.compiler.expr import Expr, products
from fuseflow.samml.errors import ParseError
from fuseflow.tensor import Tensor

operands = st.sampled_from(["A(i,j)", "B(j,k)", "c(k)", "d"]).map(
    lambda text: parse(f"x={text}").value
)


def compound(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.builds(
        lambda make, left, right: make(left, right), st.sampled_from([Add, Sub, Mul]), inner, inner
    )


@settings(deadline=None, max_examples=100)
@given(st.recursive(operands, compound, max_leaves=8))
def test_printing_is_inverse_to_parsing(value: Expr) -> None:
    statement = Statement(Access("x"), value)
    assert parse(str(statement)) == statement


def test_precedence_and_spaces() -> None:
    a, b, c = Access("a"), Access("b"), Access("c")
    assert parse(" x=a-b-c").value == Sub(Sub(a, b), c)
    assert parse("x = a + b*c").value == Add(a, Mul(b, c))
    assert parse("x() = (a+b) * c").value == Mul(Add(a, b), c)
    assert str(parse("X(i,j)=B(i , k)*C(k,j)")) == "X(i,j) = B(i,k) * C(k,j)"


def test_normal_form_distributes_signs() -> None:
    terms = products(parse("x = a - (b - c) * (d - e)").value)
    text = [("+" if term.sign > 0 else "-") + "*".join(map(str, term.factors)) for term in terms]
    assert text == ["+a", "-b*d", "+b*e", "+c*d", "-c*e"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a tensor, got the end at position 1 of ''"),
        ("X(i,j)", "expected '=', got the end at position 7 of 'X(i,j)'"),
        ("X(i,) = A(i)", "expected an index, got ')' at position 5"),
        ("x = A(i", "expected ')', got the end at position 8"),
        ("x = a b", "expected the end, got 'b' at position 7"),
        ("x = 3 * a", "unexpected '3' at position 5"),
        ("x = -a", "expected a tensor, got '-' at position 5"),
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
