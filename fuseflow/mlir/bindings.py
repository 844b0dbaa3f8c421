"""The one file that imports MLIR's Python bindings: modules become plain operations.

They come with torch-mlir. Named operations of linalg are first rewritten to ``linalg.generic`` by
MLIR's own pass, which keeps the locations and removes what nobody reads.
"""

# The bindings have no types worth the name: what leaves this file has.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingModuleSource=false

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from fuseflow.mlir.elements import dtype_of, is_element
from fuseflow.mlir.encodings import encoding
from fuseflow.mlir.errors import MlirError, refused
from fuseflow.mlir.literals import array_of_bytes, array_of_text, resources_of
from fuseflow.mlir.module import Array, Encoding, Location, TensorType
from fuseflow.mlir.syntax import (
    Affine,
    Arithmetic,
    Block,
    Dim,
    Fixed,
    Function,
    Operation,
    OtherType,
    Value,
)
from fuseflow.samml.errors import ParseError

_PLACE = re.compile(r'loc\("([^"]*)":(\d+):(\d+)')

PIPELINE = "builtin.module(func.func(linalg-generalize-named-ops))"


@dataclass(frozen=True)
class _Bindings:
    """The modules of the bindings."""

    ir: Any
    passes: Any
    sparse_tensor: Any
    torch: Any


def _bindings() -> _Bindings:
    """Import the bindings, which only reading MLIR needs."""
    names = ("ir", "passmanager", "dialects.sparse_tensor", "dialects.torch")
    try:
        return _Bindings(*(import_module(f"torch_mlir.{name}") for name in names))
    except ImportError:
        raise MlirError("reading MLIR needs torch-mlir: pip install 'fuseflow[torch]'") from None


def parse(text: str, file: str = "") -> list[Function]:
    """Parse a module and return its public functions.

    Parameters
    ----------
    text : str
    file : str
        What places in the text are said to be in.

    Raises
    ------
    MlirError
        It does not parse, with the line and column of the first diagnostic; or torch-mlir is
        missing.
    """
    bindings = _bindings()
    _check_text(text, file)
    with bindings.ir.Context() as context:
        bindings.torch.register_dialect(context)
        try:
            module = bindings.ir.Module.parse(text)
        except bindings.ir.MLIRError as error:
            raise _refusal(error, file) from None
        return functions(module, file)


_CRASHES = (
    (
        re.compile(
            r"\)\s*(permutation|dimensions)\s*="
            r"(?!\s*(\[\s*(-?\d+\s*(,\s*-?\d+\s*)*)?\]|array<|\Z))"
        ),
        "is no list of integers",
    ),
    (re.compile(r"(sparse_tensor\.encoding)\s*<\s*\{(?![^}]*\bmap\s*=)"), "has no map"),
)
"""What MLIR's own parser ends the process at, instead of saying what is wrong."""


def _check_text(text: str, file: str) -> None:
    for pattern, problem in _CRASHES:
        found = pattern.search(text)
        if found:
            before = text[: found.start(1)]
            place = Location(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
            raise refused(place, f"'{found[1]}' {problem}")


def functions(module: Any, file: str = "") -> list[Function]:
    """Return the public functions of a ``torch_mlir.ir.Module``, which stays as it is.

    Parameters
    ----------
    module : torch_mlir.ir.Module
    file : str
        The file of places that name none.

    Raises
    ------
    MlirError
        MLIR cannot generalize it.
    """
    bindings = _bindings()
    with module.context:
        try:
            copy = module.operation.clone()
            bindings.passes.PassManager.parse(PIPELINE).run(copy)
        except bindings.ir.MLIRError as error:
            raise _refusal(error, file) from None
        convert = _Convert(copy, file)
        return [
            convert.function(operation)
            for view in copy.regions[0].blocks[0].operations
            if _is_public(operation := view.operation)
        ]


def _refusal(error: Any, file: str) -> MlirError:
    first = error.error_diagnostics[0]
    # Where MLIR would print an operation, it prints all of its body.
    message = " ".join(str(first.message).partition("\n")[0].split())[:_LONGEST]
    return refused(_location(first.location, file), message)


_LONGEST = 300

SCOPE = "scope:"
"""What the file of a place begins with that is no place but a part of the model."""


def _location(location: Any, file: str) -> Location:
    """Return the place in the user's file: of a call site, where the call stands."""
    scope = ""
    while True:
        match type(location).__name__:
            case "CallSiteLoc":
                scope = scope or _location(location.callee, file).scope
                location = location.caller
            case "NameLoc":
                scope = scope or str(location.name_str)
                location = location.child_loc
            case "FusedLoc" if location.locations:
                location = location.locations[0]
            case "FileLineColLoc":
                name = str(location.filename)
                if name.startswith(SCOPE):
                    return Location(file, scope=name.removeprefix(SCOPE))
                at = location.start_line, location.start_col
                return Location(file if name == "-" else name, *at, scope)
            case _:
                # Diagnostics have places of no class.
                found = _PLACE.match(str(location))
                if found is None:
                    return Location(file, scope=scope)
                name, line, column = found.groups()
                return Location(file if name == "-" else name, int(line), int(column))


def _is_public(operation: Any) -> bool:
    if operation.name != "func.func" or not operation.regions[0].blocks:
        return False
    attributes = operation.attributes
    return "sym_visibility" not in attributes or attributes["sym_visibility"].value == "public"


class _Convert:
    """Turns operations into plain data; values are told apart by their identity in MLIR."""

    def __init__(self, module: Any, file: str) -> None:
        self._sparse = _bindings().sparse_tensor
        self._module = module
        self._file = file
        self._values: dict[Any, Value] = {}
        self._resources: dict[str, bytes] | None = None

    def function(self, operation: Any) -> Function:
        """Return a function."""
        place = _location(operation.location, self._file)
        name = str(operation.attributes["sym_name"].value)
        return Function(name, tuple(map(self._block, operation.regions[0].blocks)), place)

    def _block(self, block: Any) -> Block:
        arguments = tuple(self._new(argument) for argument in block.arguments)
        return Block(arguments, tuple(self._operation(view.operation) for view in block.operations))

    def _new(self, value: Any) -> Value:
        made = self._values[value] = Value(self._type(value.type))
        return made

    def _operation(self, operation: Any) -> Operation:
        place = _location(operation.location, self._file)
        names = [name if isinstance(name, str) else name.name for name in operation.attributes]
        return Operation(
            str(operation.name),
            tuple(self._values.get(value) or self._new(value) for value in operation.operands),
            tuple(self._new(value) for value in operation.results),
            {name: self._attribute(operation.attributes[name], place) for name in names},
            tuple(self._block(block) for region in operation.regions for block in region.blocks),
            place,
        )

    def _type(self, kind: Any) -> TensorType | OtherType:
        text = str(kind)
        match type(kind).__name__:
            case "RankedTensorType":
                return self._tensor_type(kind, text)
            case "UnrankedTensorType":
                return OtherType(text, "its rank is not known: export the model with shapes")
            case "MemRefType" | "UnrankedMemRefType":
                return OtherType(text, "it is a buffer: keep the module on tensors")
            case _ if is_element(text):
                return TensorType((), text)
            case _ if text.startswith("!torch."):
                return OtherType(text, "export with output_type='linalg-on-tensors'")
            case _:
                return OtherType(text, "there are no such values: use tensors of numbers")

    def _tensor_type(self, kind: Any, text: str) -> TensorType | OtherType:
        if not kind.has_static_shape:
            return OtherType(text, "the size of a mode is not known: export with fixed shapes")
        element = str(kind.element_type)
        if not is_element(element):
            return OtherType(text, f"elements of type {element} have no value type here")
        shape = tuple(map(int, kind.shape))
        if kind.encoding is None:
            return TensorType(shape, element)
        try:
            return TensorType(shape, element, self._encoding(kind.encoding, shape))
        except ParseError as error:
            return OtherType(text, str(error))

    def _encoding(self, attribute: Any, shape: tuple[int, ...]) -> Encoding:
        if not str(attribute).startswith("#sparse_tensor.encoding"):
            raise ParseError(f"the encoding {attribute} is not one of sparse_tensor")
        sparse = self._sparse.EncodingAttr(attribute)
        levels = sparse.dim_to_lvl
        if levels is None:
            affine = tuple(map(Dim, range(len(shape))))
        else:
            affine = tuple(map(self._affine, levels.results))
        return encoding(affine, list(map(int, sparse.lvl_types)), shape)

    def _affine(self, expr: Any) -> Affine:
        match type(expr).__name__:
            case "AffineDimExpr":
                return Dim(int(expr.position))
            case "AffineConstantExpr":
                return Fixed(int(expr.value))
            case "AffineAddExpr":
                op = "+"
            case "AffineMulExpr":
                op = "*"
            case "AffineModExpr":
                op = "mod"
            case "AffineFloorDivExpr":
                op = "floordiv"
            case "AffineCeilDivExpr":
                op = "ceildiv"
            case _:
                raise MlirError(f"{self._file}: the affine expression '{expr}' has a symbol")
        return Arithmetic(op, self._affine(expr.lhs), self._affine(expr.rhs))

    def _attribute(self, attribute: Any, place: Location) -> Any:
        kind = type(attribute).__name__
        match kind:
            case "BoolAttr" | "IntegerAttr" | "FloatAttr" | "StringAttr" | "FlatSymbolRefAttr":
                return attribute.value
            case "AffineMapAttr":
                return tuple(map(self._affine, attribute.value.results))
            case "ArrayAttr":
                return [self._attribute(part, place) for part in attribute]
            case "DenseI64ArrayAttr" | "DenseI32ArrayAttr" | "DenseBoolArrayAttr":
                return list(attribute)
            case "DenseFPElementsAttr" | "DenseIntElementsAttr":
                return self._dense(attribute)
            case _ if str(attribute).startswith("dense_resource<"):
                return self._resource(attribute, place)
            case _:
                return str(attribute)

    def _dense(self, attribute: Any) -> Array:
        shape = tuple(map(int, attribute.type.shape))
        element = str(attribute.type.element_type)
        if attribute.is_splat:
            scalar = np.array(attribute.get_splat_value().value, dtype_of(element))
            return np.broadcast_to(scalar, shape)
        try:
            return np.array(attribute).astype(dtype_of(element), copy=False)
        except TypeError:
            # The buffer protocol knows no bfloat16.
            return array_of_text(str(attribute), shape, element)

    def _resource(self, attribute: Any, place: Location) -> Array:
        if self._resources is None:
            self._resources = resources_of(str(self._module.get_asm(enable_debug_info=False)))
        name = str(attribute).removeprefix("dense_resource<").partition(">")[0]
        if name not in self._resources:
            raise refused(place, f"the module has no data for dense_resource<{name}>")
        shape = tuple(map(int, attribute.type.shape))
        element = str(attribute.type.element_type)
        try:
            return array_of_bytes(self._resources[name], shape, element)
        except ParseError as error:
            raise refused(place, f"dense_resource<{name}>: {error}") from None
