import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from fuseflow.samml.errors import SimulationError, TensorError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Connection, Extent, Graph, Node, TensorDecl
from fuseflow.samml.image import TensorImage
from sim_models.cycle.result import DeadlockError
from tests.sim_models.harness import LEVELS, Bench, Port, bench, check


def edge(port: str, node: str, field: str, name: str = "", depth: int | None = None) -> Connection:
    fields = (field,) if field else ()
    return Connection(port, node, "out", fields, (name or field,) if field else (), depth)


def shifted_by_sum(length: int, depth: int) -> Bench:
    """Return v[i,j] - sum over j of v[i,j]: the edge that skips the sum must hold a fiber."""
    nodes = (
        Node("v", "source", {"fields": ("val/val",), "levels": LEVELS[:2]}),
        Node("sum", "reduce", {}, (edge("val", "v", "val"),)),
        Node(
            "again",
            "repeat",
            {},
            (edge("x", "sum", "val", "x"), edge("signal", "v", "", depth=depth)),
        ),
        Node(
            "minus",
            "alu",
            {"op": "sub"},
            (edge("a", "v", "val", "a", depth), edge("b", "again", "x", "b")),
        ),
        Node("sink", "sink", {}, (edge("in", "minus", "val"),)),
    )
    graph = Graph("shifted", indices=dict.fromkeys(LEVELS, 1 << 12), nodes=nodes)
    return Bench(graph, {"v": [[[(k,) for k in range(length)]] * 3]})


def test_deadlock_names_the_circle_and_the_edge() -> None:
    with pytest.raises(DeadlockError) as caught:
        shifted_by_sum(8, depth=4).run()
    error = caught.value
    assert error.edge in ("again.signal", "minus.a")
    assert error.cycle
    assert set(error.cycle) <= set(error.waiting)
    assert str(error).count("\n") == 0
    assert f"'{error.edge}'" in str(error)


def test_more_depth_breaks_the_deadlock() -> None:
    check(shifted_by_sum(8, depth=12))


def test_unlimited_edges_grow_with_the_skew() -> None:
    it = shifted_by_sum(300, depth=4)
    run = it.run(ideal="unlimited")
    assert run.edge("minus.a").high_water >= 300
    # One token a cycle; the last leaves the sink five hops behind the source's last.
    assert run.cycles == 900 + 5 - 1 + (300 - 1)


def test_streams_that_do_not_belong_together() -> None:
    ports = {"a": Port(("a/val",), 1, [[(1,), (2,)]]), "b": Port(("b/val",), 1, [[(1,)]])}
    it = bench("alu", {"op": "add"}, ports)
    with pytest.raises(SimulationError, match="unit 'it': its input streams"):
        it.run()
    with pytest.raises(SimulationError, match="node 'it': its input streams"):
        it.golden()


def test_a_stream_that_ends_early() -> None:
    ports = {"a": Port(("a/val",), 0, [(1,), (2,)]), "b": Port(("b/val",), 0, [(1,)])}
    with pytest.raises(DeadlockError, match="a stream ends early"):
        bench("alu", {"op": "add"}, ports).run()


def test_unconnected_parts_may_play_different_numbers_of_streams() -> None:
    nodes = tuple(
        node
        for name in ("a", "b")
        for node in (
            Node(name, "source", {"fields": ("val/val",)}),
            Node(f"{name}_sink", "sink", {}, (edge("in", name, "val"),)),
        )
    )
    it = Bench(Graph("two", nodes=nodes), {"a": [(1,), (2,), (3,)], "b": [(4,)]})
    assert check(it).cycles == 4


def test_limit() -> None:
    with pytest.raises(SimulationError, match="past cycle 5"):
        shifted_by_sum(4, depth=12).run(limit=5)


def test_missing_inputs_are_named() -> None:
    it = shifted_by_sum(4, depth=12)
    with pytest.raises(SimulationError, match="source 'v'"):
        replace(it, streams={}).run()
    copy = copy_of(40)
    with pytest.raises(TensorError, match="tensor 'x': no image"):
        replace(copy, images={}).run()
    with pytest.raises(TensorError, match="tensor 'y': no run-time shape"):
        replace(copy, shapes={}).run()
    with pytest.raises(TensorError, match="rank 2, declared 1"):
        replace(copy, shapes={"y": (4, 4)}).golden()


def _copy_nodes() -> tuple[Node, ...]:
    return (
        Node("root", "root"),
        Node(
            "i", "scan_dense", {"index": "i", "size": Extent("y", 0)}, (edge("ref", "root", "ref"),)
        ),
        Node("a", "array", {"tensor": "x"}, (edge("ref", "i", "ref"),)),
        Node("w", "write_val", {"tensor": "y"}, (edge("val", "a", "val"),)),
    )


def copy_of(size: int) -> Bench:
    """Return y[i] = x[i], dense."""
    tensors = tuple(
        TensorDecl(name, role, Format.parse("dense"), (64,), (64,))
        for name, role in (("x", "input"), ("y", "result"))
    )
    return Bench(
        Graph("copy", indices={"i": 64}, tensors=tensors, nodes=_copy_nodes()),
        images={"x": TensorImage((size,), (None,), (None,), list(range(size)))},
        shapes={"y": (size,)},
    )


def test_closed_form_of_a_copy() -> None:
    it = copy_of(40)
    run = check(it)
    assert run.outputs["y"].vals == list(range(40))
    # Root in 0, scan in 1..40, array a cycle behind it, the writer two behind that.
    assert run.cycles == 40 + 3 + 1
    assert run.bottleneck.firings == 40
    # Without latencies the memory takes one cycle less.
    assert it.run(ideal="unlimited").cycles == run.cycles - 1


def test_importing_the_models_does_not_import_numba() -> None:
    code = (
        "import sys, sim_models.golden, sim_models.cycle.simulate; sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_second_process_starts_from_the_cache() -> None:
    it = shifted_by_sum(4, depth=12)
    it.run()  # compiles into this process's cache, if it is not there yet
    code = (
        "import sys\n"
        "from sim_models.cycle import jit, kernel\n"
        "from tests.sim_models.test_simulate import shifted_by_sum\n"
        "shifted_by_sum(4, depth=12).run()\n"
        "sys.exit(sum(jit.link(kernel.run).stats.cache_misses.values()))"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], check=False, env=dict(os.environ))
    assert done.returncode == 0
    assert time.perf_counter() - start < 20
