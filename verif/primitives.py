"""The bench of all primitives: one graph, one build, every primitive fed and drained at once.

Each `Setup` is a primitive with its parameters; the bench puts sources before its inputs and
sinks behind its outputs.  A `Case` is the data of one setup in one run.  Streams are lifted to
the bench's rank by wrapping them in fibers of one element, which every primitive passes through.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fuseflow.samml.catalog import ELEMENTARY
from fuseflow.samml.check import infer
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Connection, Extent, Graph, Node, ParamValue, Role, TensorDecl
from fuseflow.samml.image import TensorImage
from fuseflow.samml.tokens import Nested
from fuseflow.samml.values import INT32, ValueType

RANK = 3
"""Rank of an ordinary stream of the bench."""

LEVELS = "abcdez"
"""Index variables of the bench's streams, outermost first; the last is that of the scans."""

SIZE = 32
"""Capacity of every index variable, and of the levels that a setup's tensor stores."""

WORDS = 4096
"""Capacity of a source in tokens, and of a tensor's arrays in words."""


@dataclass(frozen=True)
class Feed:
    """One input of a setup: fields as ``name/kind`` in port order, and rank."""

    fields: tuple[str, ...]
    rank: int = RANK


@dataclass(frozen=True)
class Setup:
    """A primitive under test.

    Attributes
    ----------
    name, primitive : str
    feeds : mapping of str to Feed
        By input port.
    drains : tuple of str
        Output ports that get a sink.
    params : mapping
        Parameters of the node; ``tensor`` and extents refer to the tensor of the setup's name.
    format : str
        Format of the setup's tensor, empty where it has none.
    """

    name: str
    primitive: str
    feeds: Mapping[str, Feed]
    drains: tuple[str, ...] = ("out",)
    params: Mapping[str, ParamValue] = field(default_factory=dict[str, ParamValue])
    format: str = ""

    @property
    def stores(self) -> bool:
        """Whether the setup writes its tensor."""
        return self.primitive.startswith("write")


@dataclass(frozen=True)
class Case:
    """Data of one setup in one run: streams by port, and the image of its tensor."""

    streams: Mapping[str, list[Nested]]
    image: TensorImage | None = None


CRD, REF, VAL, SUM = ("crd/crd",), ("ref/ref",), ("val/val",), ("val/sum",)


def _sizes(name: str, count: int) -> tuple[Extent, ...]:
    return tuple(Extent(name, mode) for mode in range(count))


def _joiner(name: str, primitive: str, passenger: str, **params: ParamValue) -> Setup:
    feeds = {
        side: Feed((*CRD, f"{passenger}{k}/{passenger}"))
        for k, side in enumerate(("left", "right"))
    }
    return Setup(name, primitive, feeds, params=params)


def _accumulate(
    name: str, kept: int = 1, addend: tuple[str, ...] = VAL, **params: ParamValue
) -> Setup:
    rank = RANK if kept == 1 else RANK + 1
    feeds = {"crd": Feed(CRD, rank), "val": Feed(addend, rank)}
    if kept == 2:
        feeds = {"outer": Feed(CRD, rank - 1), **feeds}
    return Setup(
        name, "accumulate", feeds, ("out", "outer")[:kept],
        {"kept": kept, "size": _sizes(name, kept), **params}, "d" * kept,
    )  # fmt: skip


def _drop_empty(name: str, *heights: int) -> Setup:
    feeds = {"outer": Feed(CRD)}
    for k, height in enumerate(heights):
        fields = (*CRD, *VAL) if k else CRD
        feeds[f"inner{k}"] = Feed(fields, RANK + height)
    drains = ("outer", *(f"inner{k}" for k in range(len(heights))))
    return Setup(name, "drop_empty", feeds, drains, {"signal": heights[0], "heights": heights})


FACTORS = {"a": Feed(("a/val",)), "b": Feed(("b/val",))}

ARITHMETIC = (
    *(
        Setup(op, "alu", FACTORS, params={"op": op})
        for op in ("add", "sub", "mul", "max", "min")
    ),
    Setup("wide", "alu", FACTORS, params={"op": "mul", "wide": True}),
    *(
        Setup(f"{op}_relu", "alu", FACTORS, params={"op": op, "relu": True})
        for op in ("add", "sub", "mul", "min")
    ),
    *(
        Setup(op, "unary", {"a": Feed(("a/val",))}, params={"op": op})
        for op in ("neg", "abs", "relu")
    ),
    *(
        Setup(f"{op}_by", "unary", {"a": Feed(("a/val",))}, params={"op": op, "constant": -7})
        for op in ("scale", "shift", "max", "min")
    ),
    Setup("affine", "unary", {"a": Feed(("a/val",))}, params={
        "op": "affine", "constant": -7, "offset": 5}),
    Setup("reduce", "reduce", {"val": Feed(VAL)}),
    Setup("reduce_wide", "reduce", {"val": Feed(SUM)}),
    Setup("reduce_unrounded", "reduce", {"val": Feed(SUM)}, params={"wide": True}),
    *(
        Setup(f"reduce_{op}", "reduce", {"val": Feed(VAL)}, params={"op": op})
        for op in ("max", "min")
    ),
    Setup("reduce_onward", "reduce", {"val": Feed(VAL)}, params={"wide": True}),
    Setup("reduce_products", "reduce", FACTORS, params={"multiply": True}),
    Setup("reduce_products_onward", "reduce", FACTORS, params={"multiply": True, "wide": True}),
    Setup("reduce_products_max", "reduce", FACTORS, params={"multiply": True, "op": "max"}),
    _accumulate("accumulate"),
    _accumulate("accumulate_wide", addend=SUM, banks=3),
    _accumulate("accumulate_onward", addend=SUM, wide=True),
    _accumulate("accumulate_unrounded", wide=True),
    _accumulate("accumulate_slow", banks=2, adder=3),
    _accumulate("accumulate_dense", mode="dense"),
    _accumulate("accumulate_max", op="max"),
    _accumulate("accumulate_min", op="min", mode="dense", banks=2, adder=2),
    Setup("drop_value", "drop_value", {"crd": Feed(CRD), "val": Feed(VAL)}),
    Setup("drop_value7", "drop_value", {"crd": Feed(CRD), "val": Feed(VAL)}, params={"fill": 7}),
)  # fmt: skip
"""Setups that calculate with values of any type."""

FUNCTIONS = (
    Setup("div", "alu", FACTORS, params={"op": "div"}),
    Setup("div_relu", "alu", FACTORS, params={"op": "div", "relu": True}),
    *(Setup(op, "unary", {"a": Feed(("a/val",))}, params={"op": op}) for op in ELEMENTARY),
)
"""Setups that calculate in floating point alone."""

MOVERS = (
    Setup("array", "array", {"ref": Feed(REF)}, params={"tensor": "array"}, format="d"),
    _joiner("union_fills", "union", "val", left=-2, right=7),
    _joiner("union_sums", "union", "sum", left=-2, right=7),
    Setup("repeat_val", "repeat", {"x": Feed(("x/val",), RANK - 1), "signal": Feed(())}),
    Setup("write_val", "write_val", {"val": Feed(VAL)}, (), {"tensor": "write_val"}, "d"),
)
"""Setups that pass values of any type on."""

VALUE_SETUPS = (*ARITHMETIC, *MOVERS)

SETUPS = (
    Setup("scan_dense", "scan_dense", {"ref": Feed(REF)}, params={
        "index": LEVELS[-1], "size": Extent("scan_dense", 0)}, format="d"),
    Setup("universe", "scan_dense", {"ref": Feed(())}, params={
        "index": LEVELS[-1], "size": Extent("universe", 0), "bound": False}, format="d"),
    Setup("scan_compressed", "scan_compressed", {"ref": Feed(REF)}, params={
        "index": LEVELS[-1], "tensor": "scan_compressed", "level": 1}, format="ds"),
    Setup("locate", "locate", {"crd": Feed(CRD), "parent": Feed(("parent/ref",))}, params={
        "size": Extent("locate", 0)}, format="d"),
    Setup("locate_root", "locate", {"crd": Feed(CRD)}, params={
        "size": Extent("locate_root", 0), "parent": False}, format="d"),
    *MOVERS,
    Setup("repeat", "repeat", {"x": Feed(("x/ref",), RANK - 1), "signal": Feed(())}),
    _joiner("intersect", "intersect", "ref"),
    _joiner("union", "union", "ref"),
    _joiner("union_val", "union", "val"),
    _joiner("union_val7", "union", "val", left=7, right=7),
    *ARITHMETIC,
    _accumulate("accumulate_bank", banks=1),
    _accumulate("accumulate2", kept=2),
    _accumulate("accumulate2_slow", kept=2, banks=2, adder=2),
    _drop_empty("drop_empty", 1),
    _drop_empty("drop_empty_deep", 1, 2),
    Setup("write_crd", "write_crd", {"crd": Feed(CRD)}, (), {"tensor": "write_crd", "level": 1},
          "ds"),
)  # fmt: skip
"""Every primitive, in the parameters that change its timing or its rule."""


def source_name(setup: Setup, port: str) -> str:
    """Return the name of the source node that feeds a port."""
    return f"{setup.name}_{port}_source"


def sink_name(setup: Setup, port: str) -> str:
    """Return the name of the sink node that drains a port."""
    return f"{setup.name}_{port}_sink"


def bench_graph(
    setups: Sequence[Setup] = SETUPS, name: str = "primitives", value: ValueType = INT32
) -> Graph:
    """Return the graph of a bench.

    Where only the coordinates of a result are under test, a helper source fills its values.
    """
    tensors = tuple(_tensor(setup) for setup in setups if setup.format)
    nodes: list[Node] = []
    for setup in setups:
        nodes += _sources(setup)
        nodes.append(_under_test(setup))
        if setup.primitive == "write_crd":
            nodes += _helper_writer(setup)
    indices = dict.fromkeys(LEVELS, SIZE)
    graph = Graph(name, indices=indices, tensors=tensors, nodes=tuple(nodes), value=value)
    types = infer(graph)
    for setup in setups:
        for port in setup.drains:
            names = types.outputs[setup.name][port].names
            edge = Connection("in", setup.name, port, names, names)
            nodes.append(Node(sink_name(setup, port), "sink", {}, (edge,)))
    return replace(graph, nodes=tuple(nodes))


def _tensor(setup: Setup) -> TensorDecl:
    form = Format.parse(setup.format)
    positions = (SIZE, WORDS) if setup.format == "ds" else (WORDS,) * form.rank
    role = Role.RESULT if setup.stores else Role.INPUT
    stored = setup.primitive in ("array", "write_val")
    dims = (WORDS,) if stored else (SIZE,) * form.rank
    fill = 3 if setup.primitive == "array" else 0
    return TensorDecl(setup.name, role, form, dims, positions, fill)


def _sources(setup: Setup) -> Iterable[Node]:
    for port, feed in setup.feeds.items():
        params: dict[str, ParamValue] = {
            "fields": feed.fields,
            "levels": tuple(LEVELS[: feed.rank]),
            "space": setup.name,
            "words": WORDS,
        }
        yield Node(source_name(setup, port), "source", params)


def _under_test(setup: Setup) -> Node:
    inputs: list[Connection] = []
    for port, feed in setup.feeds.items():
        names = tuple(text.split("/")[0] for text in feed.fields)
        inputs.append(Connection(port, source_name(setup, port), "out", names, names))
        if port == "inner0":
            inputs.append(Connection("signal", source_name(setup, port), "out", (), ()))
    return Node(setup.name, setup.primitive, dict(setup.params), tuple(inputs))


def _helper_writer(setup: Setup) -> Iterable[Node]:
    """Write the values of a tensor whose coordinates are under test from the same stream shape."""
    source = f"{setup.name}_val_source"
    yield Node(
        source, "source",
        {"fields": VAL, "levels": tuple(LEVELS[:RANK]), "space": setup.name, "words": WORDS},
    )  # fmt: skip
    edge = Connection("val", source, "out", ("val",), ("val",))
    yield Node(f"{setup.name}_val", "write_val", {"tensor": setup.name}, (edge,))
