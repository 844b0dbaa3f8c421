"""Reads a module of linalg on tensors: every operation as a constant, an Einsum or a view."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fuseflow.mlir.bindings import functions, parse
from fuseflow.mlir.body import Body
from fuseflow.mlir.draft import Blank, Draft, Known, Meaning, type_of
from fuseflow.mlir.elements import dtype_of
from fuseflow.mlir.errors import MlirError, refused
from fuseflow.mlir.generic import Generic, softmax, store
from fuseflow.mlir.lowest import hide_scores
from fuseflow.mlir.module import Module
from fuseflow.mlir.scalars import CASTS, NUMPY
from fuseflow.mlir.syntax import AffineMap, Block, Dim, Function, Operation, Value
from fuseflow.mlir.tidy import tidied
from fuseflow.mlir.views import View, meaning, named

VIEWS: dict[str, Callable[[View], Meaning]] = {
    "tensor.expand_shape": View.reshape,
    "tensor.collapse_shape": View.reshape,
    "tensor.extract_slice": View.slice,
    "tensor.insert_slice": View.insert,
    "tensor.concat": View.concat,
    "tensor.pad": View.pad,
    "tensor.cast": View.stored,
    "sparse_tensor.convert": View.stored,
}

CONTROL = ("scf", "cf", "affine")
ORDERED = {
    "tm_tensor.sort": "sort or argsort", "tm_tensor.topk": "topk", "tm_tensor.scan": "cumsum",
    "tm_tensor.scatter": "scatter or index_put",
}  # fmt: skip
"""What torch-mlir makes of operations that are no Einsums, with their names there."""


def read_mlir(path: Path, function: str | None = None) -> Module:
    """Read a file of linalg on tensors.

    Parameters
    ----------
    path : Path
        Ends in ``.mlir`` by custom.
    function : str, optional
        Which public function; the only one, by default.

    Raises
    ------
    MlirError
        It cannot be read or does not parse, an operation has no meaning here, or torch-mlir is
        missing. The message begins with the file, line and column.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MlirError(f"cannot read {path}: {error}") from None
    return read_text(text, str(path), function)


def read_text(text: str, file: str = "", function: str | None = None) -> Module:
    """Read the text of a module.

    Parameters
    ----------
    text : str
    file : str
        What places in it are said to be in.
    function : str, optional
        See `read_mlir`.

    Raises
    ------
    MlirError
        See `read_mlir`.
    """
    return _read(parse(text, file), file, function)


def read_module(module: Any, function: str | None = None) -> Module:
    """Read a ``torch_mlir.ir.Module``, such as an export of a PyTorch model; it is not changed.

    Parameters
    ----------
    module : torch_mlir.ir.Module
    function : str, optional
        See `read_mlir`.

    Raises
    ------
    MlirError
        See `read_mlir`.
    """
    return _read(functions(module), "", function)


def _read(found: list[Function], file: str, wanted: str | None) -> Module:
    where = file or "the module"
    names = ", ".join(function.name for function in found)
    if wanted is not None:
        found = [function for function in found if function.name == wanted]
        if not found:
            raise MlirError(f"{where} has no public function '{wanted}': it has {names or 'none'}")
    if not found:
        raise MlirError(f"{where} has no public function: add a func.func")
    if len(found) > 1:
        raise MlirError(f"{where} has several public functions: name one of {names}")
    return _Reader(found[0]).module()


class _Reader:
    """Reads a function, operation by operation."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.draft = Draft()
        if len(function.blocks) != 1:
            raise refused(
                function.location, "a function of several blocks: control flow has no meaning"
            )
        self.block = function.blocks[0]
        self.used = set(_used(self.block))

    def module(self) -> Module:
        """Return what the function is."""
        for argument in self.block.arguments:
            self.draft.argument(argument, self.function.location)
        *body, last = self.block.operations
        for operation in body:
            self._operation(operation)
        if not last.operands:
            raise refused(last.location, "the function returns no tensor")
        results = tuple(self._output(value, last) for value in last.operands)
        hide_scores(self.draft, results)
        return tidied(self.draft, self.function.name, results)

    def _output(self, value: Value, last: Operation) -> str:
        kind = type_of(value, last.location)
        return named(self.draft, meaning(self.draft, value, last.location), kind, last.location)

    def _operation(self, operation: Operation) -> None:
        name = operation.name
        if name == "linalg.generic":
            Generic(self.draft, operation).read(self.used)
        elif any(result in self.used for result in operation.results):
            self.draft.values[operation.results[0]] = self._meaning(operation)
        elif operation.name.partition(".")[0] in CONTROL and name != "cf.assert":
            raise refused(
                operation.location, f"'{name}' is control flow, which has no meaning here"
            )

    def _meaning(self, operation: Operation) -> Meaning:
        name, place = operation.name, operation.location
        kind = type_of(operation.results[0], place)
        if name == "arith.constant":
            array = operation.attributes["value"]
            if isinstance(array, str):
                raise refused(place, f"the constant '{array}' is no dense array")
            return Known(np.asarray(array, dtype_of(kind.element)), kind.element)
        if name == "tensor.empty":
            return Blank()
        if name == "linalg.softmax":
            return softmax(self.draft, operation)
        if name in VIEWS:
            return VIEWS[name](View(self.draft, operation))
        if name in ("tensor.splat", "tensor.from_elements"):
            return self._elements(operation)
        if name in NUMPY or name in CASTS or name in ("arith.cmpf", "arith.cmpi", "tensor.extract"):
            return self._elementwise(operation)
        if name.partition(".")[0] in CONTROL:
            raise refused(place, f"'{name}' is control flow, which has no meaning here")
        if name in ORDERED:
            raise refused(
                place, f"'{name}' ({ORDERED[name]} in PyTorch) has no meaning here: data decides "
                "what is read, or how; compute it outside of the model",
            )  # fmt: skip
        raise refused(place, f"'{name}' has no meaning here: use linalg on tensors")

    def _elements(self, operation: Operation) -> Meaning:
        kind = type_of(operation.results[0], operation.location)
        parts = [meaning(self.draft, part, operation.location) for part in operation.operands]
        arrays = [part.array for part in parts if isinstance(part, Known)]
        if len(arrays) < len(parts):
            raise refused(operation.location, f"'{operation.name}' of what is no constant")
        if operation.name == "tensor.splat":
            return Known(np.broadcast_to(arrays[0], kind.shape), kind.element)
        return Known(np.array(arrays).reshape(kind.shape), kind.element)

    def _elementwise(self, operation: Operation) -> Meaning:
        """Read an operation on numbers that is applied to whole tensors, or to scalars."""
        kind = type_of(operation.results[0], operation.location)
        loops = tuple(map(self.draft.index, kind.shape))
        every = tuple(map(Dim, range(kind.rank)))
        operands: dict[Value, tuple[Value, AffineMap]] = {
            value: (value, every if type_of(value, operation.location).rank else ())
            for value in operation.operands
        }
        if operation.name == "tensor.extract":
            operands = {value: (value, ()) for value in operation.operands[1:]}
        defined = {operation.results[0]: operation}
        body = Body(self.draft, loops, defined, operands, operation.location)
        meant = body.meaning(operation.results[0])
        return store(self.draft, meant, loops, kind, loops, operation.location)


def _used(block: Block) -> list[Value]:
    """Return every value that an operation reads, those inside of operations included."""
    return [
        value
        for operation in block.operations
        for value in (*operation.operands, *(v for inner in operation.blocks for v in _used(inner)))
    ]
