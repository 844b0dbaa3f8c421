"""The generated documentation is complete and fresh, and the examples of the language hold."""

import re
from itertools import dropwhile, takewhile
from pathlib import Path

import pytest

from docs import generate
from fuseflow.compiler import parse
from fuseflow.compiler.groups import GROUPS
from fuseflow.compiler.masks import push_masks
from fuseflow.compiler.program_text import parse_program, print_program
from fuseflow.compiler.sums import with_sums
from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.errors import ParseError
from fuseflow.samml.graph import Role
from fuseflow.samml.text import parse_graph
from fuseflow.samml.values import VALUE_TYPES
from tests.pages import Example, blocks, call, examples, operands, run_python, working_nodes

LANGUAGE = Path(generate.ROOT) / "language.md"
EXAMPLES = examples(LANGUAGE)
REFUSED = [each for each in EXAMPLES if "refused" in each.facts]


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


@pytest.mark.parametrize(
    ("name", "more"), [*((name, {}) for name in CATALOG), ("reduce", {"multiply": True})]
)
def test_a_page_tells_the_latencies_of_every_value_type(name: str, more: dict[str, bool]) -> None:
    entry = CATALOG[name]
    page = generate.PAGES[f"primitives/{name}.md"]()
    named = next((param for param in entry.params if param.name == "op"), None)
    shown = _latencies(page, "".join(f"With `{key}=yes`:" for key in more))
    for op in named.choices if named else ():
        params = {"op": op, "kept": 1, "size": (), **more}
        given = {key: params[key] for key in params if key in {p.name for p in entry.params}}
        for kind in VALUE_TYPES.values():
            if named and op in named.floating and not kind.is_float:
                assert shown[op, kind.name] == "none"
                continue
            latency = entry.units(entry.complete(given), kind)[0].latency
            assert shown[op, kind.name] == str(latency)
    assert bool(shown) == bool(named)


def _latencies(page: str, label: str) -> dict[tuple[str, str], str]:
    """Read the first table of latencies, by operation and value type, that follows a label."""
    section = page.partition("## Latencies")[2].partition("## ")[0]
    lines = section.partition(label)[2].splitlines() if label else section.splitlines()
    table = dropwhile(lambda line: not line.startswith("|"), lines)
    rows = [
        line.strip("| ").split(" | ") for line in takewhile(lambda line: line[:1] == "|", table)
    ]
    return {
        (op, kind): figure
        for row in rows[2:]
        for op in re.findall(r"`(\w+)`", row[0])
        for kinds, figure in zip(rows[0][1:], row[1:], strict=True)
        for kind in kinds.split(", ")
    }


def test_the_language_page_shows_every_kind_of_fact() -> None:
    shown = {fact for each in EXAMPLES for fact in each.facts}
    assert shown == {"options", "means", "nodes", "fill", "refused"}


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e not in REFUSED], ids=str)
def test_an_example_of_the_language(example: Example, tmp_path: Path) -> None:
    compiled = call("compile", example.text, *example.options, "-o", tmp_path / "graph")
    assert compiled.exit_code == 0, compiled.stderr
    graph = parse_graph((tmp_path / "graph" / "graph.samml").read_text())
    (result,) = (tensor for tensor in graph.tensors if tensor.role == Role.RESULT)
    (order,) = re.findall(r"^order +(\S+)$", compiled.stdout, re.MULTILINE)
    statement = parse(example.text)
    facts = {
        "means": str(push_masks(with_sums(statement).value, order.split(","))),
        "nodes": ", ".join(working_nodes(graph)),
        "fill": str(result.fill),
    }
    for fact in facts.keys() & example.facts.keys():
        assert example.facts[fact] == facts[fact]
    # `run` compares golden meaning, cycle model and truth.
    ran = call("run", example.text, *example.options, *operands(statement, tmp_path))
    assert ran.exit_code == 0, ran.stderr


@pytest.mark.parametrize("example", REFUSED, ids=str)
def test_a_refusal_of_the_language(example: Example, tmp_path: Path) -> None:
    refused = call("compile", example.text, *example.options, "-o", tmp_path / "graph")
    assert refused.exit_code == 1
    assert refused.stderr.endswith(f"{example.facts['refused']}\n")


@pytest.mark.parametrize("text", blocks(LANGUAGE, "program"))
def test_a_program_of_the_language(text: str) -> None:
    program = parse_program(text)
    assert parse_program(print_program(program)) == program
    written_out = re.findall(r"^  # (.*)$", text, re.MULTILINE)
    assert written_out in ([], list(map(str, program.statements)))


def test_the_language_page_writes_every_group_out() -> None:
    shown = re.findall(r"(?m)^\w.* = (\w+)\[.*\n  # ", "".join(blocks(LANGUAGE, "program")))
    assert set(shown) == set(GROUPS)


@pytest.mark.parametrize("example", examples(LANGUAGE, "refused"), ids=str)
def test_a_refused_program_of_the_language(example: Example) -> None:
    with pytest.raises(ParseError) as caught:
        parse_program(example.text)
    assert str(caught.value).endswith(example.facts["refused"])


def test_python_on_the_language_page_prints_what_it_says() -> None:
    run_python(blocks(LANGUAGE, "python"))
