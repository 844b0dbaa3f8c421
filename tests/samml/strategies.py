"""Hypothesis strategies: nested lists and arbitrary (mostly ill-formed) graphs."""

from hypothesis import settings
from hypothesis import strategies as st

from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.graph import Connection, Extent, Graph, Node, Role, TensorDecl
from fuseflow.samml.values import number

quick = settings(deadline=None, max_examples=60, print_blob=True)

payloads = st.integers(-(2**31), 2**31 - 1)


def nested(rank: int) -> st.SearchStrategy:
    """Lists nested `rank` deep, empty fibers of every height included."""
    strategy: st.SearchStrategy = payloads
    for _ in range(rank):
        strategy = st.lists(strategy, max_size=4)
    return strategy


ranked = st.integers(0, 4).flatmap(lambda rank: st.tuples(st.just(rank), nested(rank)))

names = st.one_of(
    st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,5}", fullmatch=True),
    st.sampled_from(["yes", "no", "7", "-3", "inf", "1.5", "-", "x.y", "depth"]),
    st.sampled_from(["", "a b", 'q"', "#", "a\nb", "ä"]),
    st.text(st.characters(codec="utf-8"), max_size=3),
)
numbers = st.one_of(
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False).map(number),
)
extents = st.builds(Extent, names, st.integers(0, 3))
values = st.one_of(
    numbers,
    st.booleans(),
    names,
    extents,
    st.lists(numbers, max_size=3).map(tuple),
    st.lists(names, max_size=3).map(tuple),
    st.lists(extents, max_size=3).map(tuple),
)


@st.composite
def edges(draw: st.DrawFn) -> Connection:
    port = draw(st.one_of(st.sampled_from(["x", "ref", "left", "in", "crd"]), names))
    fields = tuple(draw(st.lists(names, max_size=3)))
    renamed = [draw(st.one_of(st.just(field), st.just(port), names)) for field in fields]
    depth = draw(st.one_of(st.none(), st.integers(0, 99)))
    return Connection(port, draw(names), draw(names), fields, tuple(renamed), depth)


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    primitive = draw(st.one_of(st.sampled_from(sorted(CATALOG)), names))
    known = [param.name for param in CATALOG[primitive].params] if primitive in CATALOG else []
    keys = st.one_of(st.sampled_from(known), names) if known else names
    params = draw(st.dictionaries(keys, values, max_size=4))
    return Node(draw(names), primitive, params, tuple(draw(st.lists(edges(), max_size=3))))


@st.composite
def tensors(draw: st.DrawFn) -> TensorDecl:
    rank = draw(st.integers(0, 3))
    kinds = draw(st.lists(st.sampled_from(LevelKind), min_size=rank, max_size=rank))
    order = draw(st.permutations(range(rank)))
    counts = st.lists(st.integers(0, 999), max_size=3).map(tuple)
    role = draw(st.sampled_from([Role.INPUT, Role.RESULT]))
    format_ = Format(tuple(kinds), tuple(order))
    return TensorDecl(draw(names), role, format_, draw(counts), draw(counts), draw(numbers))


graphs = st.builds(
    Graph,
    name=names,
    indices=st.dictionaries(names, st.integers(0, 10**6), max_size=3),
    tensors=st.lists(tensors(), max_size=3).map(tuple),
    nodes=st.lists(nodes(), max_size=4).map(tuple),
)
