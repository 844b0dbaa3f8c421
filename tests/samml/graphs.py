"""Graphs that several tests build on."""

from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Connection, Extent, Graph, Node, ParamValue, Role, TensorDecl


def edge(port: str, source: str, *fields: str, depth: int | None = None) -> Connection:
    """Read ``node.output`` (``out`` by default); a field is ``name`` or ``name=field``."""
    node, _, output = source.partition(".")
    names = tuple(field.partition("=")[0] for field in fields)
    taken = tuple(field.rpartition("=")[2] for field in fields)
    return Connection(port, node, output or "out", taken, names, depth)


def node(name: str, primitive: str, *inputs: Connection, **params: ParamValue) -> Node:
    return Node(name, primitive, params, inputs)


def source(name: str, *fields: str, levels: tuple[str, ...] = ("i",), space: str = "s") -> Node:
    return node(name, "source", fields=fields, levels=levels, space=space)


def vector(name: str, role: str = Role.INPUT) -> TensorDecl:
    return TensorDecl(name, role, Format.parse("s"), (100,), (20,))


def product() -> Graph:
    """x(i) = b(i) * c(i), all compressed."""
    nodes = (
        node("root", "root"),
        node("b_i", "scan_compressed", edge("ref", "root", "ref"), index="i", tensor="b", level=0),
        node("c_i", "scan_compressed", edge("ref", "root", "ref"), index="i", tensor="c", level=0),
        node(
            "both",
            "intersect",
            edge("left", "b_i", "crd", "b=ref", depth=4),
            edge("right", "c_i", "crd", "c=ref"),
        ),
        node("b_val", "array", edge("ref", "both", "ref=b"), tensor="b"),
        node("c_val", "array", edge("ref", "both", "ref=c"), tensor="c"),
        node("mul", "alu", edge("a", "b_val", "a=val"), edge("b", "c_val", "b=val"), op="mul"),
        node("kept", "drop_value", edge("crd", "both", "crd"), edge("val", "mul", "val")),
        node("x_i", "write_crd", edge("crd", "kept", "crd"), tensor="x", level=0),
        node("x_val", "write_val", edge("val", "kept", "val"), tensor="x"),
    )
    tensors = (vector("b"), vector("c"), vector("x", Role.RESULT))
    return Graph("product", indices={"i": 100}, tensors=tensors, nodes=nodes)


def sums() -> Graph:
    """Every kind of unit chain, between sources and sinks."""
    size = TensorDecl("t", Role.INPUT, Format.parse("dd"), (8, 9), (8, 72))
    levels = ("i", "k", "j")
    nodes = (
        source("s", "crd/crd", "val/val", levels=levels),
        node(
            "acc",
            "accumulate",
            edge("crd", "s", "crd"),
            edge("val", "s", "val"),
            kept=1,
            size=(Extent("t", 1),),
        ),
        node("outer", "source", fields=("crd/crd",), levels=("i",), space="acc_rows"),
        node("total", "reduce", edge("val", "acc", "val")),
        node("end", "sink", edge("in", "total", "val")),
        node("all", "sink", edge("in", "acc", "crd", "sum=val")),
        node("rows", "sink", edge("in", "outer", "crd")),
    )
    return Graph("sums", indices=dict.fromkeys("ijk", 9), tensors=(size,), nodes=nodes)


def thinned() -> Graph:
    """drop_empty over streams one and two levels down."""
    nodes = (
        node("root", "root"),
        node("b_i", "scan_compressed", edge("ref", "root", "ref"), index="i", tensor="B", level=0),
        node("b_j", "scan_compressed", edge("ref", "b_i", "ref"), index="j", tensor="B", level=1),
        node("b_k", "scan_compressed", edge("ref", "b_j", "ref"), index="k", tensor="B", level=2),
        node(
            "drop",
            "drop_empty",
            edge("outer", "b_i", "crd"),
            edge("signal", "b_j"),
            edge("inner0", "b_j", "crd"),
            edge("inner1", "b_k", "crd", "ref"),
            signal=1,
            heights=(1, 2),
        ),
        node("i_end", "sink", edge("in", "drop.outer", "crd")),
        node("j_end", "sink", edge("in", "drop.inner0", "crd")),
        node("k_end", "sink", edge("in", "drop.inner1", "crd", "ref")),
    )
    cube = TensorDecl("B", Role.INPUT, Format.parse("sss"), (4, 5, 6), (4, 20, 120))
    return Graph("thinned", indices={"i": 4, "j": 5, "k": 6}, tensors=(cube,), nodes=nodes)
