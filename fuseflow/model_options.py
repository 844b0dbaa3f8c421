"""From the options of a command and the file of a model to a program."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fuseflow.mlir.boundary import Coordinates, Data
from fuseflow.mlir.module import TensorType
from fuseflow.model import Function, PreparedModel
from fuseflow.model_files import open_model
from fuseflow.option_values import pairs, real, share
from fuseflow.progress import progress
from fuseflow.samml.errors import LoweringError, ParseError, TensorError

if TYPE_CHECKING:
    from fuseflow.options import Options


def prepare_model(options: "Options", path: str) -> PreparedModel:
    """Open a model and read the data of its arguments.

    Raises
    ------
    MlirError, ExportError, ParseError, LoweringError, CapacityError, TensorError, ToolError
    """
    for given, option in (
        (options.fills, "--fill"),
        (options.rounded, "--round"),
        (options.einsum, "--einsum"),
    ):
        if given:
            raise ParseError(f"{option} is for statements, '{path}' is a model: leave it out")
    with progress("opening the model"):
        function = open_model(path, trust_pickle=options.trust_pickle)
    with progress("reading the data"):
        data = {
            name: _read(options, function, name, text)
            for name, text in pairs("--tensor", options.tensors)
        }
    with progress("preparing the model"):
        return function.prepare(
            data,
            formats=_formats(options, function, path),
            value=options.value,
            regions=options.regions,
            densities={
                name: share(f"--density {name}", text)
                for name, text in pairs("--density", options.densities)
            },
            order=options.order,
            dims=options.sizes_of_indices(),
            capacities=options.sizes_of_tensors(),
            auto_convert=options.auto_convert,
            keep_explicit=options.keep_explicit,
            without=options.without or (),
            iteration=options.iteration,
        )


def _formats(options: "Options", function: Function, path: str) -> dict[str, Any]:
    """Return formats by name; one without a name is that of all arguments that are sparse."""
    named = [text for text in options.formats or () if "=" in text]
    (*more, bare) = [None, *(text for text in options.formats or () if "=" not in text)]
    if len(more) > 1:
        raise ParseError(f"--format {bare}: a second format for all sparse arguments, keep one")
    found: dict[str, Any] = {}
    if bare is not None:
        found = dict.fromkeys(function.encoded, bare.strip())
        if not found:
            raise LoweringError(
                f"--format {bare}: '{path}' says of none of its arguments that it is sparse; name "
                f"one, such as --format {next(iter(function.arguments), 'NAME')}={bare}"
            )
    return {**found, **dict(pairs("--format", named))}


def _read(options: "Options", function: Function, name: str, text: str) -> Data:
    kind = function.arguments.get(name)
    if kind is None:
        known = ", ".join(function.arguments)
        raise TensorError(f"--tensor {name}={text}: the model has no such argument, only {known}")
    number = real(text) if kind.rank == 0 else None
    return _read_file(options, kind, name, text) if number is None else np.asarray(number)


def _read_file(options: "Options", kind: TensorType, name: str, path: str) -> Data:
    from fuseflow.tensor.files import read_entries

    # Such a file need not tell its shape, and then says less than the function.
    entries = read_entries(path, kind.rank, kind.shape if path.endswith(".tns") else None)
    if entries.fill:
        raise TensorError(f"argument '{name}': '{path}' has fill {entries.fill}, a model knows 0")
    entries = entries.ordered(name, range(kind.rank), sum_duplicates=options.sum_duplicates)
    if kind.rank == 0:
        return np.asarray(entries.values.sum())
    return Coordinates(entries.coords, entries.values, entries.shape)
