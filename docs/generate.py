"""Writes the pages of the documentation that follow from definitions in the code.

Run ``python -m docs.generate`` from the root of the repository; ``--check`` writes nothing
and exits 1 when a page is stale.  To add a page, add its path and maker to `PAGES`.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from typer.main import get_command

from fuseflow.cli import app
from fuseflow.compiler import compile_statement
from fuseflow.compiler.operators import PATTERNS, Choices, Pattern
from fuseflow.samml.catalog import (
    CATALOG,
    REQUIRED,
    Input,
    Param,
    Params,
    Primitive,
    TypeRuleError,
)
from fuseflow.samml.graph import Extent
from fuseflow.samml.streams import Field, Kind, Level, StreamType
from fuseflow.samml.text import print_graph, print_value
from fuseflow.samml.values import INT32, VALUE_TYPES, ValueType

Measure: TypeAlias = Callable[[Params, ValueType], int]
Figures: TypeAlias = tuple[int | str, ...]
"""One of every value type; a word where the type has none."""

ROOT = Path(__file__).parent
NOTICE = "<!-- Written by `python -m docs.generate`: do not edit. -->\n\n"
CLI_HABITS = """\
A mistake is reported in one line on standard error with exit code 1, a wrong option with exit
code 2; output files are written whole or not at all. With `--json -`, standard output carries the
JSON alone.

Statements, formats, fills and value types: [The language](language.md). `fuseflow run` and
`fuseflow verify` need every operand; `compile` and `generate` take those that are known, for sizes
and densities.
"""
SPMM = "X(i,j) = A(i,k) * H(k,j)"
SPMM_FORMATS = {"X": "dd", "A": "CSR", "H": "dd"}
OPERATORS = """\
# Fused operators

The compiler makes one node of every pair in this table where nobody else reads what the first node
writes. Words and flags are those of the pair, bit for bit
([RFC 0007](rfcs/0007-fused-operators.md)): there are fewer nodes, edges and cycles of latency,
nothing else changes. `--without operators` on the command line and
`without=["operators"]` in Python leave every node as it is.
"""
BASE_RANK = 4
CHAIN = tuple(Level(index, "sample") for index in "abcdefgh")
SIZE = Extent("T", 0)

VARIANTS: dict[str, tuple[dict[str, object], ...]] = {
    "source": ({"fields": ("crd/crd", "val/val"), "levels": ("i", "j")},),
    "scan_dense": ({"bound": True}, {"bound": False}),
    "locate": ({"parent": True}, {"parent": False}),
    "reduce": ({"multiply": False}, {"multiply": True}),
    "accumulate": ({"kept": 1, "size": (SIZE,)}, {"kept": 2, "size": (SIZE, SIZE)}),
    "drop_empty": ({"signal": 1, "heights": (1, 2)},),
}
"""Parameters that decide about ports or units, where the defaults do not show them all."""

RANKED_BY = {"repeat": "signal", "accumulate": "crd"}
"""The input whose rank is called d; the first one elsewhere."""


def primitive_page(entry: Primitive) -> str:
    """Return the page of one primitive."""
    variants = [(shown, _sample(entry, shown)) for shown in VARIANTS.get(entry.name, ({},))]
    parts = [
        f"# {entry.name}\n\n{entry.summary}\n",
        f"## Rule\n\n{entry.rule}\n\nA token is `(payload, empty, close)`, `-` no payload.\n",
        "## Ports\n\n" + _each(variants, partial(_ports, entry)),
    ]
    if entry.params:
        parts.append("## Parameters\n\n" + _params(entry.params))
    parts.append("## Units\n\n" + _each(variants, partial(_units, entry)))
    latencies = _each(variants, partial(_latencies, entry))
    if latencies.strip():
        parts.append("## Latencies\n\n" + latencies)
    internal = _each(variants, partial(_internals, entry))
    if internal.strip():
        parts.append("## Internal streams\n\n" + internal)
    hazards = "".join(f"- {hazard}\n" for hazard in entry.hazards)
    parts.append("## Hazards\n\n" + (hazards or "None: it waits for heads and room only.\n"))
    arrays = ", ".join(f"`{name}`" for name in entry.memories)
    parts.append("## Tensor arrays\n\n" + (f"{arrays}.\n" if arrays else "None.\n"))
    return "\n".join(parts)


def index_page() -> str:
    """Return the list of all primitives."""
    rows = [(f"[{name}]({name}.md)", entry.summary) for name, entry in CATALOG.items()]
    return "# Primitives\n\n" + _table(("primitive", "what it does"), rows)


def cli_page() -> str:
    """Return the reference of the command line, from the definitions of its commands."""
    group = get_command(app)
    commands: dict[str, Any] = group.commands  # type: ignore[attr-defined]
    parts = [f"# Command line\n\n{group.help}\n", CLI_HABITS]
    parts += [_command(name, command) for name, command in commands.items()]
    return "\n".join(parts)


def _command(name: str, command: Any) -> str:
    """Return the section of one command."""
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    usage = " ".join(
        ["fuseflow", name]
        + [param.metavar for param in arguments]
        + [f"{param.opts[0]} {param.metavar}" for param in options if param.required]
        + ["[OPTIONS]"]
    )
    rows = [
        (f"`{param.metavar}`", param.help, "yes" if param.required else "") for param in arguments
    ]
    rows += [
        (
            ", ".join(f"`{flag}`" for flag in param.opts)
            + ("" if param.is_flag else f" `{param.metavar}`"),
            param.help + (" May be repeated." if param.multiple else ""),
            "yes" if param.required else "",
        )
        for param in options
    ]
    table = _table(("option", "meaning", "required"), _escaped(rows))
    return f"## {name}\n\n{command.help}\n\n    {usage}\n\n{table}"


def picture() -> str:
    """Draw the graph of a sparse matrix times a dense one for Mermaid."""
    graph = compile_statement(SPMM, SPMM_FORMATS, order="i,k,j").graph
    lines = ["```mermaid", "flowchart TD"]
    for node in graph.nodes:
        name = (
            node.primitive if node.name == node.primitive else f"{node.name}<br/>{node.primitive}"
        )
        lines.append(f'  {node.name}["{name}"]')
    for node in graph.nodes:
        for edge in node.inputs:
            fields = ", ".join(edge.fields)
            label = f"{edge.port}: {fields}" if fields not in ("", edge.port) else edge.port
            lines.append(f'  {edge.node} -->|"{label}"| {node.name}')
    return "\n".join([*lines, "```"]) + "\n"


def graph_page() -> str:
    """Return the picture and the text form of one graph."""
    lowered = compile_statement(SPMM, SPMM_FORMATS, order="i,k,j")
    formats = ", ".join(f"{name} {form}" for name, form in lowered.formats.items())
    return (
        f"# The graph of one statement\n\n`{SPMM}` with {formats}, order i,k,j.\n\n{picture()}\n"
        "The same in text form, as `fuseflow compile` writes it. Comments give the type of every\n"
        "stream: its fields and the indices of its levels.\n\n"
        f"```\n{print_graph(lowered.graph, types=True)}```\n"
    )


def operators_page() -> str:
    """Return the table of the pairs that become one node."""
    rows = [
        (
            pattern.name,
            _shape(pattern.first, pattern.firsts),
            _shape(pattern.second, pattern.seconds),
            _replacement(pattern),
            "all" if pattern.types == tuple(VALUE_TYPES) else ", ".join(pattern.types),
        )
        for pattern in PATTERNS
    ]
    return f"{OPERATORS}\n" + _table(("pair", "node", "its reader", "becomes", "types"), rows)


def _shape(primitive: str, choices: Choices) -> str:
    """Say what a node of a pair is; parameters that are off are left out."""
    entry = CATALOG[primitive]
    words = [
        f"{name}={' or '.join(print_value(value) for value in allowed)}"
        for name, allowed in choices.items()
        if allowed != (False,)
    ]
    return f"[{entry.name}](primitives/{entry.name}.md) `{' '.join(words) or 'any'}`"


def _replacement(pattern: Pattern) -> str:
    owners = ("the node", "its reader")
    sets = {name: (value,) for name, value in pattern.sets.items()}
    taken = [
        f"`{param}` is {'that' if name == param else f'the `{name}`'} of {owners[which]}"
        for param, (which, name) in pattern.takes.items()
    ]
    return "; ".join([_shape(pattern.fused, sets), *taken])


def _escaped(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return rows whose cells hold no bare column mark."""
    return [tuple(cell.replace("|", "\\|") for cell in row) for row in rows]


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "graph.md": graph_page,
    "operators.md": operators_page,
    "primitives/index.md": index_page,
    **{f"primitives/{name}.md": partial(primitive_page, entry) for name, entry in CATALOG.items()},
}
"""Every generated page by its path below this folder."""


def _sample(entry: Primitive, shown: dict[str, object]) -> Params:
    words = {
        param.name: param.choices[0]
        for param in entry.params
        if param.choices and param.default is REQUIRED
    }
    return {"index": "z", "space": "", "size": SIZE, "tensor": "T", "level": 0} | words | shown


def _each(
    variants: Sequence[tuple[dict[str, object], Params]], make: Callable[[Params], str]
) -> str:
    """Make a section for every variant; those that read alike become one."""
    sections: dict[str, list[str]] = {}
    for shown, params in variants:
        label = ", ".join(
            f"`{name}={print_value(value)}`"  # pyright: ignore[reportArgumentType]
            for name, value in shown.items()
            if name != "size"
        )
        sections.setdefault(make(params), []).append(label)
    if len(sections) == 1:
        return next(iter(sections))
    return "\n".join(f"With {' or '.join(labels)}:\n\n{s}" for s, labels in sections.items())


def _ports(entry: Primitive, params: Params) -> str:
    params = _completed(entry, params)
    ports = entry.inputs(params)
    inputs, outputs = _types(entry, params)
    _, wide = _types(entry, _widened(entry, params))
    base = RANKED_BY.get(entry.name, ports[0].name if ports else "")
    zero = inputs[base].rank if base else 0
    rows = [
        (
            f"`{port.name}`",
            "in",
            _input_fields(port),
            _rank(inputs[port.name], zero, base),
            port.doc,
        )
        for port in ports
    ]
    rows += [
        (
            f"`{name}`",
            "out",
            _output_fields(stream, ports, wide[name]),
            _rank(stream, zero, base),
            "" if stream == wide[name] else "a sum where `wide`",
        )
        for name, stream in outputs.items()
    ]
    table = _table(("port", "", "fields", "rank", "meaning"), rows)
    notes = f"\nd is the rank of `{base}`.\n" if base else ""
    if any(port.passengers for port in ports):
        notes += "\n`port.*` stands for the further fields of that port, which ride along.\n"
    return table + notes


def _input_fields(port: Input) -> str:
    roles = [_field(role, kinds) for role, kinds in port.roles]
    return ", ".join(roles + [f"`{port.name}.*`"] * port.passengers) or "none"


def _output_fields(
    stream: StreamType, ports: Sequence[Input] = (), wide: StreamType | None = None
) -> str:
    """List fields; one that an input of several kinds passes on may be of any of them."""
    passed = {role: found for port in ports for role, found in port.roles}
    texts: list[str] = []
    for field, other in zip(stream.fields, (wide or stream).fields, strict=True):
        kinds = passed.get(field.name, ())
        if field.kind not in kinds or field.kind != other.kind:
            kinds = tuple(dict.fromkeys((field.kind, other.kind)))
        texts.append(f"`{field.name}`" if field.name.endswith(".*") else _field(field.name, kinds))
    return ", ".join(texts)


def _field(name: str, kinds: Sequence[Kind]) -> str:
    return f"`{name}` ({' or '.join(kind.value for kind in kinds)})"


def _rank(stream: StreamType, zero: int, base: str) -> str:
    above = stream.rank - zero
    if not base:
        return "length of `levels`" if stream.rank else "0"
    return f"d{above:+d}" if above else "d"


def _types(entry: Primitive, params: Params) -> tuple[dict[str, StreamType], dict[str, StreamType]]:
    """Find input types that the entry's own rule accepts, and the outputs that follow."""
    ports = entry.inputs(params)
    for ranks in product((BASE_RANK, *range(1, len(CHAIN))), repeat=len(ports)):
        inputs = {
            port.name: StreamType(_sample_fields(port), CHAIN[:rank])
            for port, rank in zip(ports, ranks, strict=True)
        }
        try:
            return inputs, entry.outputs(entry.name, params, inputs)
        except TypeRuleError:
            continue
    raise AssertionError(f"no ranks of inputs satisfy {entry.name}")


def _sample_fields(port: Input) -> tuple[Field, ...]:
    fields = tuple(Field(role, kinds[0]) for role, kinds in port.roles)
    return fields + (Field(f"{port.name}.*", Kind.REF),) * port.passengers


def _widened(entry: Primitive, params: Params) -> Params:
    """Return parameters that make a primitive's output wide, if it can be."""
    if all(param.name != "wide" for param in entry.params):
        return params
    return {**params, "wide": True, "op": "mul" if entry.name == "alu" else "sum"}


def _completed(entry: Primitive, params: Params) -> Params:
    known = {param.name for param in entry.params}
    return entry.complete({name: value for name, value in params.items() if name in known})


def _params(params: Sequence[Param]) -> str:
    rows = [
        (
            f"`{param.name}`",
            param.wanted + ("" if param.least is None else f", {param.least} or more"),
            "required" if param.default is REQUIRED else f"`{print_value(param.default)}`",
            param.doc
            + (f"; {_names(param.floating)} of floating point only" if param.floating else ""),
        )
        for param in params
    ]
    return _table(("parameter", "type", "default", "meaning"), rows)


def _units(entry: Primitive, params: Params) -> str:
    rows = [
        (
            f"`{unit.name or entry.name}`",
            _names(unit.reads),
            _names(unit.writes),
            _figure(entry, params, partial(_latency, entry, k)),
            unit.counts,
            "a survivor waits until it is known whether it is its fiber's last"
            if unit.holds
            else "",
        )
        for k, unit in enumerate(entry.units(_completed(entry, params), INT32))
    ]
    return _table(("unit", "reads", "writes", "latency", "firings count", "holder"), rows)


def _latencies(entry: Primitive, params: Params) -> str:
    """Tabulate the latencies that are not the same for all operations and value types."""
    units = entry.units(_completed(entry, params), INT32)
    return "\n".join(
        (f"Of `{unit.name}`:\n\n" if unit.name else "") + table
        for k, unit in enumerate(units)
        if (table := _tabulate(entry, params, partial(_latency, entry, k)))
    )


def _latency(entry: Primitive, unit: int, params: Params, value: ValueType) -> int:
    return entry.units(params, value)[unit].latency


def _internals(entry: Primitive, params: Params) -> str:
    completed = _completed(entry, params)
    inputs, _ = _types(entry, completed)
    base = RANKED_BY.get(entry.name, next(iter(inputs), ""))

    def depth(name: str, params: Params, value: ValueType) -> int:
        return entry.internals(params, value, inputs)[name].depth

    streams = entry.internals(completed, INT32, inputs)
    rows = [
        (
            f"`{name}`",
            _output_fields(internal.type) or "none",
            _rank(internal.type, inputs[base].rank, base),
            _figure(entry, params, partial(depth, name)),
        )
        for name, internal in streams.items()
    ]
    tables = [
        f"\nDepth of `{name}`:\n\n{table}"
        for name in streams
        if (table := _tabulate(entry, params, partial(depth, name)))
    ]
    return _table(("stream", "fields", "rank", "depth"), rows) + "".join(tables) if rows else ""


def _measure(entry: Primitive, params: Params, measure: Measure) -> dict[str, Figures]:
    """Take a figure for every operation of a primitive, and there for every value type."""
    named = next((param for param in entry.params if param.name == "op"), None)
    floating = named.floating if named else ()
    return {
        op: tuple(
            measure(_completed(entry, {**params, "op": op}), value)
            if value.is_float or op not in floating
            else "none"
            for value in VALUE_TYPES.values()
        )
        for op in (named.choices if named else ("",))
    }


def _figure(entry: Primitive, params: Params, measure: Measure) -> str:
    """Return a figure where it is always the same; `_tabulate` tells of others."""
    found = {figure for row in _measure(entry, params, measure).values() for figure in row}
    return str(found.pop()) if len(found) == 1 else "see below"


def _tabulate(entry: Primitive, params: Params, measure: Measure) -> str:
    """Tabulate a figure by operation and value type; those that do not differ stand together."""
    found = _measure(entry, params, measure)
    operations: dict[Figures, list[str]] = {}
    for op, figures in found.items():
        operations.setdefault(figures, []).append(op)
    types: dict[Figures, list[str]] = {}
    for name, column in zip(VALUE_TYPES, zip(*operations, strict=True), strict=True):
        types.setdefault(column, []).append(name)
    if len(operations) == len(types) == 1:
        return ""
    head = ("operation", *(", ".join(names) for names in types.values()))
    columns = ([_names(ops) for ops in operations.values()], *types)
    return _table(head, [tuple(map(str, row)) for row in zip(*columns, strict=True)])


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a table, without the columns that no row fills."""
    keep = [k for k in range(len(head)) if any(row[k] for row in rows)]
    lines = [
        [head[k] for k in keep],
        ["---"] * len(keep),
        *([row[k] for k in keep] for row in rows),
    ]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def stale_pages() -> list[str]:
    """Return pages that differ from what is on disk, and pages that nothing makes."""
    stale = [
        path
        for path, make in PAGES.items()
        if not (ROOT / path).is_file() or (ROOT / path).read_text() != NOTICE + make()
    ]
    written = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md")}
    marked = {path for path in written if (ROOT / path).read_text().startswith(NOTICE)}
    return sorted({*stale, *(marked - PAGES.keys())})


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all pages, or check them; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when stale")
    stale = stale_pages()
    if parser.parse_args(arguments).check:
        for path in stale:
            print(f"docs/{path} is stale: run `python -m docs.generate`", file=sys.stderr)
        return int(bool(stale))
    for path in stale:
        target = ROOT / path
        if path not in PAGES:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(NOTICE + PAGES[path]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
