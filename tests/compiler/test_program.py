"""What a program is, and every way in which its parts do not fit."""

import math
import re
from typing import Any

import pytest

from fuseflow.compiler.parse import parse
from fuseflow.compiler.program import Part, Program, ProgramError, Region, single

LAYER = ("T(i,j) = A(i,k) * X(k,j)", "H(i,j) = relu(T(i,j) + b(j))", "Y(i) = sum[j](H(i,j))")


def build(*texts: str, **parts: Any) -> Program:
    return Program(tuple(map(parse, texts)), **parts)


def test_who_defines_and_reads_what() -> None:
    program = build(*LAYER, results=("Y", "T"), regions=(Region(0, 2, name="layer"),))
    assert program.inputs == {"A": 2, "X": 2, "b": 1}
    assert list(program.inputs) == ["A", "X", "b"]
    assert program.ranks == {"A": 2, "X": 2, "T": 2, "b": 1, "H": 2, "Y": 1}
    assert program.indices == ("i", "j", "k")
    assert program.producer("H") == 1
    assert program.producer("A") is None
    assert program.consumers("H") == (2,)
    assert program.consumers("Y") == ()
    assert program.is_result("T")
    assert not program.is_result("H")
    assert program.region(1) == Region(0, 2, (), "layer")
    assert program.region(2) is None


def test_a_tensor_that_is_read_twice_is_consumed_once() -> None:
    program = build("Y(i) = a(i) * a(i)", "Z = Y(i) * Y(j)")
    assert program.consumers("a") == (0,)
    assert program.consumers("Y") == (1,)


def test_results_are_what_nobody_reads() -> None:
    assert build(*LAYER).results == ("Y",)
    assert build("Y(i) = a(i)", "Z(i) = a(i)").results == ("Y", "Z")
    assert single(parse(LAYER[0])) == build(LAYER[0], results=("T",))


def test_equal_programs_have_equal_parts() -> None:
    regions = (Region(1, 3), Region(0, 1))
    given = {"A": "CSR", "X": "ss:01,0", "b": "Dense"}
    program = build(*LAYER, regions=regions, formats=given)
    assert program.regions == (Region(0, 1), Region(1, 3))
    assert program.formats == {"A": "CSR", "X": "ss:1,0", "b": "Dense"}
    given["A"] = "dense"
    assert program.formats["A"] == "CSR"
    assert program == build(*LAYER, regions=regions[::-1], formats=program.formats)
    assert program != build(*LAYER, regions=regions)


@pytest.mark.parametrize(
    ("texts", "key", "message"),
    [
        (
            ["Y(i) = T(i)", "T(i) = a(i)"],
            0,
            "statement 1 'Y(i) = T(i)' reads 'T' before its definition in statement 2: move that "
            "statement up",
        ),
        (
            ["Y(i) = T(i)", "U(i) = Y(i)", "T(i) = U(i)"],
            0,
            "statement 1 'Y(i) = T(i)' reads 'T' before its definition in statement 3, which "
            "depends on 'Y': a program has no cycle, so read another tensor in one of the two",
        ),
        (
            ["Y(i) = a(i)", "Y(i) = b(i)"],
            1,
            "statement 2 'Y(i) = b(i)' defines 'Y', which statement 1 defines: give its result "
            "another name",
        ),
        (
            ["Y(i) = A(i,j)", "Z = A(i)"],
            1,
            "statement 2 'Z = A(i)' has 'A(i)', statement 1 has 'A(i,j)': one tensor has one "
            "rank, so rename one of the two",
        ),
        (
            ["Y(i) = a(i)", "Z = Y(i) * Y"],
            None,
            "'Y(i)' and 'Y' use one tensor with two ranks",
        ),
        ([], None, "the program has no statement: write one, such as X(i,j) = A(i,k) * B(k,j)"),
    ],
)
def test_statements_that_do_not_fit(texts: list[str], key: int | None, message: str) -> None:
    with pytest.raises(Exception, match=re.escape(message)) as caught:
        build(*texts)
    assert "\n" not in str(caught.value)
    if key is not None:
        assert isinstance(caught.value, ProgramError)
        assert (caught.value.part, caught.value.key) == (Part.STATEMENT, key)


@pytest.mark.parametrize(
    ("parts", "part", "key", "message"),
    [
        ({"results": ("Q",)}, Part.RESULT, "Q", "no statement defines the result 'Q': results are "
         "among T, H, Y"),
        ({"results": ("A",)}, Part.RESULT, "A", "no statement defines the result 'A'"),
        ({"results": ("Y", "Y")}, Part.RESULT, "Y", "'Y' is listed as a result twice: list it "
         "once"),
        ({"results": ("H",)}, Part.STATEMENT, 2, "statement 3 'Y(i) = sum[j](H(i,j))' computes "
         "'Y', which nobody reads: make it a result or leave it out"),
        ({"regions": (Region(0, 2), Region(1, 3))}, Part.REGION, 1, "region 2 shares statement 2 "
         "'H(i,j) = relu(T(i,j) + b(j))' with the region before it: a statement is in one region"),
        ({"regions": (Region(2, 4, name="tail"),)}, Part.REGION, 0, "region tail has statements 2 "
         "to 4 of 3: give it one or more of the program's"),
        ({"regions": (Region(-1, 1),)}, Part.REGION, 0, "region 1 has statements -1 to 1 of 3"),
        ({"regions": (Region(1, 1),)}, Part.REGION, 0, "region 1 has statements 1 to 1 of 3"),
        ({"regions": (Region(0, 1, name="my layer"),)}, Part.REGION, 0, "region 'my layer': name "
         "it with ASCII letters, digits and _"),
        ({"regions": (Region(0, 1, name="r"), Region(1, 2, name="r"))}, Part.REGION, 1,
         "two regions are named 'r': rename one"),
        ({"order": ("i", "q")}, Part.ORDER, None, "the order of the program names 'q', which no "
         "statement of it has: it has i, j, k"),
        ({"order": ("i", "i")}, Part.ORDER, None, "the order of the program names 'i' twice"),
        ({"regions": (Region(1, 3, ("k",)),)}, Part.ORDER, 0, "the order of the region 1 names "
         "'k', which no statement of it has: it has i, j"),
        ({"formats": {"Q": "CSR"}}, Part.FORMAT, "Q", "format of 'Q': no statement has this "
         "tensor; they have A, X, T, b, H, Y"),
        ({"formats": {"A": "CSX"}}, Part.FORMAT, "A", "format of 'A': unknown format 'CSX'"),
        ({"formats": {"b": "CSR"}}, Part.FORMAT, "b", "format of 'b': CSR has rank 2, the tensor "
         "has rank 1: give a format with one letter per index"),
        ({"fills": {"Q": 1}}, Part.FILL, "Q", "fill of 'Q': no statement has this tensor"),
        ({"fills": {"T": 1}}, Part.FILL, "T", "fill of 'T': it follows from statement 1 'T(i,j) = "
         "A(i,k) * X(k,j)', so leave it out"),
        ({"fills": {"A": math.nan}}, Part.FILL, "A", "fill of 'A': nan is no fill"),
    ],
)  # fmt: skip
def test_a_schedule_that_does_not_fit(
    parts: dict[str, Any], part: Part, key: int | str | None, message: str
) -> None:
    with pytest.raises(ProgramError, match=re.escape(message)) as caught:
        build(*LAYER, **parts)
    assert (caught.value.part, caught.value.key) == (part, key)
    assert "\n" not in str(caught.value)


def test_long_statements_are_cut_in_errors() -> None:
    with pytest.raises(ProgramError) as caught:
        build("Y(i) = a(i)" + " + a(i)" * 100, "Y(i) = b(i)", "Y(i) = c(i)" + " + c(i)" * 100)
    assert len(str(caught.value)) < 150
