"""Small graphs that exercise the generator."""

from dataclasses import replace

from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Connection, Extent, Graph, Node, Role, TensorDecl


def read(port: str, source: str, *fields: str, names: tuple[str, ...] | None = None) -> Connection:
    """Return an edge from ``node`` or ``node.output``; its fields keep the reader's names."""
    node, _, output = source.partition(".")
    return Connection(port, node, output or "out", fields, names or fields)


def row_sums(rows: int = 5, cols: int = 7, entries: int = 11) -> Graph:
    """x(i) = sum over j of B(i,j), B in CSR and x dense."""
    return Graph(
        "row_sums",
        indices={"i": rows, "j": cols},
        tensors=(
            TensorDecl("B", Role.INPUT, Format.parse("CSR"), (rows, cols), (rows, entries)),
            TensorDecl("x", Role.RESULT, Format.parse("dense"), (rows,), (rows,)),
        ),
        nodes=(
            Node("root", "root"),
            Node(
                "b_i", "scan_dense", {"index": "i", "size": Extent("B", 0)},
                (read("ref", "root", "ref"),),
            ),
            Node(
                "b_j", "scan_compressed", {"index": "j", "tensor": "B", "level": 1},
                (read("ref", "b_i", "ref"),),
            ),
            Node("b_val", "array", {"tensor": "B"}, (read("ref", "b_j", "ref"),)),
            Node("sum_j", "reduce", {}, (read("val", "b_val", "val"),)),
            Node("x_val", "write_val", {"tensor": "x"}, (read("val", "sum_j", "val"),)),
        ),
    )  # fmt: skip


def product(copies: int = 1, capacity: int = 9) -> Graph:
    """x(i) = b(i) times itself, `copies` + 1 factors, every factor scanned anew.

    All factors are the one stored vector b, so its arrays have `copies` + 1 readers.
    """
    vector = TensorDecl("b", Role.INPUT, Format.parse("sparse"), (20,), (capacity,))
    result = TensorDecl("x", Role.RESULT, Format.parse("sparse"), (20,), (capacity,))
    nodes = [Node("root", "root")]
    for k in range(copies + 1):
        nodes.append(
            Node(
                f"b{k}",
                "scan_compressed",
                {"index": "i", "tensor": "b", "level": 0},
                (read("ref", "root", "ref"),),
            )
        )
    joined, refs = "b0", ["ref"]
    for k in range(1, copies + 1):
        names = ("crd", *(f"r{n}" for n in range(k)))
        nodes.append(
            Node(
                f"join{k}",
                "intersect",
                {},
                (
                    read("left", joined, "crd", *refs, names=names),
                    read("right", f"b{k}", "crd", "ref", names=("crd", f"r{k}")),
                ),
            )
        )
        joined, refs = f"join{k}", [f"r{n}" for n in range(k + 1)]
    value = ""
    for k, ref in enumerate(refs):
        nodes.append(
            Node(f"v{k}", "array", {"tensor": "b"}, (read("ref", joined, ref, names=("ref",)),))
        )
        if not value:
            value = f"v{k}"
            continue
        nodes.append(
            Node(
                f"mul{k}",
                "alu",
                {"op": "mul"},
                (
                    read("a", value, "val", names=("a",)),
                    read("b", f"v{k}", "val", names=("b",)),
                ),
            )
        )
        value = f"mul{k}"
    nodes += [
        Node("x_crd", "write_crd", {"tensor": "x", "level": 0}, (read("crd", joined, "crd"),)),
        Node("x_val", "write_val", {"tensor": "x"}, (read("val", value, "val"),)),
    ]
    return Graph("product", indices={"i": 20}, tensors=(vector, result), nodes=tuple(nodes))


def replay() -> Graph:
    """Reduce the streams of a source into a sink."""
    return Graph(
        "replay",
        indices={"i": 4},
        nodes=(
            Node("play", "source", {"fields": ("val/val",), "levels": ("i",), "words": 16}),
            Node("sum_i", "reduce", {}, (read("val", "play", "val"),)),
            Node("taken", "sink", {}, (read("in", "sum_i", "val"),)),
        ),
    )


def column_sums(
    rows: int = 6, cols: int = 8, entries: int = 12, banks: int = 4, name: str = "column_sums"
) -> Graph:
    """x(j) = sum over i of B(i,j), B in DCSR and x sparse: one kept level is accumulated."""
    return Graph(
        name,
        indices={"i": rows, "j": cols},
        tensors=(
            TensorDecl("B", Role.INPUT, Format.parse("DCSR"), (rows, cols), (rows, entries)),
            TensorDecl("x", Role.RESULT, Format.parse("sparse"), (cols,), (cols,)),
        ),
        nodes=(
            Node("root", "root"),
            Node(
                "b_i", "scan_compressed", {"index": "i", "tensor": "B", "level": 0},
                (read("ref", "root", "ref"),),
            ),
            Node(
                "b_j", "scan_compressed", {"index": "j", "tensor": "B", "level": 1},
                (read("ref", "b_i", "ref"),),
            ),
            Node("b_val", "array", {"tensor": "B"}, (read("ref", "b_j", "ref"),)),
            Node(
                "sum_i", "accumulate", {"kept": 1, "size": (Extent("B", 1),), "banks": banks},
                (replace(read("crd", "b_j", "crd"), depth=8), read("val", "b_val", "val")),
            ),
            Node(
                "keep", "drop_value", {},
                (read("crd", "sum_i", "crd"), read("val", "sum_i", "val")),
            ),
            Node("x_crd", "write_crd", {"tensor": "x", "level": 0}, (read("crd", "keep", "crd"),)),
            Node("x_val", "write_val", {"tensor": "x"}, (read("val", "keep", "val"),)),
        ),
    )  # fmt: skip
