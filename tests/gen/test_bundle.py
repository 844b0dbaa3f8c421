"""Bundles on disk: complete, replaced as a whole, never over somebody else's files."""

import json
import os
from pathlib import Path

import pytest

from fuseflow.samml.files import OutputError
from fuseflow.samml.text import parse_graph, print_graph
from gen import bundle as bundle_module
from gen.bundle import Bundle, BundleError, generate
from gen.verilog import verilog
from tests.gen import graphs

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "FUSEFLOW_UPDATE_GOLDEN"
"""Set in the environment, golden texts are rewritten instead of compared."""


def same_as_golden(name: str, text: str) -> None:
    if UPDATE in os.environ:
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text(), f"set {UPDATE}=1 to accept the new text"


def test_a_bundle_is_complete(tmp_path: Path) -> None:
    graph = graphs.row_sums()
    made = generate(graph, tmp_path / "new" / "tile")
    assert {path.name for path in made.directory.iterdir()} == set(made.manifest["files"])
    assert made.verilog.read_text() == verilog(graph)
    text = (made.directory / "graph.samml").read_text()
    assert text == print_graph(graph)
    assert print_graph(parse_graph(text)) == text
    assert json.loads((made.directory / "manifest.json").read_text()) == made.manifest
    assert Bundle.load(made.directory) == made
    for path in made.directory.iterdir():
        assert str(tmp_path) not in path.read_text()


def test_register_map_and_header(tmp_path: Path) -> None:
    made = generate(graphs.row_sums(), tmp_path / "tile")
    for name in ("registers.md", "ff_row_sums.h"):
        same_as_golden(name, (made.directory / name).read_text())


def test_an_earlier_bundle_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "tile"
    generate(graphs.replay(), place)
    made = generate(graphs.row_sums(), place)
    assert {path.name for path in place.iterdir()} == set(made.manifest["files"])
    assert [path.name for path in tmp_path.iterdir()] == ["tile"]


def test_foreign_files_are_kept(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"holds 'notes.txt', which this command did not write"):
        generate(graphs.replay(), tmp_path)
    place = tmp_path / "tile"
    generate(graphs.replay(), place)
    (place / "build.log").write_text("mine too")
    with pytest.raises(OutputError, match=r"holds 'build.log'"):
        generate(graphs.replay(), place)
    assert (place / "build.log").read_text() == "mine too"
    with pytest.raises(OutputError, match="is not a directory"):
        generate(graphs.replay(), tmp_path / "notes.txt")


@pytest.mark.parametrize(
    "manifest",
    ['{"generator": "fuseflow"}', '{"generator": "fuseflow", "top": "x", "files": 3}', 9**6 * "["],
)
def test_a_manifest_that_is_none_is_somebody_elses(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"holds 'notes.txt'"):
        generate(graphs.replay(), tmp_path)
    with pytest.raises(BundleError, match="holds no bundle"):
        Bundle.load(tmp_path)


def test_a_failure_leaves_the_earlier_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "tile"
    before = generate(graphs.replay(), place)

    def fail(*_args: object, **_options: object) -> str:
        raise RuntimeError("no Verilog today")

    monkeypatch.setattr(bundle_module, "verilog", fail)
    with pytest.raises(RuntimeError):
        generate(graphs.row_sums(), place)
    assert Bundle.load(place) == before
    assert [path.name for path in tmp_path.iterdir()] == ["tile"]


def test_opening_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="holds no bundle"):
        Bundle.load(tmp_path)
