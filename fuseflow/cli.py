"""The command line: compile, run, generate, verify, table, explore, analyze, compare, doctor.

Every command takes ``--json FILE`` (``-`` is standard output).  What a user can do wrong is
reported in one line on standard error with exit code 1; nothing is left half-written.
Commands import what they need when they run, so that ``--help`` answers at once.
"""

import errno
import os
import re
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, ParamSpec, TypeVar

import typer

from fuseflow.arguments import takes_options
from fuseflow.progress import progress
from fuseflow.samml.errors import FuseFlowError, ParseError
from fuseflow.samml.files import check_place

if TYPE_CHECKING:
    from fuseflow.options import Compiled, Options
    from fuseflow.tensor import Tensor

app = typer.Typer(
    name="fuseflow",
    help="Compile sparse Einsums and PyTorch models to dataflow graphs and Verilog, and check that "
    "the two agree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

LONGEST_LINE = 2000
"""Most characters of an error; of a longer one, which quotes its input, both ends are shown."""

RESULT_NAME = re.compile(r"\w+(\.\w+)*", re.ASCII)
"""A name that a result can have; those of models may have dots."""

P = ParamSpec("P")
R = TypeVar("R")

Expression = Annotated[
    str,
    typer.Argument(
        metavar="EXPR|PROGRAM.ff|MODEL|GRAPH.gv",
        help="A statement, such as 'X(i,j) = B(i,k) * C(k,j)', or several, separated by ';'; a "
        "program's file; a model (.mlir, .pt2 or .pt); or a graph of SAM's compiler.",
    ),
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="EXPR|PROGRAM.ff|MODEL|GRAPH.gv|DIR",
        help="Statements, a program, a model, a graph, or what compile wrote.",
    ),
]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Directory to write.")]
Result = Annotated[
    list[str] | None,
    typer.Option(
        "--result",
        metavar="[Y=]FILE",
        help="Write a result: .mtx, .tns or .npz. Without a name, the last one.",
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="Write what happened on every edge in every cycle: .json or .json.gz (Perfetto, "
        "Chrome), or .vcd. Of several graphs, one file each, such as run.1_T0.json.",
    ),
]
ClosedForm = Annotated[
    bool | None,
    typer.Option(
        "--closed-form/--no-closed-form",
        help="Skip iterations of loops in which the state of the cycle model repeats, which "
        "changes no figure; by default in graphs that are expected to fire often.",
    ),
]
Stalling = Annotated[
    bool, typer.Option("--stalls", help="Say which units and edges held the run back, and why.")
]
Kernels = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KERNEL", help="Names, globs or classes of kernels; class single by default."
    ),
]
ComparedType = Annotated[
    str, typer.Option("--type", metavar="fp32", help="The value type of every kernel.")
]
Peers = Annotated[
    Path | None,
    typer.Option(
        "--peers",
        metavar="FILE",
        help="Cycles that another simulator measured (csv): compare with the same kernels, orders, "
        "formats and inputs.",
    ),
]
Inputs = Annotated[
    Path | None,
    typer.Option(
        "--inputs",
        metavar="DIR",
        help="Operand files; `inputs` beside the --peers by default, random operands without.",
    ),
]
WithRtl = Annotated[bool, typer.Option("--rtl", help="Build and run the RTL too.")]
TableFormat = Annotated[
    str, typer.Option("--format", metavar="FORM", help="text, markdown or json.")
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw the cycles: .png, .svg or .pdf."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of random operands.")]
Waves = Annotated[
    Path | None,
    typer.Option(
        "--waves",
        metavar="FILE.vcd",
        help="Write the signals of the RTL as VCD; of several graphs, one file each.",
    ),
]
Orders = Annotated[
    bool,
    typer.Option("--orders", help="Compare the loop orders of the program as one graph."),
]
Count = Annotated[
    int, typer.Option("--count", metavar="N", min=1, help="How many candidates to compare.")
]
Simulate = Annotated[bool, typer.Option("--simulate", help="Run every candidate on the models.")]
Analyzed = Annotated[
    str | None,
    typer.Argument(
        metavar="[EXPR|PROGRAM.ff|MODEL|GRAPH.gv]",
        help="What to analyze; or give it as --model.",
    ),
]
ModelFile = Annotated[
    str | None, typer.Option("--model", metavar="FILE", help="The same as the argument.")
]
MetricName = Annotated[
    str,
    typer.Option(
        "--metric",
        metavar="memory_bandwidth|flops|tokens|cycles",
        help="What statements are sorted by, and the bottleneck is told of.",
    ),
]
Measured = Annotated[
    bool | None,
    typer.Option(
        "--simulate/--no-simulate",
        help="Run on the cycle model, beside what is expected; by default where all data is given.",
    ),
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
        target = kwargs.get("json_")
        try:
            if isinstance(target, str) and target != "-":
                if Path(target).is_dir():
                    _fail(f"--json {target}: that is a directory, name a file in it")
                check_place(Path(target))
            return command(*args, **kwargs)
        except FuseFlowError as error:
            _fail(str(error))
        except OSError as error:
            place = error.filename2 or error.filename
            room = "; make room for outputs and for the cache (FUSEFLOW_CACHE, XDG_CACHE_HOME)"
            problem = f"'{place}': {error.strerror}" if place else str(error)
            _fail(problem + (room if error.errno == errno.ENOSPC else ""))
        except MemoryError:
            _fail("not enough memory for operands of this size")
        except RecursionError:
            _fail("nested too deeply, or too many terms: split it into several statements")

    return wrapped


def _fail(message: str) -> NoReturn:
    line = " ".join(message.split())
    if len(line) > LONGEST_LINE:
        line = f"{line[: LONGEST_LINE - 300]} ... {line[-300:]}"
    typer.echo(f"error: {line}", err=True)
    raise typer.Exit(1)


@app.command("compile")
@_reports_errors
@takes_options
def compile_command(
    expression: Expression,
    output: Output,
    *,
    options: "Options",
    json_: Json = None,
) -> None:
    """Compile to graph.samml, graph.json and graph.dot; of several graphs, in a folder each."""
    from fuseflow.figures import compile_figures, report, table

    program = options.compile(expression).program
    with progress("sizing the result"):
        graphs = program.sized()
    graphs.write(output)
    figures = compile_figures(program, output)
    report(json_, figures, table(figures))


@app.command()
@_reports_errors
@takes_options
def run(
    expression: Expression,
    *,
    options: "Options",
    result: Result = None,
    trace: Trace = None,
    stalls: Stalling = False,
    closed_form: ClosedForm = None,
    json_: Json = None,
) -> None:
    """Run a statement or a program on the golden model and the cycle model."""
    from fuseflow.figures import entries, report, run_figures, stall_figures, table
    from fuseflow.traces import check_trace_target

    targets = _targets(result)
    if trace is not None:
        check_trace_target(trace)
    compiled = options.compile(expression)
    _check_names(targets, compiled)
    compiled.check_data()
    program = compiled.program
    with progress("running the models"):
        outcome = program.run(trace=stalls or trace is not None, closed_form=closed_form)
    results = compiled.tensors(outcome)
    _write_results(targets, results)
    if trace is not None:
        with progress("writing the trace"):
            outcome.write_trace(trace)
    figures = run_figures(program, outcome)
    text = table(figures) + "".join(map(entries, results.values()))
    if stalls:
        with progress("finding the critical path"):
            held = {region.name: region.stalls() for region in outcome.regions}
        figures |= stall_figures(held)
        for name, each in held.items():
            text += f"\n{name}: {each}" if len(held) > 1 else f"\n{each}"
    report(json_, figures, text)


@app.command()
@_reports_errors
@takes_options
def generate(
    source: Source,
    output: Output,
    *,
    options: "Options",
    json_: Json = None,
) -> None:
    """Generate the Verilog bundle of a statement, a program or compiled graphs."""
    from fuseflow.figures import bundle_figures, report, table
    from fuseflow.folders import Graphs
    from fuseflow.options import GRAPH_SUFFIX, Options
    from fuseflow.sources import MODEL_SUFFIXES, PROGRAM_SUFFIX

    with progress("compiling"):
        # Not Path.is_dir, which raises where a long statement is no file name.
        if not os.path.isdir(source):
            suffixes = (GRAPH_SUFFIX, PROGRAM_SUFFIX, *MODEL_SUFFIXES)
            if "=" not in source and not source.endswith(suffixes):
                raise ParseError(
                    f"'{source}' is neither a statement, a program, a model, a graph nor a "
                    "directory"
                )
            graphs = options.compile(source).program.sized()
        elif options == Options():
            graphs = Graphs.read(Path(source))
        else:
            raise ParseError(f"'{source}' is compiled already: give options to `fuseflow compile`")
    started = time.perf_counter()
    with progress("generating Verilog"):
        bundles = graphs.generate(output)
    figures = {
        "directory": str(output),
        **bundle_figures(bundles),
        "primitives": sum(len(graph.nodes) for graph in graphs.graphs.values()),
        "seconds": {"generate": round(time.perf_counter() - started, 4)},
    }
    report(json_, figures, table(figures))


@app.command()
@_reports_errors
@takes_options
def verify(
    expression: Expression,
    *,
    options: "Options",
    result: Result = None,
    waves: Waves = None,
    json_: Json = None,
) -> None:
    """Build and run the RTL and compare it with the models, edge by edge."""
    from fuseflow.figures import entries, report, table, verify_figures
    from fuseflow.traces import check_waves_target

    targets = _targets(result)
    if waves is not None:
        check_waves_target(waves)
    compiled = options.compile(expression)
    _check_names(targets, compiled)
    compiled.check_data()
    program = compiled.program
    with progress("building and running the RTL"):
        outcome = program.verify(waves=waves)
    results = compiled.tensors(outcome.run)
    if outcome.bit_exact:
        _write_results(targets, results)
    figures = verify_figures(program, outcome)
    text = table(figures) + "".join(map(entries, results.values()))
    report(json_, figures, text)
    if not outcome.bit_exact:
        _fail(
            f"model and RTL differ in {len(outcome.differences)} figures, first in "
            f"{outcome.differences[0]}: please report the statement, its formats and its order"
        )


@app.command("table")
@_reports_errors
@takes_options
def table_command(
    expression: Expression,
    *,
    options: "Options",
    json_: Json = None,
) -> None:
    """Print the fusion table of every graph: which node makes which stream at which loop."""
    from fuseflow.figures import report

    tables = options.compile(expression).program.tables()
    if not tables:
        raise ParseError(f"'{expression}' is a graph already: only a program has a fusion table")
    several = len(tables) > 1
    texts = [f"{name}\n\n{table}" if several else table for name, table in tables.items()]
    report(json_, {"tables": tables}, "\n".join(texts).rstrip())


@app.command()
@_reports_errors
@takes_options
def explore(
    expression: Expression,
    *,
    options: "Options",
    orders: Orders = False,
    count: Count = 16,
    simulate: Simulate = False,
    json_: Json = None,
) -> None:
    """Compare the ways to compile a program: its cuts into graphs, or the loop orders of one."""
    from fuseflow.explore import explore as explore_program
    from fuseflow.figures import exploration_figures, report

    prepared = options.prepare(expression)
    with progress("comparing"):
        found = explore_program(prepared, orders=orders, count=count, simulate=simulate)
    report(json_, exploration_figures(found), str(found))


@app.command()
@_reports_errors
@takes_options
def analyze(
    expression: Analyzed = None,
    *,
    options: "Options",
    model: ModelFile = None,
    metric: MetricName = "memory_bandwidth",
    simulate: Measured = None,
    json_: Json = None,
) -> None:
    """Say what every statement moves and computes, and what bounds every region."""
    from fuseflow.analysis import Metric, analyse, simulated
    from fuseflow.analysis_figures import analysis_figures, analysis_text
    from fuseflow.figures import report

    source = expression or model
    if source is None or (expression and model):
        raise ParseError("analyze takes one of EXPR and --model FILE")
    by = Metric.parse(metric)
    compiled = options.compile(source)
    if simulate:
        compiled.check_data()
    run = None
    if simulate or (simulate is None and not compiled.missing):
        with progress("running the model"):
            run = simulated(compiled.program)
    with progress("analyzing"):
        found = analyse(compiled.program, by, run)
    report(json_, analysis_figures(found), analysis_text(found))


@app.command()
@_reports_errors
def compare(
    kernels: Kernels = None,
    type_: ComparedType = "fp32",
    peers: Peers = None,
    inputs: Inputs = None,
    rtl: WithRtl = False,
    format_: TableFormat = "text",
    plot: Plot = None,
    seed: Seed = 1,
    json_: Json = None,
) -> None:
    """Run the field's standard kernels and show their cycles beside ideal and other simulators."""
    from fuseflow.comparison.compare import compare as compare_kernels
    from fuseflow.comparison.plot import check_plot_target, write_plot
    from fuseflow.comparison.render import check_form, document, render
    from fuseflow.comparison.table import select
    from fuseflow.figures import report
    from fuseflow.samml.values import value_type

    check_form(format_)
    if plot is not None:
        check_plot_target(plot)
    chosen = select(kernels or ["single"])
    outcome = compare_kernels(
        chosen, value_type(type_), peers=peers, inputs=inputs, rtl=rtl, seed=seed
    )
    if plot is not None:
        write_plot(outcome, plot)
    report(json_, document(outcome), render(outcome, format_))
    if outcome.failed:
        failed = sum(bool(row.error) for row in outcome.rows)
        _fail(f"{failed} of {len(outcome.rows)} rows failed: the table says why")


@app.command()
@_reports_errors
def doctor(json_: Json = None) -> None:
    """Say which tools were found, what is missing, and how to get it."""
    from fuseflow.figures import report
    from verif.toolchain import find_tools

    tools = find_tools()
    figures = {
        tool.name: {
            "version": tool.version,
            "path": str(tool.path) if tool.path else None,
            "note": tool.note,
        }
        for tool in tools
    }
    lines = [
        f"{'ok     ' if tool.found else 'missing'} {tool.name:10} {tool.version:8} {tool.note}"
        for tool in tools
    ]
    report(json_, figures, "\n".join(lines))
    if not all(tool.found for tool in tools):
        raise typer.Exit(1)


def _targets(given: list[str] | None) -> dict[str, Path]:
    """Return where results go, by name, and refuse such a place before anything long runs.

    The empty name stands for the last result.
    """
    from fuseflow.tensor.files import check_target

    targets: dict[str, Path] = {}
    for text in given or ():
        name, equals, path = text.partition("=")
        if not (equals and RESULT_NAME.fullmatch(name)):
            name, path = "", text
        check_target(path)
        if name in targets:
            raise ParseError(f"--result {text}: a second file for one result, keep one")
        targets[name] = Path(path)
    return targets


def _check_names(targets: dict[str, Path], compiled: "Compiled") -> None:
    for name, path in targets.items():
        if name and name not in compiled.results:
            known = ", ".join(compiled.results)
            raise ParseError(f"--result {name}={path}: there is no such result, only {known}")


def _write_results(targets: dict[str, Path], results: "dict[str, Tensor]") -> None:
    for name, path in targets.items():
        results[name or list(results)[-1]].write(path)
