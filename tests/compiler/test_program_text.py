"""The text form of programs: grammar, round trips, places of errors."""

import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuseflow.compiler.expr import (
    UNARY,
    Access,
    Binary,
    Constant,
    Expr,
    Fold,
    Statement,
    Unary,
    Where,
    accesses,
    free,
)
from fuseflow.compiler.parse import parse
from fuseflow.compiler.program import Program, Region
from fuseflow.compiler.program_text import (
    KEYWORDS,
    parse_program,
    print_program,
    read_program,
)
from fuseflow.samml.errors import ParseError
from tests.compiler.dense import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

GCN = """\
# two-layer GCN
format A = CSR, W1 = dense   # names of formats
format X = ss:1,0, b = s:0, H = dd: 1, 0
fill A = -inf, X = 0.5
order i, k, j

fuse layer1 {
  order i, k,
    j
  T0(i,j) = A(i,k) * X(k,j)

  H(i,j) = relu(T0(i,j) +   # the bias
      b(j))
}
fuse { Z = sum[i](
         H(i,j) * W1(j)
       ); U = Z / 2 }
result H, U
"""


def test_every_part_of_a_program() -> None:
    program = parse_program(GCN)
    assert program == Program(
        tuple(
            map(
                parse,
                (
                    "T0(i,j) = A(i,k) * X(k,j)",
                    "H(i,j) = relu(T0(i,j) + b(j))",
                    "Z = sum[i](H(i,j) * W1(j))",
                    "U = Z / 2",
                ),
            )
        ),
        ("H", "U"),
        (Region(0, 2, ("i", "k", "j"), "layer1"), Region(2, 4)),
        ("i", "k", "j"),
        {"A": "CSR", "W1": "dense", "X": "ss:1,0", "b": "s:0", "H": "dd:1,0"},
        {"A": -math.inf, "X": 0.5},
    )
    assert parse_program(GCN.replace("\n", "\r\n")) == program
    assert parse_program("\n" + GCN.rstrip()) == program


def test_printing_is_readable() -> None:
    assert print_program(parse_program(GCN)) == (
        "format A = CSR\nformat W1 = dense\nformat X = ss:1,0\nformat b = s:0\n"
        "format H = dd:1,0\nfill A = -inf\nfill X = 0.5\norder i, k, j\n"
        "fuse layer1 {\n  order i, k, j\n  T0(i,j) = A(i,k) * X(k,j)\n"
        "  H(i,j) = relu(T0(i,j) + b(j))\n}\n"
        "fuse {\n  Z = sum[i](H(i,j) * W1(j))\n  U = Z / 2\n}\nresult H, U\n"
    )


def test_keywords_name_tensors_and_indices_too() -> None:
    text = "\n".join(f"{word}(fill,result) = a(fill,result)" for word in KEYWORDS)
    scalars = "\n".join(f"{word} = b(i)" for word in KEYWORDS)
    assert [each.target.tensor for each in parse_program(text).statements] == list(KEYWORDS)
    program = parse_program(
        f"{scalars}\nresult result, order, fill, fuse, format\nformat format = scalar\n"
    )
    assert program.results == ("result", "order", "fill", "fuse", "format")
    assert parse_program(print_program(program)) == program
    fused = parse_program("order order\nfuse fuse { order order\n x(order) = a(order) }")
    assert fused.regions == (Region(0, 1, ("order",), "fuse"),)


def test_statements_end_with_a_line_or_a_semicolon() -> None:
    assert len(parse_program("x(i) = a(i); y(i) = b(i);\n;z(i) = c(i)").statements) == 3
    assert len(parse_program("x(i) =\n a(i) /\n b(i) -\n c(\ni)\ny = x(i)").statements) == 2


NAMES = ("A", "B", "c", "d", "T", "fuse", "order", "exp_")
RANKS = {"A": 2, "B": 2, "c": 1, "d": 0, "T": 3, "fuse": 1, "order": 2, "exp_": 0}


@st.composite
def expressions(draw: st.DrawFn, ranks: dict[str, int]) -> Expr:
    def access() -> Access:
        name = draw(st.sampled_from(sorted(ranks)))
        return Access(name, tuple(draw(st.permutations("ijkl"))[: ranks[name]]))

    def build(depth: int) -> Expr:
        kind = draw(st.sampled_from(["access", "number", "unary", "binary", "binary", "where"]))
        if depth == 0 or kind == "access":
            return access()
        if kind == "number":
            return Constant(draw(st.sampled_from([0, 2, -3, 0.5, -1e-7, 1e30, 10**17])))
        if kind == "where":
            fill = draw(st.sampled_from([0, -1.5, math.inf, -math.inf, 7]))
            return Where(access(), build(depth - 1), fill)
        if kind == "binary":
            op = draw(st.sampled_from(["add", "sub", "mul", "div", "max", "min"]))
            return Binary(op, build(depth - 1), build(depth - 1))
        op, operand = (
            draw(st.sampled_from(UNARY)),
            build(depth - 1),
        )
        # A negated number reads as the negative number.
        return operand if op == "neg" and isinstance(operand, Constant) else Unary(op, operand)

    value = build(4)
    if not list(accesses(value)):
        value = Binary("add", value, access())
    if free(value) and draw(st.booleans()):
        folded = tuple(draw(st.permutations(free(value)))[: draw(st.integers(1, 2))])
        value = Fold(draw(st.sampled_from(["sum", "max", "min"])), folded, value)
    return value


def priorities(known: list[str]) -> st.SearchStrategy[tuple[str, ...]]:
    unique = st.lists(st.sampled_from(known), unique=True) if known else st.just([])
    return unique.map(tuple)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    ranks = dict(draw(st.lists(st.sampled_from(sorted(RANKS.items())), min_size=1, unique=True)))
    statements: list[Statement] = []
    for number in range(draw(st.integers(1, 5))):
        value = draw(expressions(ranks))
        name = draw(st.sampled_from([f"Y{number}", f"result{number}"]))
        kept = draw(st.permutations(free(value)))
        target = Access(name, tuple(kept[: draw(st.integers(0, len(kept)))]))
        statements.append(Statement(target, value))
        ranks[name] = len(target.indices)
    plain = Program(tuple(statements))
    cuts = sorted(draw(st.sets(st.integers(0, len(statements)))))
    regions: list[Region] = []
    for number, (start, stop) in enumerate(pairwise(cuts)):
        if draw(st.booleans()):
            inside = {index for each in statements[start:stop] for index in each.indices}
            name = draw(st.sampled_from(["", f"layer_{number}"]))
            regions.append(Region(start, stop, draw(priorities(sorted(inside))), name))
    forms = {0: ["scalar"], 1: ["dense", "s"], 2: ["CSC", "ss:1,0"], 3: ["dss", "sds:2,0,1"]}
    formats = {
        name: draw(st.sampled_from(forms.get(rank, ["d" * rank])))
        for name, rank in plain.ranks.items()
        if draw(st.booleans())
    }
    fills = draw(
        st.dictionaries(
            st.sampled_from(list(plain.inputs)), st.sampled_from([0, -2.5, math.inf, -math.inf])
        )
    )
    more = draw(st.sets(st.sampled_from([each.target.tensor for each in statements])))
    results = draw(st.permutations(sorted({*plain.results, *more})))
    order = draw(priorities(list(plain.indices)))
    return Program(plain.statements, tuple(results), tuple(regions), order, formats, fills)


@settings(deadline=None, max_examples=150)
@given(programs())
def test_printing_is_inverse_to_parsing(program: Program) -> None:
    assert parse_program(print_program(program)) == program


PIECES = st.sampled_from(
    [*KEYWORDS, *"()[]{}=+-*/,:;.#\n\n\r\t\x00é\ufeff\u2028", " ", "A", "i", "j", "(i,j)",
     "x(i) = ", "a(i)", "softmax[i](", "layernorm[i](", "where(", "max(", "sum[i](", "inf", "1",
     "2.5e3", "1e999", "CSR", "ss:1,0", "fuse {", "fill a = ", "format a = ", "order i", "result x"]
)  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)))
@example("(" * 10_000)
@example("x(i) = " + "-" * 10_000 + "a(i)")
@example("x(i) = " + "exp(" * 10_000)
@example("x(i) = a(i)" + " * a(i)" * 10_000)
@example("x(i) = max(" + "a(i), " * 10_000)
@example("x(i) = a(i)" + " - a(i)" * 140)
@example("x(i) = max(" + ", ".join(["a(i)"] * 140) + ")")
@example("x(i) = " + "-max(0, " * 16 + "a(i)" + ")" * 16)
@example("x(i) = " + "exp(-" * 16 + "where(a(i), a(i), 1e999)" + ")" * 16)
@example("x(i) = a(i) + " + "9" * 10_000)
@example("format a = s:" + "9" * 10_000 + "\nx(i) = a(i)")
def test_any_text_is_a_program_or_has_one_clear_line(text: str) -> None:
    problem = ""
    try:
        program = parse_program(text, "garbage.ff")
    except ParseError as error:
        problem = str(error)
    else:
        assert parse_program(print_program(program)) == program
    assert re.fullmatch(r"(garbage\.ff:[0-9]+:[0-9]+: .+)?", problem)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x(i) = a(i)\n\n  y(i) = b(i", "p.ff:3:13: expected ')', got the end"),
        ("x(i) = a(i) a", "p.ff:1:13: expected the end of the line, got 'a'"),
        ("x(i) = a(i)\ny(i)\n", "p.ff:2:5: expected '=', got the end of the line"),
        ("x(i) = a(i)\n  y(i) = b(i,i)", "p.ff:2:3: 'b(i,i)' uses index 'i' twice"),
        ("x(i) = a(i) ? 2", "p.ff:1:13: unexpected '?'"),
        ("x = 'a\u2028'", "p.ff:1:5: unexpected \"'\""),
        ("x(i) = a(i)\n\x00", "p.ff:2:1: unexpected '\\x00'"),
        (")", "p.ff:1:1: expected a statement, got ')'"),
        ("exp(i) = a(i)", "p.ff:1:1: expected a statement, got 'exp'"),
        ("", "p.ff:1:1: the program has no statement"),
        ("x(i) = where(a(i) * b(i), c(i), 0)", "p.ff:1:19: expected ',' behind the mask, which is "
         "one tensor, got '*'"),
        ("x(i) = where(exp(a), c(i), 0)", "p.ff:1:14: expected a mask, which is one tensor, got "
         "'exp'"),
        ("x(i) = where(a(i), c(i), b)", "p.ff:1:26: expected a number, inf or -inf, got 'b'"),
        ("fuse a b {", "p.ff:1:8: expected '{', got 'b'"),
        ("fuse\n{ x(i) = a(i) }", "p.ff:1:5: expected the name of a region or '{', got the end of "
         "the line"),
        ("fuse {\nx(i) = a(i)\n", "p.ff:2:12: expected '}', got the end"),
        ("fuse {\n}\nx(i) = a(i)", "p.ff:1:1: region 1 has statements 0 to 0 of 1"),
        ("fuse {\n fuse {\n", "p.ff:2:2: 'fuse' inside of a region: move it out of the braces"),
        ("fuse { x(i) = a(i)\n result x }", "p.ff:2:2: 'result' inside of a region"),
        ("fuse { x(i) = a(i) } y(i) = b(i)", "p.ff:1:22: expected the end of the line, got 'y'"),
        ("x(i) = a(i) }", "p.ff:1:13: expected a statement, got '}'"),
        ("order i\norder j\n", "p.ff:2:1: a second order: put all indices into one"),
        ("order i,\n", "p.ff:1:9: expected an index, got the end"),
        ("fuse {\n order j\n x(i) = a(i) }", "p.ff:2:2: the order of the region 1 names 'j'"),
        ("x(i) = a(i)\norder j", "p.ff:2:1: the order of the program names 'j'"),
        ("format a = CSR\nx(i) = a(i)", "p.ff:1:8: format of 'a': CSR has rank 2"),
        ("format a = CSX\nx(i) = a(i)", "p.ff:1:8: format of 'a': unknown format 'CSX'"),
        ("format a = d, a = s", "p.ff:1:15: a second format of 'a': give one"),
        ("format a = s:x", "p.ff:1:14: expected a mode, which is one digit, got 'x'"),
        ("format a = ss:1,0.5", "p.ff:1:17: expected a mode, which is one digit, got '0.5'"),
        ("format a = d b = d", "p.ff:1:14: expected the end of the line, got 'b'"),
        ("format q = d\nx(i) = a(i)", "p.ff:1:8: format of 'q': no statement has this tensor"),
        ("fill a = b", "p.ff:1:10: expected a number, inf or -inf, got 'b'"),
        ("x(i) = a(i)\nfill a = 1, x = 2", "p.ff:2:13: fill of 'x': it follows from statement 1"),
        ("fill a = 1\nfill a = 2", "p.ff:2:6: a second fill of 'a': give one"),
        ("x(i) = a(i)\nresult x, q", "p.ff:2:11: no statement defines the result 'q'"),
        ("x(i) = a(i)\nresult x\nresult x", "p.ff:3:8: 'x' is listed as a result twice"),
        ("x(i) = a(i)\n y(i) = b(i)\nresult x", "p.ff:2:2: statement 2 'y(i) = b(i)' computes 'y'"),
        ("x(i) = y(i)\ny(i) = x(i)", "p.ff:1:1: statement 1 'x(i) = y(i)' reads 'y' before"),
        ("x(i) = " + "(" * 51 + "a(i)", "p.ff:1:58: nested deeper than 50: split the statement"),
        ("x(i) = a(i)" + "+a(i)" * 151, "more than 150 operations in one statement: split it"),
    ],
)  # fmt: skip
def test_errors_name_the_place(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=re.escape(message)) as caught:
        parse_program(text, "p.ff")
    assert "\n" not in str(caught.value)


def test_reading_files(tmp_path: Path) -> None:
    path = tmp_path / "two.ff"
    path.write_bytes(b"\xef\xbb\xbf# caf\xc3\xa9\r\nx(i) = a(i)\r\ny = x(i)\r\n")
    assert read_program(path) == parse_program("x(i) = a(i)\ny = x(i)")
    path.write_text("x(i) = a(i)\ny(i) = b(i,i)")
    with pytest.raises(ParseError, match=re.escape(f"{path}:2:1: 'b(i,i)' uses")):
        read_program(str(path))
    path.write_bytes(b"x(i) = a(i) # caf\xe9")
    with pytest.raises(ParseError, match=r"two\.ff': byte 18 is not UTF-8; save it as UTF-8 text"):
        read_program(path)
    with pytest.raises(ParseError, match=r"none\.ff': No such file or directory; give the file"):
        read_program(tmp_path / "none.ff")
    with pytest.raises(ParseError, match="Is a directory; give the file of a program"):
        read_program(tmp_path)
    with pytest.raises(ParseError, match="cannot read"):
        read_program("a\0b")


def test_the_gcn_of_the_examples() -> None:
    rng = np.random.default_rng(1)
    sizes = {"A": (6, 6), "X": (6, 5), "W1": (5, 4), "b1": (4,), "W2": (4, 3), "b2": (3,)}
    a, x, w1, b1, w2, b2 = given = [rng.normal(size=size) for size in sizes.values()]
    program = read_program(EXAMPLES / "gcn.ff")
    assert [region.name for region in program.regions] == ["layer1", "layer2"]
    y = run(program, dict(zip(sizes, given, strict=True)))["Y"]
    hidden = np.maximum(a @ x @ w1 + b1, 0)
    powers = np.exp(a @ hidden @ w2 + b2)
    np.testing.assert_allclose(y, powers / powers.sum(axis=1, keepdims=True), rtol=1e-12)
    assert program.results == ("Y",)


def test_the_attention_of_the_examples() -> None:
    rng = np.random.default_rng(2)
    q, k, v = (rng.normal(size=(5, 64)) for _ in range(3))
    mask = np.tril(np.ones((5, 5)))
    program = read_program(EXAMPLES / "attention.ff")
    y = run(program, {"Q": q, "K": k, "V": v, "M": mask})["Y"]
    powers = np.where(mask != 0, np.exp(q @ k.T / 8), 0)
    np.testing.assert_allclose(y, powers / powers.sum(axis=1, keepdims=True) @ v, atol=1e-12)
