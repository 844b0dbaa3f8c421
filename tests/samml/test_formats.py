"""Formats, value types and tensor declarations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuseflow.samml.errors import FuseFlowError, GraphError, ParseError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.graph import Extent, Role, TensorDecl
from fuseflow.samml.values import INT32, value_type
from tests.samml.graphs import product
from tests.samml.strategies import quick

formats = st.integers(0, 4).flatmap(
    lambda rank: st.builds(
        Format,
        st.lists(st.sampled_from(LevelKind), min_size=rank, max_size=rank).map(tuple),
        st.permutations(range(rank)).map(tuple),
    )
)


@quick
@given(formats)
def test_formats_round_trip(format_: Format) -> None:
    assert Format.parse(str(format_)) == format_


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CSR", "ds:0,1"),
        ("csc", "ds:1,0"),
        ("DCSR", "ss:0,1"),
        ("DCSC", "ss:1,0"),
        ("dense", "d:0"),
        ("dense3", "ddd:0,1,2"),
        ("sparse", "s:0"),
        ("sd", "sd:0,1"),
        ("scalar", "scalar"),
    ],
)
def test_names(name: str, text: str) -> None:
    assert str(Format.parse(name)) == text


@pytest.mark.parametrize("text", ["x", "ss:0", "ss:0,2", "ss:0,x", "s:", "ss:0,0"])
def test_unknown_formats(text: str) -> None:
    with pytest.raises(ParseError, match=f"unknown format '{text}': use scalar, dense, sparse"):
        Format.parse(text)


def test_capacities() -> None:
    cube = TensorDecl("T", Role.INPUT, Format.parse("sds"), (4, 5, 6), (3, 15, 40))
    assert list(cube.compressed()) == [0, 2]
    assert [cube.parents(level) for level in range(3)] == [1, 3, 15]
    assert cube.words == 40
    assert TensorDecl("a", Role.RESULT, Format.parse("scalar"), (), ()).words == 1
    assert str(Extent("T", 2)) == "T.2"


def test_graph_lookup() -> None:
    graph = product()
    assert graph.node("both").connection("right").node == "c_i"
    assert graph.tensor("x").role == Role.RESULT


def test_int32_wraps() -> None:
    assert value_type("int32") is INT32
    assert (INT32.low, INT32.high) == (-(2**31), 2**31 - 1)
    assert INT32.wrap(INT32.high + 1) == INT32.low
    assert INT32.wrap(INT32.low - 1) == INT32.high
    assert INT32.wrap(-1) == -1
    with pytest.raises(ParseError, match="unknown value type 'int4': choose one of int8, int16"):
        value_type("int4")


def test_errors_are_one_line() -> None:
    error = GraphError("a", "b")
    assert isinstance(error, FuseFlowError)
    assert str(error) == "a; b"
    assert error.problems == ("a", "b")
