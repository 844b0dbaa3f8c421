"""From the options of a command and the file of a model to a program."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fuseflow.mlir.boundary import Coordinates, Data
from fuseflow.model import Function, PreparedModel
from fuseflow.model_files import open_model
from fuseflow.option_values import pairs, real, share
from fuseflow.progress import progress
from fuseflow.samml.errors import LoweringError, ParseError, TensorError
from fuseflow.tensor.entries import Entries
from fuseflow.tensor.files import read_entries

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
    files = pairs("--tensor", options.tensors)
    inputs = data = None
    if path.endswith((".pt", ".pth")) and options.trust_pickle and files:
        inputs = {name: _read_input(options, name, text) for name, text in files}
    with progress("opening the model"):
        function = open_model(path, inputs, trust_pickle=options.trust_pickle)
    if inputs is None:
        with progress("reading the data"):
            data = {name: _read(options, function, name, text) for name, text in files}
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
                f"one, such as --format {next(iter(function.inputs), 'NAME')}={bare}"
            )
    return {**found, **dict(pairs("--format", named))}


def _read_input(options: "Options", name: str, text: str) -> Data:
    """Read an example input, whose file alone tells its shape; compressed ones are sparse."""
    number = real(text)
    if number is not None:
        return np.asarray(number)
    entries = _entries(options, name, text, read_entries(text, None))
    if len(entries.values) < math.prod(entries.shape):
        return Coordinates(entries.coords, entries.values, entries.shape)
    return entries.values.reshape(entries.shape)


def _read(options: "Options", function: Function, name: str, text: str) -> Data:
    kind = function.arguments.get(name)
    if kind is None:
        known = ", ".join(function.arguments)
        raise TensorError(f"--tensor {name}={text}: the model has no such argument, only {known}")
    number = real(text) if kind.rank == 0 else None
    if number is not None:
        return np.asarray(number)
    # A .tns file need not tell its shape, and then says less than the function.
    shape = kind.shape if text.endswith(".tns") else None
    entries = _entries(options, name, text, read_entries(text, kind.rank, shape))
    if kind.rank == 0:
        return np.asarray(entries.values.sum())
    return Coordinates(entries.coords, entries.values, entries.shape)


def _entries(options: "Options", name: str, path: str, entries: Entries) -> Entries:
    if entries.fill:
        raise TensorError(f"argument '{name}': '{path}' has fill {entries.fill}, a model knows 0")
    order = range(len(entries.shape))
    return entries.ordered(name, order, sum_duplicates=options.sum_duplicates)
