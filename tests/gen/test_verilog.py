"""The Verilog text: deterministic, without data, paths, keywords or long initial blocks."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fuseflow.samml.errors import ToolError
from fuseflow.samml.values import BF16, FP16, FP32, INT8
from gen.plan import Plan
from gen.verilog import verilog
from tests.gen import graphs
from verif.toolchain import find_verilator

ROOT = Path(__file__).parents[2]
HARMLESS = (
    "DECLFILENAME", "UNUSEDSIGNAL", "PROCASSINIT", "WIDTHEXPAND", "WIDTHTRUNC", "CASEINCOMPLETE",
    "CMPCONST", "UNSIGNED", "BLKSEQ",
)  # fmt: skip
"""Lints against the style of generated code."""

GRAPHS = {
    graph.name: graph
    for graph in (
        graphs.row_sums(), graphs.product(2), graphs.replay(), graphs.column_sums(),
        graphs.column_sums(1, 1, 1, banks=1, name="least"),
        *(
            replace(graph, name=f"{graph.name}_{value.name}", value=value)
            for graph, value in (
                (graphs.row_sums(), FP32), (graphs.product(2), BF16), (graphs.column_sums(), FP16),
                (graphs.row_sums(), INT8),
            )
        ),
    )
}  # fmt: skip
"""In `least` every capacity is as small as it can be."""


@cache
def printed(name: str) -> str:
    return verilog(GRAPHS[name], gated=True)


@pytest.fixture(params=GRAPHS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def text(name: str) -> str:
    return printed(name)


def test_no_machine_leaks(text: str) -> None:
    for leak in ("src =", str(ROOT), ".py", "site-packages", "verilog_backend", "Yosys", "enum_"):
        assert leak not in text


def test_no_signal_is_without_bits(text: str) -> None:
    assert "[-1:0]" not in text


def test_every_constant_assignment_settles(text: str) -> None:
    assert not re.search(r"always @\*\n.* = \d+'\w+;", text)


def test_modules_are_prefixed(text: str) -> None:
    modules = re.findall(r"^module \\?(\S+)", text, re.MULTILINE)
    assert all(name.startswith("ff_") for name in modules)


def test_two_processes_print_the_same_text() -> None:
    script = (
        "from tests.gen.test_verilog import printed; import hashlib;"
        "print(hashlib.sha256(printed('row_sums_fp32').encode()).hexdigest())"
    )
    digests = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


def test_only_word_zero_of_a_memory_has_initial_contents() -> None:
    text = verilog(graphs.row_sums(rows=1000, cols=1000, entries=65536))
    assert len(text) < 300_000
    assert set(re.findall(r"rows\[\d+\] = .*;", text)) == {"rows[0] = 0;"}
    assert not re.search(r"mem\[\d+\] = ", text)


def test_memories_have_the_declared_words(name: str, text: str) -> None:
    modules = re.split(r"^module ", text, flags=re.MULTILINE)
    plan = Plan.of(GRAPHS[name])
    for array in plan.arrays:
        for memory in array.memories:
            (module,) = (m for m in modules if m.startswith(f"\\{plan.top}.{memory.name} "))
            assert f".DEPTH(32'd{memory.depth})" in module
            assert f".WIDTH(32'd{memory.width})" in module


def test_gates_are_ports_of_gated_edges_only() -> None:
    graph = graphs.row_sums()
    assert "gate_" not in verilog(graph)
    ports = set(re.findall(r"input \[\d+:0\] (gate_\w+);", printed(graph.name)))
    edges = Plan.of(graph).units.edges
    numbers = [k for k, edge in enumerate(edges) if edge.gated]
    assert len(numbers) == len(edges) - 1
    assert ports == {f"gate_{kind}_{k}" for kind in ("room", "head") for k in numbers}


@pytest.mark.rtl
@pytest.mark.parametrize("name", GRAPHS)
def test_verilator_takes_it_as_system_verilog(name: str, tmp_path: Path) -> None:
    """In particular no name is a keyword, no wire is empty and no block is without events."""
    tool = find_verilator()
    if tool.path is None:
        pytest.skip(f"Verilator is missing: {tool.note}")
    source = tmp_path / "tile.sv"
    source.write_text(printed(name))
    options = [f"-Wno-{name}" for name in HARMLESS]
    top = Plan.of(GRAPHS[name]).top
    command = [tool.path, "--lint-only", "-Wall", *options, "--top-module", top, source]
    environment = os.environ | {"VERILATOR_ROOT": str(tool.path.parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_yosys_that_is_missing_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "system")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("YOSYS", raising=False)
    with pytest.raises(ToolError) as caught:
        verilog(graphs.replay())
    assert str(caught.value).startswith("Yosys could not print the Verilog of ff_replay: ")
    assert "\n" not in str(caught.value)
