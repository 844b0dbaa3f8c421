"""A host of independent make drives a tile over AXI4-Lite: cocotbext-axi under Verilator."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuseflow
from fuseflow.samml.errors import ToolError
from fuseflow.samml.graph import Graph
from fuseflow.samml.image import TensorImage
from fuseflow.samml.units import flatten
from fuseflow.samml.values import BF16, INT32, ValueType
from gen.host import arrays, shape_writes, writes
from gen.manifest import manifest
from gen.tile import Tile
from sim_models import golden
from sim_models.cycle.simulate import simulate as model
from verif.job import simulate
from verif.tile import RtlTile, build_tile

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("protocol")]

BENCH = "tests.rtl.protocol_bench"
TESTS = re.findall(
    r"^async def (test_\w+)",
    Path(__file__).with_name("protocol_bench.py").read_text(),
    re.MULTILINE,
)
SIZE, ENTRIES, SPACE = 16, 256, 120
SETS = (
    {"shape": (7, 16, 16), "density": 0.8},
    {"shape": (3, 11, 5), "density": 0.5},
    {"shape": (7, 4, 16), "density": 0.0},
    {"shape": (16, 16, 16), "density": 0.5},
)
"""Sizes of i, k, j and densities: the first product takes long enough to be disturbed, the third is
empty, and the last has more entries than the tile has space."""


def csr(
    rng: np.random.Generator, rows: int, columns: int, density: float, value: ValueType
) -> TensorImage:
    """A random matrix of small numbers."""
    stored = rng.random((rows, columns)) < density
    crds = np.nonzero(stored)[1]
    segs = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    vals = [value.encode(number) for number in rng.integers(-1000, 1000, len(crds)).tolist()]
    return TensorImage((rows, columns), (None, segs), (None, crds), vals)


def product(value: ValueType) -> Graph:
    """The product of two CSR matrices, row by row."""
    return fuseflow.compile(
        "X(i,j) = B(i,k) * C(k,j)",
        formats=dict.fromkeys("BCX", "CSR"),
        order="i,k,j",
        dims=dict.fromkeys("ijk", SIZE),
        capacities={"B": ENTRIES, "C": ENTRIES, "X": SPACE},
        value=value,
    ).graph


def data_set(graph: Graph, description: dict[str, Any], number: int) -> dict[str, Any]:
    """Return what to load for a data set and what must come out.

    The golden meaning gives the words and the cycle model the cycles.
    """
    rng = np.random.default_rng(number)
    rows, inner, columns = SETS[number]["shape"]
    density = SETS[number]["density"]
    images = {
        "B": csr(rng, rows, inner, density, graph.value),
        "C": csr(rng, inner, columns, density, graph.value),
    }
    shapes = {"X": (rows, columns)}
    loads = [pair for name, image in images.items() for pair in writes(description, name, image)]
    run = model(flatten(graph), images, shapes)
    meant = golden.evaluate(graph, images, shapes)
    assert run.flags.capacity == (number == len(SETS) - 1)
    return {
        "writes": grouped([*loads, *shape_writes(description, "X", shapes["X"])]),
        "shape": shapes["X"],
        "cycles": run.cycles,
        "arrays": {
            array["name"]: words(array, meant.outputs["X"]) for array in arrays(description, "X")
        },
    }


def words(array: dict[str, Any], image: TensorImage) -> list[int]:
    """Return the raw words of an array of a result."""
    source = {"seg": image.segs, "crd": image.crds}.get(array["kind"])
    stored: Any = image.vals if source is None else source[array["level"]]
    return [int(word) % (1 << array["width"]) for word in stored]


def grouped(loads: list[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """Join the words at consecutive addresses."""
    groups: list[tuple[int, list[int]]] = []
    for address, word in loads:
        if groups and address == groups[-1][0] + 4 * len(groups[-1][1]):
            groups[-1][1].append(word)
        else:
            groups.append((address, [word]))
    return groups


def make_job(value: ValueType) -> dict[str, Any]:
    graph = product(value)
    description = manifest(graph)
    sets = [data_set(graph, description, number) for number in range(len(SETS))]
    return {"manifest": description, "sets": sets}


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    return make_job(INT32)


@pytest.fixture(scope="module")
def tile() -> RtlTile:
    return build_tile(lambda: Tile(product(INT32)), optimize=False)


def play(tile: RtlTile, job: dict[str, Any], directory: Path, only: str) -> None:
    path = directory / "job.json"
    path.write_text(json.dumps(job))
    env = {"FUSEFLOW_JOB": str(path), "COCOTB_TEST_FILTER": f"{only}$"}
    simulate(tile.simulation, directory, BENCH, env)


@pytest.mark.parametrize("name", TESTS)
def test_protocol(name: str, tile: RtlTile, job: dict[str, Any], tmp_path: Path) -> None:
    play(tile, job, tmp_path, name)


def test_words_of_sixteen_bits(tmp_path: Path) -> None:
    tile = build_tile(lambda: Tile(product(BF16)), optimize=False)
    job = make_job(BF16)
    for number, name in enumerate(("test_run", "test_inputs_read_back", "test_bits_above.*")):
        directory = tmp_path / str(number)
        directory.mkdir()
        play(tile, job, directory, name)


def test_a_simulation_without_tests_fails(
    tile: RtlTile, job: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match="ran 0 tests"):
        play(tile, job, tmp_path, "test_of_no_such_name")
