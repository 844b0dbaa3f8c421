"""The generated documentation is complete and fresh."""

from pathlib import Path

import pytest

from docs import generate
from fuseflow.samml.catalog import CATALOG


def test_no_page_is_stale() -> None:
    assert generate.stale_pages() == [], "run `python -m docs.generate`"
    assert generate.main(["--check"]) == 0


@pytest.mark.parametrize("name", CATALOG)
def test_a_page_tells_everything_of_its_entry(name: str) -> None:
    entry = CATALOG[name]
    page = generate.PAGES[f"primitives/{name}.md"]()
    for text in (entry.summary, entry.rule, *entry.hazards, *entry.memories):
        assert text in page
    for param in entry.params:
        assert f"| `{param.name}` | {param.wanted}" in page
    assert f"[{name}]({name}.md)" in generate.PAGES["primitives/index.md"]()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    return tmp_path


def test_check_names_stale_missing_and_left_over_pages(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    (elsewhere / "primitives/root.md").write_text("old")
    (elsewhere / "primitives/sink.md").unlink()
    (elsewhere / "primitives/gone.md").write_text(generate.NOTICE + "gone")
    (elsewhere / "written_by_hand.md").write_text("stays")
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"docs/primitives/{name}.md is stale: run `python -m docs.generate`"
        for name in ("gone", "root", "sink")
    ]
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    assert not (elsewhere / "primitives/gone.md").exists()
    assert (elsewhere / "written_by_hand.md").read_text() == "stays"


def test_ranks_are_relative_to_the_ranked_input() -> None:
    repeat = generate.PAGES["primitives/repeat.md"]()
    assert "| `x` | in | `x` (ref or val) | d-1 |" in repeat
    assert "| `out` | out | `x` (ref or val) | d |" in repeat
    accumulate = generate.PAGES["primitives/accumulate.md"]()
    assert "With `kept=2`:" in accumulate
    assert "| `outer` | out | `crd` (crd) | d-2 |" in accumulate
