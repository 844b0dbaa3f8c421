"""The options that every command on a program takes, defined once.

Commands take one ``options`` parameter; `takes_options` gives them the command line's instead.
Nothing heavy is imported here, so that ``--help`` answers at once.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

Many = list[str] | None

OPTIONS: dict[str, Any] = {
    "tensors": Annotated[
        Many,
        typer.Option(
            "--tensor",
            metavar="B=FILE",
            help="An operand, or an argument of a model: .mtx, .tns or .npz; a scalar's number.",
        ),
    ],
    "formats": Annotated[
        Many,
        typer.Option(
            "--format",
            metavar="[B=]CSR",
            help="CSR, CSC, DCSR, DCSC, dense, sparse, or a letter per level (s compressed, d "
            "dense) and the mode order, such as ss:1,0. Without a name, of all arguments that a "
            "model stores sparse.",
        ),
    ],
    "value": Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="fp32",
            help="Value type: int8, int16, int32, bf16, fp16 or fp32; by default int32, or that of "
            "a model's elements.",
        ),
    ],
    "fusion": Annotated[
        str,
        typer.Option(
            "--fusion",
            metavar="none|regions|full|auto|tune",
            help="The graphs of a program: one a statement, as its regions say, one of all, by "
            "expected cost, or by running the best on the cycle model.",
        ),
    ],
    "order": Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="i,k,j",
            help="Loop order, outermost first; for several statements a priority, which need not "
            "name all.",
        ),
    ],
    "fills": Annotated[
        Many,
        typer.Option(
            "--fill", metavar="B=-inf", help="What an operand is where it stores nothing; or 0."
        ),
    ],
    "dims": Annotated[
        Many, typer.Option("--dim", metavar="i=1024", help="Largest size of an index variable.")
    ],
    "capacities": Annotated[
        Many,
        typer.Option(
            "--capacity",
            metavar="B=65536",
            help="Positions that the tile reserves for a tensor: of its last level, or of every "
            "level, separated by commas.",
        ),
    ],
    "rounded": Annotated[
        bool, typer.Option("--round", help="Round fractions in operands to integers.")
    ],
    "sum_duplicates": Annotated[
        bool, typer.Option("--sum-duplicates", help="Add up entries of one coordinate in a file.")
    ],
    "auto_convert": Annotated[
        bool,
        typer.Option(
            "--auto-convert",
            help="Convert tensors to other mode orders where theirs contradict the loop order.",
        ),
    ],
    "keep_explicit": Annotated[
        bool,
        typer.Option("--keep-explicit", help="Let the result store entries that equal its fill."),
    ],
    "einsum": Annotated[
        str | None,
        typer.Option(
            "--einsum", metavar="EXPR", help="What a GRAPH.gv computes: judge its results by that."
        ),
    ],
    "iteration": Annotated[
        str,
        typer.Option(
            "--iteration",
            metavar="factored|global",
            help="Whether every sum iterates its own variables alone, or one nest of loops runs "
            "around nested sums of products.",
        ),
    ],
    "densities": Annotated[
        Many,
        typer.Option(
            "--density",
            metavar="B=0.01",
            help="Stored share of an operand that is not given, for the cost model; or 0.1.",
        ),
    ],
    "without": Annotated[
        Many,
        typer.Option(
            "--without",
            metavar="PASS",
            help="Leave a pass out, to compare: locate, masks, share, drops or operators.",
        ),
    ],
    "regions": Annotated[
        Many,
        typer.Option(
            "--region",
            metavar="NAME",
            help="A part of a model, such as layers.0, that becomes one graph; without any, each "
            "of the outermost parts does.",
        ),
    ],
    "trust_pickle": Annotated[
        bool,
        typer.Option(
            "--trust-pickle",
            help="Load a .pt, which runs whatever code its author put into it.",
        ),
    ],
}
"""By the field of `Options` that they set."""


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's ``options`` parameter by the options of the command line."""

    @wraps(command)
    def wrapped(**given: Any) -> None:
        from fuseflow.options import Options

        command(options=Options(**{name: given.pop(name) for name in OPTIONS}), **given)

    parameters: list[Parameter] = []
    for own in signature(command).parameters.values():
        parameters += _options() if own.name == "options" else [own]
    # Typer reads both.
    wrapped.__dict__["__signature__"] = signature(command).replace(parameters=parameters)
    wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapped


def _options() -> list[Parameter]:
    defaults: dict[str, Any] = {"fusion": "regions", "iteration": "factored"}
    return [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=False if annotation.__origin__ is bool else defaults.get(name),
            annotation=annotation,
        )
        for name, annotation in OPTIONS.items()
    ]
