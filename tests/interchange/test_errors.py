"""Whatever is wrong with a file is told in one line, with file and line."""

import re
from pathlib import Path

import pytest

import fuseflow
from fuseflow.interchange import open_custard, read_custard
from fuseflow.samml.errors import FuseFlowError, LoweringError, ParseError
from fuseflow.tensor import Tensor
from tests.interchange.kernels import KERNELS, to_gv

VEC = to_gv(KERNELS["vec_elemmul"].graph)
IKJ = to_gv(KERNELS["matmul_ikj"].graph)
SPMV = to_gv(KERNELS["mat_vecmul_ij"].graph)
RESIDUAL = to_gv(KERNELS["mat_residual"].graph)
SPACC = to_gv(KERNELS["mat_vecmul_ji"].graph)


def line_of(text: str, statement: str) -> int:
    return text.split(statement)[0].count("\n") + 1


def message(tmp_path: Path, text: str) -> str:
    path = tmp_path / "x.gv"
    path.write_text(text)
    with pytest.raises(ParseError) as caught:
        read_custard(path)
    told = str(caught.value)
    assert "\n" not in told
    assert told.startswith(str(path))
    return told.removeprefix(str(path))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", r", line 1: this is no DOT, or it ends too early, at 'the end'"),
        ("matmul", r", line 1: this is no DOT.*at 'matmul'"),
        (VEC[: VEC.index("    6 -> 5")], r"this is no DOT, or it ends too early"),
        (VEC + "}", r"this is no DOT"),
        ("graph G { a -- b }", r": holds 1 graphs, expected one digraph"),
        ("digraph A { } digraph B { }", r": holds 2 graphs"),
        ("digraph A { subgraph c { 1 } }", r": has subgraphs"),
        ("digraph A { 1 -> 2 }", r", line 1: edge 1 -> 2: there is no node 1"),
        ("digraph A { 1 }", r": is no graph of Custard, which begins with the formats"),
        ('digraph A { comment="x=s0" }', r": writes 0 tensors, expected one result"),
        ('digraph A { comment="x=s1" }', r"no counterpart in SAMML: format 'x=s1'"),
        ('digraph A { comment="x=u0" }', r"no counterpart in SAMML: format 'x=u0'"),
        ('digraph A { comment="x=s0,x=s0" }', r": format 'x=s0' names no tensor, or one twice"),
    ],
)
def test_a_file_that_is_no_graph(tmp_path: Path, text: str, wanted: str) -> None:
    assert re.search(wanted, message(tmp_path, text))


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "x.gv"
    path.write_bytes(b"\xff\xfe\x00digraph")
    with pytest.raises(ParseError, match="is not text"):
        read_custard(path)


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted"),
    [
        (VEC, 'type="mul"', 'type="bittree"', r"node 2 \(bittree\): no counterpart in SAMML"),
        (VEC, 'type="mul"', 'type="vectorreducer"', r"\(vectorreducer\): no counterpart"),
        (VEC, 'type="mul"', 'kind="mul"', r"node 2 \(no type\): attribute 'type' is missing"),
        (VEC, ' tensor="b" mode', " mode", r"node 6 .*attribute 'tensor' is missing"),
        (VEC, ' index="i"', "", r"node 6 \(fiberlookup\): attribute 'index' is missing"),
        (VEC, ' mode="0"', ' mode="zero"', r"node 6 .*attribute 'mode' is 'zero', wanted a number"),
        (VEC, ' mode="0"', ' mode="' + 5000 * "9" + '"', r"node 6 .*, wanted a number"),
        (VEC, ' mode="0"', ' mode="1"', r"node 6 .*tensor 'b' of format s:0 has no mode 1"),
        (VEC, 'format="compressed"', 'format="dense"', r"node 6 .*format is dense, but compressed"),
        (VEC, 'tensor="b" mode', 'tensor="q" mode', r"node 6 .*tells no format of tensor 'q'"),
        (VEC, 'root="true"', 'root="false"', r"node 6 .*has 0 inputs of type ref, wanted 1"),
        (VEC, 'arrayvals" tensor="b"', 'arrayvals" tensor="c"',
         r"node 3 \(arrayvals\): loads 'c' of format s:0 by a ref into tensor 'b' below i"),
        (VEC, '[label="crd_in-b" style=dashed type="crd" comment="in-b"', '[type="crd"',
         r'node 5 \(intersect\): wants two or more inputs with a comment such as "in-B"'),
        (SPMV, 'index="j" tensor="B" mode="1"', 'index="j" tensor="B" mode="0"',
         r"node 7 \(fiberlookup\): scans level 0 of 'B' by a ref into tensor 'B' below i"),
        (IKJ, 'order="1"', 'order="3"', r"node 3 \(spaccumulator\): no counterpart .* order 3"),
        (IKJ, 'order="1"', 'order="2"', r"node 3 \(spaccumulator\): outer must be aligned with"),
        (SPACC, 'order="1"', 'order="2"', r"node 2 \(spaccumulator\): attribute 'in1' is missing"),
    ],
)  # fmt: skip
def test_a_node_that_is_wrong(tmp_path: Path, text: str, old: str, new: str, wanted: str) -> None:
    assert old in text
    told = message(tmp_path, text.replace(old, new, 1))
    assert re.search(wanted, told), told
    node = re.search(r"node (\w+) \(", told)
    assert node is not None
    assert told.startswith(f", line {line_of(text, f'    {node[1]} [')}: ")


@pytest.mark.parametrize(
    ("text", "edge", "new", "wanted"),
    [
        (VEC, "    2 -> 0 ", "    99 -> 0 ", r"edge 99 -> 0: there is no node 99"),
        (VEC, '    2 -> 0 [label="val" style=dashed type="val"', "    2 -> 0 [",
         r"edge 2 -> 0: type is '', wanted crd, ref, val or repsig"),
        (VEC, '    5 -> 4 [label="ref_out-c" style=dashed type="ref" comment="out-c"',
         '    5 -> 4 [type="ref" comment="out-d"', r"node 5 \(intersect\) has no output ref 'd'"),
        (VEC, '    3 -> 2 [label="val" style=dashed type="val"', '    3 -> 2 [type="ref"',
         r"node 2 \(mul\): has 1 inputs of type val, wanted 2"),
        (VEC, '    2 -> 0 [label="val"', '    5 -> 2 [type="crd"]\n    2 -> 0 [label="val"',
         r"no counterpart in SAMML: a crd into node 2 \(mul\)"),
        (IKJ, "    3 -> 2 ", '    4 -> 2 [type="crd" comment="outer-i"]\n    # ',
         r"no counterpart in SAMML: the outer coordinates of crdhold 4, read by a fiberwrite"),
    ],
)  # fmt: skip
def test_an_edge_that_is_wrong(tmp_path: Path, text: str, edge: str, new: str, wanted: str) -> None:
    assert edge in text
    told = message(tmp_path, text.replace(edge, new, 1))
    assert re.search(wanted, told), told
    assert re.match(r", line \d+: ", told)


def test_nodes_in_a_circle(tmp_path: Path) -> None:
    told = message(tmp_path, VEC.replace("    2 -> 0 ", '    2 -> 3 [type="val"]\n    2 -> 0 '))
    assert re.search(r"line \d+: node [23] \(\w+\): the nodes [23], [23] form a cycle", told), told


def test_two_nodes_of_one_name(tmp_path: Path) -> None:
    told = message(tmp_path, VEC.replace("    7 [", "    6 ["))
    assert re.search(r"line \d+: node 6 is declared twice", told)


def test_two_writers(tmp_path: Path) -> None:
    node = next(line for line in VEC.splitlines() if line.startswith("    0 ["))
    end = VEC.splitlines()[VEC.splitlines().index(node) + 1]
    more = f"{node}\n{end}\n".replace("    0 [", "    8 [") + '    2 -> 8 [type="val"]\n}'
    told = message(tmp_path, VEC.rstrip().removesuffix("}") + more)
    assert "the values of 'x' are written by node" in told


def test_levels_without_writers(tmp_path: Path) -> None:
    lines = [line for line in VEC.splitlines() if not line.startswith("    5 -> 1 ")]
    assert "has 0 inputs of type crd" in message(tmp_path, "\n".join(lines))
    text = re.sub(r"    1 \[.*?\n.*?\]\n", "", VEC, flags=re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("    5 -> 1 "))
    assert message(tmp_path, text).endswith(": mode 0 of result 'x' has no fiberwrite")


def test_a_result_that_no_operand_gives_a_size(tmp_path: Path) -> None:
    text = VEC.replace('"fiberwrite" index="i"', '"fiberwrite" index="z"')
    assert "index 'z' of result 'x(z)' occurs in no operand" in message(tmp_path, text)


def test_streams_that_do_not_belong_together(tmp_path: Path) -> None:
    """The rule of the primitive tells, at the node of the file."""
    text = RESIDUAL.replace("    2 -> 3 ", "    5 -> 3 ")
    told = message(tmp_path, text)
    assert told.startswith(f", line {line_of(text, '    3 [')}: node 3 (add): a and b are not")
    text = SPMV.replace('    12 -> 7 [label="ref"', '    9 -> 7 [label="ref"')
    assert "node 7 (fiberlookup): scans level 1 of 'B' by a ref into" in message(tmp_path, text)


def test_tensors_and_sizes_that_the_file_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "x.gv"
    path.write_text(VEC)
    source = open_custard(path)
    with pytest.raises(LoweringError, match="has no index 'z'"):
        source.lower(dims={"z": 3})
    with pytest.raises(LoweringError, match="has no tensor 'Q'"):
        source.lower(capacities={"Q": 3})
    with pytest.raises(LoweringError, match=r"is stored as d:0, .* reads s:0: convert"):
        source.lower([Tensor.from_numpy("b", [1, 2], "d")])
    with pytest.raises(LoweringError, match="knows fill 0 only"):
        source.lower([Tensor.from_numpy("b", [1, 2], "s", fill=7)])
    with pytest.raises(FuseFlowError, match="index i has size 2 in b"):
        fuseflow.load(path, *(Tensor.from_numpy(n, [1] * k) for n, k in (("b", 2), ("c", 3))))
