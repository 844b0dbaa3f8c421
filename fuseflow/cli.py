"""The command line: compile, run, generate, verify, doctor.

Every command takes ``--json FILE`` (``-`` is standard output).  What a user can do wrong is
reported in one line on standard error with exit code 1; nothing is left half-written.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec, TypeVar

import typer

from fuseflow.samml.errors import FuseFlowError, ParseError

if TYPE_CHECKING:
    from fuseflow.api import Program, RunResult, Seconds
    from fuseflow.samml.graph import Graph
    from fuseflow.tensor import Tensor

app = typer.Typer(
    name="fuseflow",
    help="Compile sparse Einsums to dataflow graphs and Verilog, and check the two agree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

P = ParamSpec("P")
R = TypeVar("R")

Expression = Annotated[
    str, typer.Argument(metavar="EXPR", help="A statement, such as 'X(i,j) = B(i,k) * C(k,j)'.")
]
Tensors = Annotated[
    list[str] | None,
    typer.Option("--tensor", metavar="B=FILE", help="An operand: .mtx, .tns or .npz."),
]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format", metavar="B=CSR", help="CSR, CSC, DCSR, DCSC, dense, sparse, or such as ss:1,0."
    ),
]
Order = Annotated[
    str | None, typer.Option("--order", metavar="i,k,j", help="Loop order, outermost first.")
]
Dims = Annotated[
    list[str] | None,
    typer.Option("--dim", metavar="i=1024", help="Largest size of an index variable."),
]
Capacities = Annotated[
    list[str] | None,
    typer.Option(
        "--capacity", metavar="B=65536", help="Words that the tile reserves for a tensor."
    ),
]
Rounded = Annotated[bool, typer.Option("--round", help="Round fractions in operands to integers.")]
Result = Annotated[
    Path | None, typer.Option("--result", help="Write the result: .mtx, .tns or .npz.")
]
Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write figures as JSON; - is stdout.")
]


def main() -> None:
    """Run the command line."""
    app()


def _reports_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Turn what a user can do wrong into one line and exit code 1."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except FuseFlowError as error:
            _fail(str(error))
        except OSError as error:
            _fail(f"{error.strerror}: '{error.filename}'" if error.filename else str(error))

    return wrapped


def _fail(message: str) -> NoReturn:
    typer.echo("error: " + " ".join(message.split()), err=True)
    raise typer.Exit(1)


@app.command("compile")
@_reports_errors
def compile_command(
    expression: Expression,
    output: Annotated[Path, typer.Option("-o", "--output", help="Directory to write.")],
    tensor: Tensors = None,
    format_: Formats = None,
    order: Order = None,
    dim: Dims = None,
    capacity: Capacities = None,
    round_: Rounded = False,
    json_: Json = None,
) -> None:
    """Compile a statement to graph.samml, graph.json and graph.dot."""
    from fuseflow.samml.dot import to_dot
    from fuseflow.samml.files import write_directory
    from fuseflow.samml.json_form import to_json
    from fuseflow.samml.text import print_graph

    program = _program(expression, tensor, format_, order, dim, capacity, rounded=round_)
    graph = program.graph
    files = {
        "graph.samml": print_graph(graph),
        "graph.json": to_json(graph),
        "graph.dot": to_dot(graph),
    }
    write_directory(output, files)
    figures = _graph_figures(program)
    _report(json_, figures, f"{output}: {len(graph.nodes)} primitives, order {figures['order']}")


@app.command()
@_reports_errors
def run(
    expression: Expression,
    tensor: Tensors = None,
    format_: Formats = None,
    order: Order = None,
    capacity: Capacities = None,
    round_: Rounded = False,
    result: Result = None,
    json_: Json = None,
) -> None:
    """Run a statement on the golden model and the cycle model."""
    program = _program(expression, tensor, format_, order, None, capacity, rounded=round_)
    with _step("running the models"):
        outcome = program.run()
    if result is not None:
        outcome.result.write(result)
    figures = {**_graph_figures(program), **_run_figures(program, outcome)}
    figures["seconds"] = _seconds(outcome.seconds, "compile", "model")
    figures["edges"] = _edge_figures(program, outcome)
    _report(json_, figures, _table(figures))


@app.command()
@_reports_errors
def generate(
    source: Annotated[
        str, typer.Argument(metavar="EXPR|DIR", help="A statement, or what compile wrote.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Directory to write.")],
    tensor: Tensors = None,
    format_: Formats = None,
    order: Order = None,
    dim: Dims = None,
    capacity: Capacities = None,
    round_: Rounded = False,
    json_: Json = None,
) -> None:
    """Generate the Verilog bundle of a statement or a compiled graph."""
    from gen.bundle import generate as write_bundle

    if Path(source).is_dir():
        graph = _read_graph(Path(source))
    else:
        graph = _program(source, tensor, format_, order, dim, capacity, rounded=round_).graph
    with _step("generating Verilog"):
        bundle = write_bundle(graph, output)
    figures = {"directory": str(output), "top": bundle.top, "primitives": len(graph.nodes)}
    _report(json_, figures, f"{bundle.verilog}: {len(graph.nodes)} primitives, top {bundle.top}")


@app.command()
@_reports_errors
def verify(
    expression: Expression,
    tensor: Tensors = None,
    format_: Formats = None,
    order: Order = None,
    capacity: Capacities = None,
    round_: Rounded = False,
    result: Result = None,
    json_: Json = None,
) -> None:
    """Build and run the RTL and compare it with the models, edge by edge."""
    program = _program(expression, tensor, format_, order, None, capacity, rounded=round_)
    with _step("building and running the RTL"):
        outcome = program.verify()
    if result is not None:
        outcome.run.result.write(result)
    figures = {
        "model_cycles": outcome.run.cycles,
        "rtl_cycles": outcome.rtl_cycles,
        "bit_exact": outcome.bit_exact,
        **_run_figures(program, outcome.run),
        "differences": list(outcome.differences),
        "seconds": _seconds(outcome.seconds, "compile", "model", "generate", "build", "rtl"),
    }
    _report(json_, figures, _table(figures))
    if not outcome.bit_exact:
        _fail(f"model and RTL differ: {outcome.differences[0]}")


@app.command()
@_reports_errors
def doctor(json_: Json = None) -> None:
    """Say which tools were found, what is missing, and how to get it."""
    from verif.toolchain import find_tools

    tools = find_tools()
    figures = {
        tool.name: {
            "version": tool.version,
            "path": tool.path and str(tool.path),
            "note": tool.note,
        }
        for tool in tools
    }
    lines = [
        f"{'ok     ' if tool.found else 'missing'} {tool.name:10} {tool.version:8} {tool.note}"
        for tool in tools
    ]
    _report(json_, figures, "\n".join(lines))
    if not all(tool.found for tool in tools):
        raise typer.Exit(1)


# --- from options to a program -----------------------------------------------------------


def _program(
    expression: str,
    tensors: Sequence[str] | None,
    formats: Sequence[str] | None,
    order: str | None,
    dims: Sequence[str] | None,
    capacities: Sequence[str] | None,
    *,
    rounded: bool,
) -> "Program":
    from fuseflow.api import compile as compile_statement

    wanted = dict(_pairs("--format", formats))
    with _step("reading operands"):
        operands = [
            _read_tensor(name, path, wanted.get(name), rounded)
            for name, path in _pairs("--tensor", tensors)
        ]
    return compile_statement(
        expression,
        *operands,
        formats=wanted,
        order=order,
        dims=dict(_numbers("--dim", dims)),
        capacities=dict(_numbers("--capacity", capacities)),
    )


def _pairs(option: str, values: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    for value in values or ():
        name, equals, rest = value.partition("=")
        if not (name and equals and rest):
            raise ParseError(f"{option} {value}: write NAME=VALUE")
        yield name.strip(), rest.strip()


def _numbers(option: str, values: Sequence[str] | None) -> Iterator[tuple[str, int]]:
    for name, text in _pairs(option, values):
        if not text.isdecimal() or int(text) < 1:
            raise ParseError(f"{option} {name}={text}: write a positive number")
        yield name, int(text)


def _read_tensor(name: str, path: str, form: str | None, rounded: bool) -> "Tensor":
    from fuseflow.tensor import Tensor

    return Tensor.read(path, form, name=name, round_values=rounded)


def _read_graph(directory: Path) -> "Graph":
    from fuseflow.samml.text import parse_graph

    path = directory / "graph.samml"
    if not path.exists():
        raise ParseError(f"'{directory}' holds no graph.samml: write one with `fuseflow compile`")
    return parse_graph(path.read_text(), str(path))


# --- reports -----------------------------------------------------------------------------


def _graph_figures(program: "Program") -> dict[str, Any]:
    return {
        "order": ",".join(program.order),
        "formats": {name: str(form) for name, form in program.lowered.formats.items()},
    }


def _run_figures(program: "Program", outcome: "RunResult") -> dict[str, Any]:
    name, firings = outcome.bottleneck
    return {
        "model_cycles": outcome.cycles,
        "max_error": outcome.max_error,
        "error_bound": outcome.error_bound,
        "overflow": outcome.overflow,
        "tokens": outcome.tokens,
        "bottleneck": {"unit": name, "firings": firings},
        "ideal": outcome.ideal,
        "ideal_banks": outcome.ideal_banks,
        "nnz_out": outcome.result.nnz,
        "primitives": len(program.graph.nodes),
    }


def _edge_figures(program: "Program", outcome: "RunResult") -> list[dict[str, Any]]:
    from fuseflow.samml.units import flatten

    edges = flatten(program.graph).edges
    return [
        {
            "edge": edge.name,
            "depth": edge.depth,
            "tokens": report.tokens,
            "high_water": report.high_water,
            "missing": report.missing,
            "full": report.full,
        }
        for edge, report in zip(edges, outcome.model.edges, strict=True)
    ]


def _seconds(seconds: "Seconds", *steps: str) -> dict[str, float]:
    return {step: round(getattr(seconds, step), 4) for step in steps}


def _table(figures: dict[str, Any]) -> str:
    """Return figures as aligned lines; nested figures stand on one line."""
    lines: list[str] = []
    for name, value in figures.items():
        if name in ("edges", "differences"):
            continue
        if isinstance(value, dict):
            value = "  ".join(f"{key} {inner}" for key, inner in value.items())
        lines.append(f"{name:14} {value}")
    return "\n".join(lines)


def _report(target: str | None, figures: dict[str, Any], text: str) -> None:
    """Print the text and write the JSON; JSON on standard output stands there alone."""
    typer.echo(text, err=target == "-")
    if target is None:
        return
    document = json.dumps(figures, indent=1) + "\n"
    if target == "-":
        sys.stdout.write(document)
        return
    from fuseflow.samml.files import write_file

    write_file(Path(target), document)


@contextmanager
def _step(what: str) -> Iterator[None]:
    """Show what takes long while it does, where somebody watches."""
    if not sys.stderr.isatty():
        yield
        return

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what)
        yield
