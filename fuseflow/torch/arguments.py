"""The tensors that a model reads: its parameters, its buffers and the inputs of `forward`."""

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import torch
from torch.nn.parameter import is_lazy
from torch.utils import _pytree as pytree

from fuseflow.torch.errors import ExportError, gist

Kind: TypeAlias = Literal["input", "parameter", "buffer"]

LAYOUTS: Mapping[torch.layout, str] = {
    torch.strided: "strided",
    torch.sparse_coo: "COO",
    torch.sparse_csr: "CSR",
    torch.sparse_csc: "CSC",
    torch.sparse_bsr: "BSR",
}
"""Layouts that have an encoding; the others are refused."""

_DTYPES = frozenset(
    (
        torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool,
        torch.int8, torch.int16, torch.int32, torch.int64,
    )
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Argument:
    """A tensor that the exported function takes.

    Attributes
    ----------
    name : str
        The user's: ``fc1.weight``; ``x`` as `forward` calls it; ``batch.0`` and ``batch.key``
        inside a tuple and a mapping; ``forward.x`` where a parameter or buffer is called ``x``.
    kind : str
        ``input``, ``parameter`` or ``buffer``. A tensor that is a plain attribute of a module is
        a buffer.
    data : torch.Tensor
        Strided or sparse, as the user gave it.
    """

    name: str
    kind: Kind
    data: torch.Tensor

    @property
    def layout(self) -> str:
        """``strided``, ``COO``, ``CSR``, ``CSC`` or ``BSR``."""
        return LAYOUTS[self.data.layout]


@dataclass(frozen=True)
class Call:
    """The inputs of a model, with their tensors taken out.

    Attributes
    ----------
    inputs : tuple of Argument
    leaves : tuple
        What stands at every leaf of the inputs; None where a tensor was.
    structure : TreeSpec
        Of the positional inputs and those by name.
    """

    inputs: tuple[Argument, ...]
    leaves: tuple[Any, ...]
    structure: pytree.TreeSpec

    def fill(self, tensors: tuple[torch.Tensor, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional inputs and those by name, with other tensors in their places."""
        given = iter(tensors)
        leaves = [next(given) if leaf is _HOLE else leaf for leaf in self.leaves]
        return pytree.tree_unflatten(leaves, self.structure)


_HOLE = object()


def call_of(model: torch.nn.Module, inputs: Any, taken: Collection[str] = ()) -> Call:
    """Name the tensors of example inputs after the parameters of `forward`.

    Parameters
    ----------
    model : torch.nn.Module
    inputs : torch.Tensor, sequence or mapping of str
        One tensor, the positional inputs, or the inputs by name.
    taken : collection of str
        Names that inputs cannot have; one of them gets ``forward.`` before it.

    Raises
    ------
    ExportError
        They do not fit `forward`, or one is not a tensor that can be exported.
    """
    args, kwargs = _split(inputs)
    try:
        bound = inspect.signature(model.forward).bind(*args, **kwargs)
    except TypeError as error:
        raise ExportError(
            f"the example inputs do not fit {type(model).__name__}.forward: {gist(error)}"
        ) from None
    names = _names(bound, len(args))
    paths, structure = pytree.tree_flatten_with_path((args, kwargs))
    leaves: list[Any] = []
    found: list[Argument] = []
    for path, leaf in paths:
        name = ".".join((names[_key(path[0]), _key(path[1])], *map(_key, path[2:])))
        name = f"forward.{name}" if name in taken else name
        if isinstance(leaf, torch.Tensor):
            found.append(_checked(Argument(name, "input", leaf)))
            leaves.append(_HOLE)
        elif leaf is None or isinstance(leaf, bool | int | float | str):
            leaves.append(leaf)
        else:
            raise ExportError(
                f"input '{name}' is a {type(leaf).__name__}: give tensors, numbers, or tuples and "
                "mappings of them"
            )
    return Call(tuple(found), tuple(leaves), structure)


def state_of(model: torch.nn.Module) -> tuple[Argument, ...]:
    """Return the parameters, buffers and plain tensor attributes of a model, by name.

    Raises
    ------
    ExportError
        One has a layout or a type that cannot be exported.
    """
    named: list[Argument] = [
        *(Argument(name, "parameter", data) for name, data in model.named_parameters()),
        *(Argument(name, "buffer", data) for name, data in model.named_buffers()),
        *(Argument(name, "buffer", data) for _, _, name, data in plain_attributes(model)),
    ]
    return tuple(map(_checked, named))


def plain_attributes(
    model: torch.nn.Module,
) -> Iterator[tuple[torch.nn.Module, str, str, torch.Tensor]]:
    """Yield the tensors that are neither parameters nor buffers: module, attribute, name, data."""
    for prefix, module in modules_of(model):
        for attribute, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                yield module, attribute, f"{prefix}.{attribute}" if prefix else attribute, value


def modules_of(model: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    """Return a model and the modules in it, each with its name."""
    return list(cast(Any, model).named_modules())


def _split(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, torch.Tensor):
        return (inputs,), {}
    if isinstance(inputs, Mapping):
        return (), dict(cast(Mapping[str, Any], inputs))
    if isinstance(inputs, tuple | list):
        return tuple(cast(Iterable[Any], inputs)), {}
    raise ExportError(
        f"example inputs are a {type(inputs).__name__}: give a tensor, a tuple of them, or a "
        "mapping from the parameters of forward"
    )


def _names(bound: inspect.BoundArguments, positional: int) -> dict[tuple[str, str], str]:
    """Return the name of every positional input and of those by name."""
    names: dict[tuple[str, str], str] = {}
    for parameter in bound.signature.parameters.values():
        value: Any = bound.arguments.get(parameter.name)
        match parameter.kind:
            case inspect.Parameter.VAR_POSITIONAL:
                for number in range(len(value or ())):
                    names["0", str(len(names))] = f"{parameter.name}.{number}"
            case inspect.Parameter.VAR_KEYWORD:
                given = cast(Mapping[str, Any], value or {})
                names |= {("1", name): name for name in given}
            case _ if len(names) < positional:
                names["0", str(len(names))] = parameter.name
            case _:
                names["1", parameter.name] = parameter.name
    return names


def _key(entry: Any) -> str:
    """Return the index, key or attribute of a step into nested inputs."""
    found = (getattr(entry, kind, None) for kind in ("idx", "key", "name"))
    return str(next(value for value in found if value is not None))


def _checked(argument: Argument) -> Argument:
    data, what = argument.data, f"{argument.kind} '{argument.name}'"
    if is_lazy(data) or data.is_meta:
        raise ExportError(f"{what} has no data yet: initialise the model, and give real tensors")
    if data.is_nested or data.layout not in LAYOUTS:
        layout = str(data.layout).removeprefix("torch.")
        raise ExportError(
            f"{what} has layout {layout}: convert it to one of "
            f"{', '.join(LAYOUTS.values())}, e.g. with to_dense() or to_sparse_csr()"
        )
    if data.layout != torch.strided and data.dense_dim():
        raise ExportError(
            f"{what} has {data.dense_dim()} dense dimensions inside a sparse tensor: "
            "convert it with to_dense() and then to_sparse()"
        )
    if data.layout == torch.sparse_coo and data.sparse_dim() < 2:
        raise ExportError(f"{what} is a sparse vector: give it as to_dense() and name its format")
    if data.dtype not in _DTYPES:
        raise ExportError(
            f"{what} has type {str(data.dtype).removeprefix('torch.')}: convert it to one of "
            "float32, float16, bfloat16, int32, int16, int8 or bool"
        )
    return argument
