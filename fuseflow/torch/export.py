"""Exports a PyTorch model: model and example inputs in, linalg on tensors, names and data out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from fuseflow.torch import graph
from fuseflow.torch.arguments import Argument, Call, call_of, modules_of, state_of
from fuseflow.torch.errors import ExportError
from fuseflow.torch.lower import lower
from fuseflow.torch.quiet import quiet
from fuseflow.torch.trace import trace
from fuseflow.torch.untyped import dropout, norms


@dataclass(frozen=True, eq=False)
class Exported:
    """A model as one function of tensors.

    Attributes
    ----------
    module : torch_mlir.ir.Module
        Linalg on tensors; its function is ``main``. Sparse arguments have an encoding; locations
        are lines of the model.
    arguments : tuple of Argument
        In the order of the function's arguments.
    results : tuple of str
        Names of its results, in their order: ``result``; ``result.0`` and so on of a tuple; the
        keys of a dict, behind ``result.`` where an argument has that name.
    structure : TreeSpec
        How the model nests its results.
    """

    module: Any
    arguments: tuple[Argument, ...]
    results: tuple[str, ...]
    structure: pytree.TreeSpec

    def nest(self, results: list[Any]) -> Any:
        """Return results in the tuples or dicts in which the model returns them."""
        return pytree.tree_unflatten(results, self.structure)


def export(model: Any, inputs: Any, formats: Mapping[str, object] | None = None) -> Exported:
    """Export a model for the shapes and types of example inputs.

    Parameters and buffers become arguments, so that their data can change and their formats be
    named; tensors that `forward` makes are constants. The data is not read, and no dense tensor
    is made of a sparse one.

    Parameters
    ----------
    model : torch.nn.Module
        In evaluation mode, unless it means the same in both.
    inputs : torch.Tensor, tuple or mapping of str
        One tensor, the positional inputs of `forward`, or its inputs by name; with tensors inside
        tuples and mappings.
    formats : mapping of str, optional
        Names of arguments or results that will be given a format; they are only checked here.

    Raises
    ------
    ExportError
        The model or the inputs cannot be exported: what, where, and the way out.
    """
    model = _plain(model)
    with quiet():
        state = state_of(model)
        call = call_of(model, inputs, {argument.name for argument in state})
        _check_mode(model)
        exported = _export(model, state, call)
    _check_formats(formats or {}, exported)
    return exported


def _plain(model: Any) -> torch.nn.Module:
    """Return a module without what `torch.compile` puts around it, which hides its names."""
    plain: object = getattr(model, "_orig_mod", model)
    kind = type(plain).__name__
    if isinstance(plain, torch.jit.ScriptModule | torch.nn.DataParallel):
        raise ExportError(
            f"a {kind} cannot be exported: give the torch.nn.Module that it was made of"
        )
    if not isinstance(plain, torch.nn.Module):
        raise ExportError(f"a model is a torch.nn.Module, got a {kind}")
    return plain


def _export(model: torch.nn.Module, state: tuple[Argument, ...], call: Call) -> Exported:
    arguments = (*state, *call.inputs)
    traced = trace(model, state, call)
    graph.check(traced.program, arguments)
    graph.clean(traced.program.graph)
    graph.fold(traced.program)
    arguments = graph.drop_unread(traced.program, arguments)
    graph.set_places(traced.program.graph)
    module = lower(traced.program, arguments)
    taken = {argument.name for argument in arguments}
    results = tuple(f"result.{name}" if name in taken else name for name in traced.results)
    return Exported(module, arguments, results, traced.structure)


_BY_MODE = (
    dropout._DropoutNd,
    norms._NormBase,
)


def _check_mode(model: torch.nn.Module) -> None:
    for name, module in modules_of(model):
        if module.training and isinstance(module, _BY_MODE):
            raise ExportError(
                f"'{name or type(model).__name__}' ({type(module).__name__}) is in training mode: "
                "call model.eval() before the export"
            )


def _check_formats(formats: Mapping[str, object], exported: Exported) -> None:
    known = (*(argument.name for argument in exported.arguments), *exported.results)
    for name in formats:
        if name not in known:
            raise ExportError(
                f"a format is given for '{name}', which the model does not have: its tensors are "
                f"{', '.join(known)}"
            )
