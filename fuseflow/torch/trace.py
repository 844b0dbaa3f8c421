"""A model as a graph of core operators, with every tensor that it reads as an argument."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.func import functional_call
from torch.utils import _pytree as pytree

from fuseflow.torch.arguments import Argument, Call, plain_attributes
from fuseflow.torch.decomposed import table
from fuseflow.torch.errors import ExportError, gist, place
from fuseflow.torch.scope import modules
from fuseflow.torch.sparse import DenseMeaning
from fuseflow.torch.untyped import traceback


@dataclass(frozen=True)
class Trace:
    """A traced model.

    Attributes
    ----------
    program : ExportedProgram
        One placeholder an argument, all strided.
    results : tuple of str
        Names of the results.
    structure : TreeSpec
        How the model nests them.
    """

    program: ExportedProgram
    results: tuple[str, ...]
    structure: pytree.TreeSpec


class _Outcome:
    """What is known of a model's results once it ran; `torch.export` restores what it can copy."""

    results: tuple[str, ...]
    structure: pytree.TreeSpec


class _Traced(torch.nn.Module):
    """Calls a model on tensors that stand for all that it reads.

    The model is held where `torch.export` does not find it, because that would make its
    parameters arguments a second time, and constants of the module.
    """

    def __init__(self, model: torch.nn.Module, state: tuple[Argument, ...], call: Call) -> None:
        super().__init__()
        self._held = (model, state, call)
        self.outcome = _Outcome()

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        model, state, call = self._held
        named = dict(zip([argument.name for argument in state], tensors, strict=False))
        args, kwargs = call.fill(tensors[len(state) :])
        with _attributes(model, named), modules(model), DenseMeaning():
            result = functional_call(model, named, args, kwargs)
        paths, structure = pytree.tree_flatten_with_path(result)
        self.outcome.results = tuple(_name(path, leaf) for path, leaf in paths)
        self.outcome.structure = structure
        return tuple(leaf for _, leaf in paths)


def trace(model: torch.nn.Module, state: tuple[Argument, ...], call: Call) -> Trace:
    """Trace a model without touching the data of its tensors.

    Raises
    ------
    ExportError
        PyTorch cannot trace it; the message has the reason and the line of the model.
    """
    fakes = FakeTensorMode(allow_non_fake_inputs=True)
    with fakes:
        standins = tuple(_stand_in(argument.data) for argument in (*state, *call.inputs))
    wrapped = _Traced(model, state, call)
    try:
        with torch.no_grad(), traceback.preserve_node_meta():
            traced = torch.export.export(wrapped, standins, strict=False)
            program: ExportedProgram = cast(Any, traced).run_decompositions(table())
    except ExportError as error:
        raise ExportError(f"{error}{place(error)}") from None
    except Exception as error:
        raise _refusal(model, error) from None
    outcome = wrapped.outcome
    return Trace(program, outcome.results, outcome.structure)


def _stand_in(data: torch.Tensor) -> torch.Tensor:
    return torch.empty(data.shape, dtype=data.dtype)


@contextmanager
def _attributes(model: torch.nn.Module, named: dict[str, torch.Tensor]) -> Generator[None]:
    """Put the stand-ins of plain attributes in place; afterwards all attributes are as before."""
    saved = [
        (held, dict(held))
        for module in model.modules()
        # A module with two names is put back by PyTorch with the stand-ins of the one as the other.
        for held in (vars(module), *(vars(module)[kind] for kind in ("_parameters", "_buffers")))
    ]
    for module, attribute, name, _ in list(plain_attributes(model)):
        vars(module)[attribute] = named.pop(name)
    try:
        yield
    finally:
        for held, before in saved:
            held.clear()
            held.update(before)


def _name(path: tuple[Any, ...], leaf: object) -> str:
    keys = [str(getattr(entry, "key", getattr(entry, "idx", entry))) for entry in path]
    name = ".".join(keys) if path and isinstance(path[0], pytree.MappingKey) else ""
    name = name or ".".join(("result", *keys))
    if not isinstance(leaf, torch.Tensor):
        raise ExportError(
            f"the model returns a {type(leaf).__name__} as '{name}': return tensors, or tuples and "
            "dicts of them"
        )
    return name


def _refusal(model: torch.nn.Module, error: Exception) -> ExportError:
    where = place(error)
    match type(error).__name__:
        case "GuardOnDataDependentSymNode" | "DynamicOutputShapeException":
            return ExportError(
                f"{type(model).__name__}{where}: a branch or a shape depends on data; write it "
                "with torch.where or a mask of fixed shape"
            )
        case "DataDependentOutputException":
            return ExportError(
                f"{type(model).__name__}{where}: a number is taken from a tensor (item(), bool(), "
                "if); keep it in a tensor"
            )
        case _ if "_torchdynamo" in str(error):
            return ExportError(
                f"{type(model).__name__}{where}: torch.cond and its kind are control flow: write "
                "the model as one expression of tensors"
            )
        case _:
            return ExportError(f"{type(model).__name__}{where}: {gist(cast(BaseException, error))}")
