"""The graph checker: one test for every kind of problem, with its exact message."""

from dataclasses import replace

import pytest

from fuseflow.samml.check import examine, infer
from fuseflow.samml.errors import GraphError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Connection, Extent, Graph, Node, Role, TensorDecl
from tests.samml.graphs import edge, node, product, source, sums, thinned, vector

S = source("s", "crd/crd", "ref/ref", "val/val")
DEEP = source("deep", "crd/crd", "ref/ref", "val/val", levels=("i", "j"))
LONE = source("lone", "crd/crd", "ref/ref", "val/val", levels=(), space="")
OTHER = source("other", "crd/crd", "ref/ref", "val/val", levels=("j",), space="o")
MATRIX = TensorDecl("A", Role.INPUT, Format.parse("ds"), (3, 4), (3, 12))


def problems(*nodes: Node, tensors: tuple[TensorDecl, ...] = (MATRIX,)) -> list[str]:
    """Problems of a graph of the usual sources and these nodes."""
    indices = {"i": 5, "j": 6, "k": 7}
    graph = Graph("g", indices=indices, tensors=tensors, nodes=(S, DEEP, LONE, OTHER, *nodes))
    return examine(graph)[0]


@pytest.mark.parametrize("build", [product, sums, thinned])
def test_good_graphs_have_no_problem(build) -> None:
    assert examine(build())[0] == []


def test_types_are_inferred() -> None:
    types = infer(product())
    assert str(types.outputs["both"]["out"]) == "{crd, b, c}@i"
    assert types.inputs["kept"]["val"].levels == types.outputs["both"]["out"].levels
    assert types.outputs["kept"]["out"].levels != types.outputs["both"]["out"].levels
    types = infer(sums())
    assert str(types.outputs["acc"]["out"]) == "{crd, val}@i.j"
    types = infer(thinned())
    assert str(types.outputs["drop"]["inner1"]) == "{crd, ref}@i.j.k"


def test_all_problems_are_reported_at_once() -> None:
    graph = product()
    nodes = list(graph.nodes)
    nodes[1] = replace(nodes[1], params={"index": "z", "tensor": "b", "level": 0})
    nodes[2] = replace(nodes[2], params={"index": "i", "tensor": "c"})
    lost = replace(nodes[6].inputs[0], node="lost")
    nodes[6] = replace(nodes[6], params={"op": "pow"}, inputs=(lost, *nodes[6].inputs[1:]))
    nodes[8] = replace(nodes[8], inputs=())
    with pytest.raises(GraphError) as caught:
        infer(replace(graph, nodes=tuple(nodes)))
    assert caught.value.problems == (
        "node 'b_i': parameter 'index': index 'z' is not declared",
        "node 'c_i': parameter 'level' is missing",
        "node 'mul': parameter 'op' is 'pow', wanted one of add, sub, mul, div, max, min",
        f"node 'mul', input '{lost.port}': no earlier stream 'lost.{lost.output}'",
        "node 'x_i': input 'crd' has 0 edges, wanted 1",
    )
    assert str(caught.value) == "; ".join(caught.value.problems)


def test_what_reads_a_broken_node_is_not_blamed() -> None:
    broken = node("a", "nothing")
    reader = node("b", "sink", edge("in", "a", "x"))
    assert problems(broken, reader, node("c", "sink", edge("in", "b", "x"))) == [
        "node 'a': there is no primitive 'nothing'"
    ]


def test_two_nodes_of_one_name_and_one_of_no_primitive() -> None:
    scanned = node("a", "scan_compressed", REF, index="k", tensor="A", level=1)
    assert problems(scanned, node("a", "nothing")) == [
        "node 'a' is declared 2 times",
        "node 'a': there is no primitive 'nothing'",
    ]


def test_a_primitive_finds_its_fields_by_their_roles() -> None:
    assert problems(scan(edge("ref", "s", "where=ref"))) == [
        "node 'n', input 'ref': takes 'ref' under that name, got 'where'"
    ]


def scan(*edges: Connection, **params) -> Node:
    known = {"index": "k", "tensor": "A", "level": 1} | params
    return node("n", "scan_compressed", *edges, **known)


REF = edge("ref", "s", "ref")

PARAMETERS = [
    (node("n", "nothing"), "there is no primitive 'nothing'"),
    (node("n", "root", a=1), "root has no parameter 'a'"),
    (scan(REF, index="z"), "parameter 'index': index 'z' is not declared"),
    (scan(REF, tensor="Z"), "parameter 'tensor': tensor 'Z' is not declared"),
    (scan(REF, level=2), "tensor 'A' has no level 2"),
    (scan(REF, level=-1), "parameter 'level' is -1, wanted 0 or more"),
    (scan(REF, level=True), "parameter 'level' is 'True', wanted int"),
    (scan(REF, level=0), "level 0 of tensor 'A' is not compressed"),
    (node("n", "scan_dense", REF, index="k"), "parameter 'size' is missing"),
    (node("n", "scan_dense", REF, index="k", size=4),
     "parameter 'size' is '4', wanted tensor.mode"),
    (node("n", "scan_dense", REF, index="k", size=Extent("A", 2)),
     "parameter 'size': there is no tensor mode A.2"),
    (node("n", "scan_dense", REF, index="k", size=Extent("Z", 0)),
     "parameter 'size': there is no tensor mode Z.0"),
    (node("n", "scan_dense", REF, index="k", size=Extent("A", 0), bound=1),
     "parameter 'bound' is '1', wanted yes or no"),
    (node("n", "alu", op="pow"),
     "parameter 'op' is 'pow', wanted one of add, sub, mul, div, max, min"),
    *((node("n", primitive, op=op),
       f"parameter 'op': int32 has no '{op}', only floating point has (--type fp32)")
      for primitive, op in (("alu", "div"), ("unary", "exp"), ("unary", "rsqrt"))),
    (node("n", "accumulate", kept=3, size=()), "kept is 3 with 0 sizes, wanted 1 or 2"),
    (node("n", "accumulate", kept=1, size=(Extent("A", 0),) * 2),
     "kept is 1 with 2 sizes, wanted 1 or 2"),
    (node("n", "accumulate", kept=2, size=(Extent("A", 0),) * 2, mode="dense"),
     "mode 'dense' is for one kept level, here are 2"),
    (node("n", "accumulate", kept=1, size=(Extent("A", 0),), banks=0),
     "parameter 'banks' is 0, wanted 1 or more"),
    (node("n", "accumulate", kept=1, size=(0,)),
     "parameter 'size' is '(0,)', wanted a list of tensor.mode"),
    (node("n", "drop_empty", signal=0, heights=(1,)), "parameter 'signal' is 0, wanted 1 or more"),
    (node("n", "drop_empty", signal=1, heights=(1, 0)),
     "parameter 'heights' is 0, wanted 1 or more"),
    (node("n", "source", fields=("crd",)), "field 'crd' is not of the form name/kind"),
    (node("n", "source", fields=("a/int",)), "field 'a/int' is not of the form name/kind"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "message"), PARAMETERS)
def test_parameters(bad: Node, message: str) -> None:
    assert problems(bad) == [f"node 'n': {message}"]


EDGES = [
    (scan(), "node 'n': input 'ref' has 0 edges, wanted 1"),
    (scan(REF, REF), "node 'n': input 'ref' has 2 edges, wanted 1"),
    (scan(REF, edge("x", "s", "ref")), "node 'n': scan_compressed has no input 'x'"),
    (scan(edge("ref", "z", "ref")), "node 'n', input 'ref': no earlier stream 'z.out'"),
    (scan(edge("ref", "n", "ref")), "node 'n', input 'ref': no earlier stream 'n.out'"),
    (scan(edge("ref", "s.x", "ref")), "node 'n', input 'ref': no earlier stream 's.x'"),
    (scan(edge("ref", "s", "ref=z")),
     "node 'n', input 'ref': 's.out' has no field 'z', only {crd, ref, val}@i"),
    (scan(edge("ref", "s")), "node 'n', input 'ref': takes 1 fields, got 0"),
    (scan(edge("ref", "s", "ref", "crd")), "node 'n', input 'ref': takes 1 fields, got 2"),
    (scan(edge("ref", "s", "ref=val")), "node 'n', input 'ref': 'ref' wants a ref, got a val"),
    (scan(edge("ref", "s", "ref", depth=1)),
     "node 'n', input 'ref': depth 1 is below 2, the latency of 's' and one more"),
    (node("n", "repeat", edge("x", "lone", "x=crd"), edge("signal", "s")),
     "node 'n', input 'x': 'x' wants a ref or val, got a crd"),
    (node("n", "sink", edge("in", "s", "a=crd", "a=ref")),
     "node 'n', input 'in': fields {crd, ref} need one name each, got {a, a}"),
    (node("n", "sink", Connection("in", "s", "out", ("crd",), ())),
     "node 'n', input 'in': fields {crd} need one name each, got {}"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "message"), EDGES)
def test_edges(bad: Node, message: str) -> None:
    assert problems(bad) == [message]


def pair(primitive: str, left: tuple[str, ...], right: tuple[str, ...], **params) -> Node:
    return node("n", primitive, edge(*left), edge(*right), **params)


ONE = (Extent("A", 0),)
TYPES = [
    (pair("locate", ("crd", "s", "crd"), ("parent", "lone", "parent=ref"), size=Extent("A", 0)),
     "crd and parent are not aligned: {crd}@i and {parent}@"),
    (pair("repeat", ("x", "lone", "x=ref"), ("signal", "lone")),
     "signal needs rank 1 or more, got {}@"),
    (pair("repeat", ("x", "s", "x=ref"), ("signal", "s")),
     "x must be aligned with all but the last level of signal: {x}@i, {}@i"),
    (pair("intersect", ("left", "lone", "crd"), ("right", "s", "crd")),
     "left needs rank 1 or more, got {crd}@"),
    (pair("union", ("left", "s", "crd"), ("right", "other", "crd")),
     "left and right iterate different levels: {crd}@i and {crd}@j"),
    (pair("union", ("left", "s", "crd", "ref"), ("right", "s", "crd", "ref")),
     "left and right carry fields of one name: {crd, ref}@i and {crd, ref}@i"),
    (pair("alu", ("a", "s", "a=val"), ("b", "other", "b=val"), op="add"),
     "a and b are not aligned: {a}@i and {b}@j"),
    (pair("alu", ("a", "s", "a=val"), ("b", "s", "b=val"), op="mul", wide=True, relu=True),
     "a wide product goes into a sum as it is: 'relu' must stand behind that"),
    (pair("alu", ("a", "s", "a=val"), ("b", "s", "b=val"), op="add", wide=True),
     "'add' has no wide result, only mul has"),
    (pair("reduce", ("a", "s", "a=val"), ("b", "other", "b=val"), multiply=True),
     "a and b are not aligned: {a}@i and {b}@j"),
    (pair("reduce", ("a", "lone", "a=val"), ("b", "lone", "b=val"), multiply=True),
     "a needs rank 1 or more, got {a}@"),
    (pair("reduce", ("a", "s", "a=val"), ("b", "s", "b=val"), multiply=True, op="max", wide=True),
     "'max' folds values, not wide sums"),
    (node("n", "reduce", edge("val", "lone", "val")), "val needs rank 1 or more, got {val}@"),
    (pair("accumulate", ("crd", "s", "crd"), ("val", "deep", "val"), kept=1, size=ONE),
     "crd and val are not aligned: {crd}@i and {val}@i.j"),
    (pair("accumulate", ("crd", "s", "crd"), ("val", "s", "val"), kept=1, size=ONE),
     "crd needs rank 2 or more, got {crd}@i"),
    (pair("drop_value", ("crd", "s", "crd"), ("val", "other", "val")),
     "crd and val are not aligned: {crd}@i and {val}@j"),
    (pair("drop_empty", ("outer", "s", "crd"), ("signal", "s"), signal=1, heights=()),
     "signal must lie 1 levels below outer: {}@i and {crd}@i"),
    (node("n", "write_crd", edge("crd", "lone", "crd"), tensor="A", level=1),
     "crd needs rank 1 or more, got {crd}@"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "message"), TYPES)
def test_stream_types(bad: Node, message: str) -> None:
    assert problems(bad)[0] == f"node 'n': {message}"


def test_two_kept_levels_need_an_aligned_outer_stream() -> None:
    levels = ("i", "k", "j")
    three = source("three", "crd/crd", "val/val", levels=levels)
    sizes = (Extent("A", 0), Extent("A", 1))
    ports = (edge("crd", "three", "crd"), edge("val", "three", "val"))
    bad = node("n", "accumulate", edge("outer", "s", "crd"), *ports, kept=2, size=sizes)
    assert problems(three, bad) == [
        "node 'n': outer must be aligned with crd: {crd}@i, {crd}@i.k.j"
    ]
    outer = source("two", "crd/crd", levels=("i", "k"))
    good = node("n", "accumulate", edge("outer", "two", "crd"), *ports, kept=2, size=sizes)
    assert problems(three, outer, good) == []


def test_declarations() -> None:
    flat = TensorDecl("F", Role.INPUT, Format.parse("ds"), (3,), (3, 12))
    assert problems(S, tensors=(MATRIX, MATRIX, flat)) == [
        "tensor 'A' is declared 2 times",
        "node 's' is declared 2 times",
        "tensor 'F': dims, capacities and format differ in rank",
    ]


def test_writers() -> None:
    crd = node("w1", "write_crd", edge("crd", "s", "crd"), tensor="x", level=0)
    tensors = (vector("x", Role.RESULT), vector("b"))
    assert problems(crd, replace(crd, name="w2"), tensors=tensors) == [
        "tensor 'x': array 0 has 2 writers",
        "tensor 'x': array val has no writer",
    ]
    vals = [node(f"{name}_val", "write_val", edge("val", "s", "val"), tensor=name) for name in "xb"]
    assert problems(crd, *vals, tensors=tensors) == ["tensor 'b': array val of an input is written"]
