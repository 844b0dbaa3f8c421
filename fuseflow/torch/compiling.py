"""From a PyTorch model to a program: `fuseflow.torch.compile`."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from fuseflow.mlir.boundary import Coordinates, Data
from fuseflow.mlir.read import read_module
from fuseflow.model import Function, Model
from fuseflow.samml.formats import Format
from fuseflow.samml.values import ValueType
from fuseflow.torch.export import Exported, export
from fuseflow.torch.untyped import torch_functions


def compile(
    model: torch.nn.Module,
    inputs: Any,
    *,
    formats: Mapping[str, Format | str] | None = None,
    fusion: str = "regions",
    value: ValueType | str | None = None,
    regions: Sequence[str] | None = None,
    **options: Any,
) -> Model:
    """Compile a PyTorch model.

    Parameters
    ----------
    model : torch.nn.Module
        In evaluation mode.
    inputs : torch.Tensor, tuple or mapping of str
        Example inputs, which the shapes, sparse layouts and first run are taken from: one tensor,
        the positional inputs of `forward`, or its inputs by name.
    formats : mapping of str to Format or str, optional
        How parameters, buffers, inputs and results are stored, by their names in the model. Sparse
        tensors have the format of their layout by default, others are dense.
    fusion : str
        ``none``, ``regions``, ``full``, ``auto`` or ``tune``; see `fuseflow.compile`.
    value : ValueType or str, optional
        The value type; that of the model's tensors by default (`fuseflow.model.Function.value`).
    regions : sequence of str, optional
        Modules, and regions that the model marks, which become one graph each: paths such as
        ``layers.0``. The outermost ones by default.
    **options
        See `fuseflow.prepare`.

    Returns
    -------
    Model
        It is called with arrays or tensors in the place of the example inputs.

    Raises
    ------
    ExportError
        The model cannot be exported.
    MlirError
        It does what no Einsum does.
    LoweringError, CapacityError, TensorError
        It cannot be compiled in this way.
    """
    exported = export(model, inputs, formats)
    prepared = function_of(exported).prepare(
        formats=formats, value=value, regions=regions, **options
    )
    return prepared.compile(fusion)


def function_of(exported: Exported) -> Function:
    """Return an exported model as a function to compile, with the data of its arguments.

    Raises
    ------
    MlirError
    """
    module = read_module(exported.module)
    arguments = dict(zip(module.arguments, exported.arguments, strict=True))
    names = {name: argument.name for name, argument in arguments.items()}
    results = dict(zip(module.results, exported.results, strict=False))
    return Function(
        module,
        {**results, **names},
        {argument.name: data_of(argument.data) for argument in exported.arguments},
        tuple(each.name for each in exported.arguments if each.kind == "input"),
        exported.results,
    )


def data_of(tensor: torch.Tensor) -> Data:
    """Return what a tensor holds; a sparse one is not made dense."""
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.to(torch.float32)
    if tensor.layout == torch.strided:
        return tensor.numpy()
    stored = tensor.to_sparse_coo().coalesce()
    return Coordinates(stored.indices().T.numpy(), stored.values().numpy(), tuple(tensor.shape))


def example_inputs(model: torch.nn.Module, data: Mapping[str, Data]) -> dict[str, torch.Tensor]:
    """Return data as inputs of a model; what has coordinates becomes a sparse tensor.

    Floating-point numbers take the type of the model's first floating-point parameter.
    """
    kinds = (each.dtype for each in model.parameters() if each.dtype.is_floating_point)
    kind = next(kinds, torch.get_default_dtype())
    return {name: _tensor(each, kind) for name, each in data.items()}


def _tensor(data: Data, kind: torch.dtype) -> torch.Tensor:
    if isinstance(data, Coordinates):
        values = torch.as_tensor(data.values).to(kind)
        rows = torch.as_tensor(data.rows.T)
        made = torch_functions.sparse_coo_tensor(rows, values, data.shape, check_invariants=True)
        return made.coalesce()
    tensor = torch.as_tensor(data)
    return tensor.to(kind) if tensor.is_floating_point() else tensor
