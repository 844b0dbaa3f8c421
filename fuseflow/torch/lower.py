"""From a traced graph to linalg on tensors."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from fuseflow.mlir.bindings import SCOPE
from fuseflow.torch.arguments import Argument
from fuseflow.torch.errors import ExportError, gist
from fuseflow.torch.graph import encoding, source
from fuseflow.torch.untyped import PassManager, fx, ir, tensor_dialect

_PIPELINES = (
    "builtin.module(func.func(torch-match-quantized-custom-ops),"
    "torchdynamo-export-to-torch-backend-pipeline{extra-library=})",
    "builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true})",
)
"""What `torch_mlir.fx` runs; run here, so that an error is raised and not printed with a dump."""

_TARGET = re.compile(r"torch\.((?:aten|prims)\.[\w.]+)")
_FILE = re.compile(r'"([^"]+)":([0-9]+):')


def lower(program: ExportedProgram, arguments: Sequence[Argument]) -> Any:
    """Lower a graph of core operators to a module with the function ``main``.

    Parameters
    ----------
    program : ExportedProgram
    arguments : sequence of Argument
        Their layouts are encodings in the function's type.

    Raises
    ------
    ExportError
        torch-mlir refuses an operator; the message names it and its line in the model.
    """
    # Patterns of torch-mlir break on encodings, or hand them on to what has another rank: they see
    # dense tensors.
    module = _lower(program)
    _encode(
        module,
        {
            number: encoding(argument)
            for number, argument in enumerate(arguments)
            if argument.data.layout != torch.strided
        },
    )
    return module


def _lower(program: ExportedProgram) -> Any:
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    try:
        module = fx.export_and_import(program, output_type="raw", decomposition_table={})
    except Exception as error:
        raise ExportError(f"torch-mlir cannot import the model: {gist(error)}") from None
    _check_operators(module)
    for pipeline in _PIPELINES:
        with module.context:
            try:
                PassManager.parse(pipeline).run(module.operation)
            except ir.MLIRError as error:
                raise _refusal(error, nodes) from None
    return module


def _encode(module: Any, encodings: Mapping[int, str]) -> None:
    """Give arguments their encodings; a cast takes them away where a dense tensor is wanted."""
    function = module.body.operations[0]
    block = function.regions[0].blocks[0]
    with module.context, function.location:
        for number, text in encodings.items():
            argument = block.arguments[number]
            dense = ir.RankedTensorType(argument.type)
            stored = ir.Attribute.parse(text)
            argument.set_type(ir.RankedTensorType.get(dense.shape, dense.element_type, stored))
            with ir.InsertionPoint.at_block_begin(block):
                cast = tensor_dialect.CastOp(dense, argument)
            argument.replace_all_uses_except(cast.result, cast.operation)
        types = [argument.type for argument in block.arguments]
        results = ir.FunctionType(function.type).results
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, results))
    module.operation.verify()


def _check_operators(module: Any) -> None:
    """Refuse an operator that torch-mlir does not know: it has the form ``torch.operator``."""
    for function in module.body.operations:
        for operation in function.regions[0].blocks[0].operations:
            if operation.operation.name == "torch.operator":
                name = ir.StringAttr(operation.attributes["name"]).value.removeprefix("torch.")
                raise ExportError(
                    f"{name}{_at(operation.location)} has no linalg form: write it with other "
                    "operators"
                )


def _refusal(error: Any, nodes: Sequence[Node]) -> ExportError:
    diagnostic = error.error_diagnostics[0]
    where = _at(diagnostic.location)
    named = _TARGET.search(diagnostic.message)
    there = [named[1]] if named else [str(node.target) for node in nodes if source(node) == where]
    what = " or ".join(dict.fromkeys(there)) or "an operator"
    return ExportError(
        f"torch-mlir cannot lower {what}{where} ({_brief(diagnostic.message)}): write it with "
        "other operators"
    )


def _brief(message: str) -> str:
    return message.splitlines()[0].partition(": %")[0]


def _at(location: Any) -> str:
    files: list[tuple[str, str]] = _FILE.findall(str(location))
    lines = (f" at {file}:{line}" for file, line in files if not file.startswith(SCOPE))
    return next(lines, "")
