"""The text, JSON and Graphviz forms of a graph."""

import math
import re
import subprocess
import sys

import pytest
from hypothesis import given

from fuseflow.samml.dot import to_dot
from fuseflow.samml.errors import ParseError
from fuseflow.samml.graph import Graph
from fuseflow.samml.json_form import from_json, to_json
from fuseflow.samml.text import parse_graph, print_graph
from tests.samml.graphs import product, sums, thinned
from tests.samml.strategies import graphs, quick

BUILT = [product, sums, thinned]

PRODUCT = """\
samml 1 product int32
index i 100
tensor b input s:0 dims 100 positions 20 fill 0
tensor c input s:0 dims 100 positions 20 fill 0
tensor x result s:0 dims 100 positions 20 fill 0
node root = root()
  # out: {ref}@
node b_i = scan_compressed(index=i, tensor=b, level=0)
  # out: {crd, ref}@i
  ref <- root.out{ref}
node c_i = scan_compressed(index=i, tensor=c, level=0)
  # out: {crd, ref}@i
  ref <- root.out{ref}
node both = intersect()
  # out: {crd, b, c}@i
  left <- b_i.out{crd, b=ref} depth 4
  right <- c_i.out{crd, c=ref}
node b_val = array(tensor=b)
  # out: {val}@i
  ref <- both.out{b}
node c_val = array(tensor=c)
  # out: {val}@i
  ref <- both.out{c}
node mul = alu(op=mul)
  # out: {val}@i
  a <- b_val.out{val}
  b <- c_val.out{val}
node kept = drop_value()
  # out: {crd, val}@i
  crd <- both.out{crd}
  val <- mul.out{val}
node x_i = write_crd(tensor=x, level=0)
  crd <- kept.out{crd}
node x_val = write_val(tensor=x)
  val <- kept.out{val}
"""


def test_text_is_golden() -> None:
    assert print_graph(product(), types=True) == PRODUCT
    assert print_graph(product()) == re.sub("  #.*\n", "", PRODUCT)


@pytest.mark.parametrize("build", BUILT)
def test_built_graphs_round_trip(build) -> None:
    graph = build()
    assert parse_graph(print_graph(graph)) == graph
    assert parse_graph(print_graph(graph, types=True)) == graph
    assert from_json(to_json(graph)) == graph


@quick
@given(graphs)
def test_text_round_trips(graph: Graph) -> None:
    text = print_graph(graph)
    again = parse_graph(text)
    assert again == graph
    assert print_graph(again) == text


@quick
@given(graphs)
def test_json_round_trips(graph: Graph) -> None:
    text = to_json(graph)
    again = from_json(text)
    assert again == graph
    assert to_json(again) == text


@quick
@given(graphs)
def test_values_keep_their_types(graph: Graph) -> None:
    """1 == True in Python: equality of graphs alone would not see them exchanged."""
    for again in (parse_graph(print_graph(graph)), from_json(to_json(graph))):
        for ours, theirs in zip(graph.nodes, again.nodes, strict=True):
            assert [type(v) for v in ours.params.values()] == [
                type(v) for v in theirs.params.values()
            ]


@quick
@given(graphs)
def test_dot_draws_any_graph(graph: Graph) -> None:
    assert to_dot(graph).count(" -> ") >= sum(len(node.inputs) for node in graph.nodes)


def test_forms_do_not_depend_on_hash_order() -> None:
    code = (
        "from tests.samml.graphs import *; from tests.samml.test_forms import *\n"
        "print(to_dot(sums()), to_json(sums()), print_graph(sums(), types=True))"
    )
    path = ":".join(sys.path)
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_dot_shows_fields_ranks_depths_and_params() -> None:
    dot = to_dot(product())
    assert (
        '  "b_i" -> "both" [label="{crd, b}@i\\nrank 1\\ndepth 4", '
        'taillabel="out", headlabel="left"];' in dot
    )
    assert '  "mul" [label="mul\\nalu\\nop=mul"];' in dot


HEAD = "samml 1 g int32\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "g.samml: the text is empty, expected 'samml 1 <name> <type>'"),
        ("graph", "g.samml:1: expected 'samml', got 'graph'"),
        ("samml 2 g int32", "g.samml:1: version 2 of the text form is not known, only 1"),
        (
            "samml 1 g int4",
            "g.samml:1: unknown value type 'int4': choose one of "
         "int8, int16, int32, bf16, fp16, fp32",
        ),
        (HEAD + "edge",
         "g.samml:2: expected 'index', 'tensor', 'node' or an indented edge, got 'edge'"),
        (HEAD + "\n# c\nindex i x", "g.samml:4: expected an integer, got 'x'"),
        (HEAD + f"index i {10**18}", f"g.samml:2: expected an integer, got '{10**18}'"),
        (HEAD + "index i 1 2", "g.samml:2: expected the end of the line, got '2'"),
        (HEAD + "index i 1\nindex i 1", "g.samml:3: index 'i' is declared twice"),
        (HEAD + "  ref <- a.out{}", "g.samml:2: expected a node before its edges, got 'ref'"),
        (HEAD + "tensor B in s", "g.samml:2: expected 'input' or 'result', got 'in'"),
        (
            HEAD + "tensor B input x",
            "g.samml:2: unknown format 'x': use scalar, dense, sparse, CSR, CSC, DCSR, DCSC, or "
            "one letter per level (s compressed, d dense) and the mode order, such as ss:1,0",
        ),
        (HEAD + "node a = root(",
         "g.samml:2: expected a parameter or ')', got the end of the line"),
        (HEAD + "node a = alu(op=a, op=b)", "g.samml:2: parameter 'op' is given twice"),
        (HEAD + "node a = root()\n in <- b{}", "g.samml:3: expected '.', got '{'"),
        (HEAD + "node a = root()\n in < b", "g.samml:3: stray '<'"),
        (HEAD + 'node "a\\q" = root()', 'g.samml:2: "a\\q" is not a JSON string'),
    ],
)  # fmt: skip
def test_text_errors_name_line_and_expectation(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_graph(text, "g.samml")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("samml-graph/1", "other"), "g.json.schema: expected 'samml-graph/1'"),
        (('"i": 100', '"i": true'), "g.json.indices.i: expected an integer"),
        (('"value": "int32"', '"value": "x"'),
         "g.json.value: unknown value type 'x': choose one of "
         "int8, int16, int32, bf16, fp16, fp32"),
        (('"role": "result"', '"role": "r"'),
         "g.json.tensors[2].role: expected 'input' or 'result'"),
        (('"name": "root",', ""), "g.json.nodes[0]: member 'name' is missing"),
        (('"level": 0', '"level": null'),
         "g.json.nodes[1].params.level: expected a number, boolean, string, list or tensor mode"),
        (('"names": [\n      "crd",', '"names": ['),
         "g.json.nodes[3].inputs[0].names: expected 2 names, one for each field"),
        (('"depth": 4', '"depth": "4"'), "g.json.nodes[3].inputs[0].depth: expected an integer"),
        (("{", "["), "g.json:2: not JSON: Expecting ',' delimiter"),
    ],
)  # fmt: skip
def test_json_errors_name_the_place(change: tuple[str, str], message: str) -> None:
    text = to_json(product())
    assert change[0] in text
    with pytest.raises(ParseError) as caught:
        from_json(text.replace(*change, 1), "g.json")
    assert str(caught.value) == message


def test_numbers_without_end() -> None:
    digits = "9" * 5000
    text = HEAD + f"tensor b input s:0 dims 4 positions 4 fill {digits}\n"
    assert parse_graph(text).tensors[0].fill == math.inf
    for text in (to_json(product()).replace('"fill": 0', f'"fill": {digits}'), "[" * 10**5):
        with pytest.raises(
            ParseError, match=r"^g\.json: a number is too long, or lists are nested"
        ):
            from_json(text, "g.json")
