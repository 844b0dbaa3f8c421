"""The VCD, read back by a small reader of our own: the signals of every edge in every cycle."""

import io
import math

import pytest

from fuseflow.traces.vcd import write_vcd
from tests.traces.runs import Traced, matrix, traced
from tests.traces.samples import HEADS, POPS, sample

Waves = dict[str, list[str]]
"""For every signal, its value in every cycle: bits, or a real number's digits."""


def read(text: str, cycles: int) -> tuple[Waves, dict[str, tuple[str, int]]]:
    """Read a VCD (IEEE 1364 section 18) into values by cycle, and the type of every signal."""
    header, _, body = text.partition("$enddefinitions $end\n")
    scopes: list[str] = []
    names: dict[str, str] = {}
    types: dict[str, tuple[str, int]] = {}
    for line in header.splitlines():
        match line.split():
            case ["$scope", _, name, "$end"]:
                scopes.append(name)
            case ["$upscope", "$end"]:
                scopes.pop()
            case ["$var", kind, width, ident, name, "$end"]:
                names[ident] = ".".join([*scopes, name])
                types[names[ident]] = kind, int(width)
    now, values = 0, {}
    waves: Waves = {name: [] for name in types}
    for word in body.splitlines():
        if word.startswith("#"):
            for name, wave in waves.items():
                wave += [values.get(name, "?")] * (int(word[1:]) - now)
            now = int(word[1:])
        elif word[0] in "br":
            value, ident = word.split()
            values[names[ident]] = value[1:]
        elif not word.startswith("$"):
            values[names[word[1:]]] = word[0]
    assert now == cycles
    return waves, types


def written(run: Traced) -> str:
    file = io.StringIO()
    write_vcd(file, run.graph, run.result)
    return file.getvalue()


@pytest.fixture(scope="module")
def run() -> Traced:
    return traced("X(i,j) = B(i,k) * C(k,j)", matrix("B", 9, 8), matrix("C", 8, 7))


def test_signals_of_every_edge(run: Traced) -> None:
    waves, types = read(written(run), run.result.cycles)
    for edge in run.graph.edges:
        trace, scope = run.result.traces[edge.name], f"edges.{edge.name}"
        popped = dict(zip(trace.pop.tolist(), trace.tokens(), strict=True))
        ready = (trace.issue + edge.latency).tolist()
        pops, taken = trace.pop.tolist(), 0
        for cycle in range(run.result.cycles):
            done = sum(pop < cycle for pop in pops)
            valid = done < len(ready) and ready[done] <= cycle
            taken = int((trace.issue < cycle).sum()) - done
            assert waves[f"{scope}.valid"][cycle] == str(int(valid))
            assert waves[f"{scope}.pop"][cycle] == str(int(cycle in popped))
            assert int(waves[f"{scope}.slots"][cycle], 2) == taken
            if not valid:
                assert waves[f"{scope}.close"][cycle] == "x"
            if cycle not in popped:
                continue
            token = popped[cycle]
            assert int(waves[f"{scope}.empty"][cycle], 2) == token.empty
            assert int(waves[f"{scope}.close"][cycle], 2) == token.close
            for number, field in enumerate(edge.type.names):
                name = f"{scope}.payload.{field}"
                kind, width = types[name]
                if token.payload is None:
                    assert waves[name][cycle] == "x"
                else:
                    bits = int(waves[name][cycle], 2)
                    signed = kind == "integer" and bits >> (width - 1)
                    assert bits - (signed << width) == token.payload[number]


def test_units_fire(run: Traced) -> None:
    waves, _ = read(written(run), run.result.cycles)
    for unit in run.result.units:
        assert waves[f"units.{unit.name}.fires"].count("1") == unit.firings


def test_numbers_of_a_floating_point_graph() -> None:
    waves, types = read(written(sample()), sample().result.cycles)
    scope = "edges.to.in"
    assert types[f"{scope}.payload.val"][0] == types[f"{scope}.payload.sum"][0] == "real"
    assert [c for c, bit in enumerate(waves[f"{scope}.pop"]) if bit == "1"] == list(POPS)
    assert waves[f"{scope}.valid"] == list("01111101")
    at = {name: waves[f"{scope}.payload.{name}"] for name in ("crd", "ref", "val", "sum")}
    first, hole, third, last = HEADS
    assert [int(at["crd"][c], 2) for c in (first, third, last)] == [3, 7, 8]
    assert [at["ref"][first], at["ref"][hole], at["crd"][hole]] == ["z", "x", "x"]
    assert [float(at["val"][c]) for c in (first, third)] == [1.5, -math.inf]
    assert math.isnan(float(at["val"][last]))
    assert [float(at["sum"][c]) for c in (first, hole, third, last)] == [3.25, 3.25, -2.0, 0.5]


def test_equal_runs_give_equal_files(run: Traced) -> None:
    assert written(run) == written(run)
    assert "$timescale 1 us $end" in written(run)
    assert "$date" not in written(run)
