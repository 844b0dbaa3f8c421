"""Benches of the writers, which need a whole result tensor."""

from collections.abc import Sequence

from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Connection, Graph, Node, TensorDecl
from fuseflow.samml.tokens import Nested
from fuseflow.samml.values import INT32, ValueType
from tests.sim_models.harness import CAPACITY, LEVELS, Bench


def writer_bench(
    rank: int,
    crds: Sequence[Nested],
    vals: Sequence[Nested],
    positions: int = CAPACITY,
    value: ValueType = INT32,
) -> Bench:
    """Return writers of values and, above rank 0, of the innermost level's coordinates.

    The result's other levels are dense.
    """
    levels = LEVELS[:rank]
    letters = "d" * (rank - 1) + "s" if rank else "scalar"
    sizes = (CAPACITY,) * rank
    result = TensorDecl(
        "X",
        "result",
        Format.parse(letters),
        sizes,
        (CAPACITY,) * (rank - 1) + (positions,) * min(rank, 1),
    )
    nodes = [
        Node("vals", "source", {"fields": ("val/val",), "levels": levels, "space": "s"}),
        Node(
            "wv",
            "write_val",
            {"tensor": "X"},
            (Connection("val", "vals", "out", ("val",), ("val",)),),
        ),
    ]
    streams = {"vals": vals}
    if rank:
        edge = Connection("crd", "crds", "out", ("crd",), ("crd",))
        nodes += [
            Node("crds", "source", {"fields": ("crd/crd",), "levels": levels, "space": "s"}),
            Node("wc", "write_crd", {"tensor": "X", "level": rank - 1}, (edge,)),
        ]
        streams["crds"] = crds
    graph = Graph("bench", value, dict.fromkeys(LEVELS, CAPACITY), (result,), tuple(nodes))
    return Bench(graph, dict(streams), {}, {"X": (3,) * rank})
