"""Model files: ``.pt2`` of `torch.export.save`, and pickled modules where they are trusted.

PyTorch loads a ``.pt2`` with parts of pickle, evaluates expressions in it and resolves the names of
operators in Python's modules. Here only tensors are unpickled, and what would be evaluated is
refused before.
"""

import inspect
import json
import os
import re
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from fuseflow.torch.errors import ExportError, gist
from fuseflow.torch.quiet import quiet
from fuseflow.torch.scope import with_saved_scopes

_OPERATOR = re.compile(r"torch\.ops\.(aten|prims|prim)\.\w+(\.\w+)?|_operator\.\w+")
_WEIGHTS_ONLY = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"


@dataclass(frozen=True, eq=False)
class Saved:
    """A model from a file.

    Attributes
    ----------
    model : torch.nn.Module
        Parameters have the names that they had when it was saved.
    inputs : tuple or mapping of str, or None
        The example inputs, as `export` takes them; None where the file has none.
    """

    model: torch.nn.Module
    inputs: Any


def load_model(path: str | os.PathLike[str], trust_pickle: bool = False) -> Saved:
    """Load a model.

    Parameters
    ----------
    path : path
        ``.pt2``, which `torch.export.save` writes; it holds no code. ``.pt`` or ``.pth`` is a
        pickled module.
    trust_pickle : bool
        Whether to load a pickle, which runs the code that is in it.

    Raises
    ------
    ExportError
        The file is missing, damaged or foreign, was exported with dynamic shapes, or is a pickle
        that is not trusted.
    """
    path = Path(path)
    if not path.is_file():
        raise ExportError(f"cannot read '{path}': there is no such file")
    match path.suffix.lower():
        case ".pt2":
            return _load_program(path)
        case ".pt" | ".pth" if trust_pickle:
            return Saved(_load_pickle(path), None)
        case ".pt" | ".pth":
            raise ExportError(
                f"'{path}' is a pickle, and loading one runs the code that is in it: save the "
                "model with torch.export.save as .pt2, or say that you trust the file "
                "(trust_pickle=True, --trust-pickle)"
            )
        case suffix:
            raise ExportError(f"'{path}': unknown suffix '{suffix}', use one of .pt2, .pt, .pth")


def _load_program(path: Path) -> Saved:
    _check_program(path)
    try:
        with quiet(), _tensors_only():
            program = torch.export.load(path)
            model = program.module(check_guards=False)
            model.forward = with_saved_scopes(model)
    except Exception as error:
        raise _damaged(path, gist(error)) from None
    return Saved(model, _inputs(model, program.example_inputs))


def _load_pickle(path: Path) -> torch.nn.Module:
    try:
        with quiet():
            loaded: object = torch.load(path, map_location="cpu", weights_only=False)
    except Exception as error:
        raise ExportError(
            f"cannot read '{path}': {gist(error)}; it is not a pickled module, or its class cannot "
            "be imported"
        ) from None
    if not isinstance(loaded, torch.nn.Module):
        raise ExportError(
            f"'{path}' holds a {type(loaded).__name__} and no module: make the model, and load "
            "weights into it with load_state_dict"
        )
    return loaded


def _check_program(path: Path) -> None:
    """Refuse an archive that is no program, or one with something to evaluate."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith("/models/model.json")]
            if len(names) != 1:
                raise ExportError(
                    f"cannot read '{path}': it is no model of torch.export.save, or of a version "
                    "before 2.8: save it anew"
                )
            program = json.loads(archive.read(names[0]))
    except (zipfile.BadZipFile, OSError, ValueError, RecursionError) as error:
        raise _damaged(path, gist(error)) from None
    for key, value in _pairs(program):
        if key == "expr_str":
            raise ExportError(
                f"'{path}' was exported with dynamic shapes: export it without dynamic_shapes, and "
                "without shapes or numbers that data decides (nonzero, item)"
            )
        if key == "target" and isinstance(value, str) and not _OPERATOR.fullmatch(value):
            raise ExportError(f"'{path}' calls '{value}', which is no operator of PyTorch's core")


def _pairs(value: object) -> Iterator[tuple[str, object]]:
    """Yield every key and value in nested JSON."""
    if isinstance(value, dict):
        for key, inner in cast(dict[str, object], value).items():
            yield key, inner
            yield from _pairs(inner)
    elif isinstance(value, list):
        for inner in cast(list[object], value):
            yield from _pairs(inner)


@contextmanager
def _tensors_only() -> Generator[None]:
    """Let PyTorch unpickle tensors alone, where it would fall back to anything."""
    before = os.environ.get(_WEIGHTS_ONLY)
    os.environ[_WEIGHTS_ONLY] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_WEIGHTS_ONLY]
        else:
            os.environ[_WEIGHTS_ONLY] = before


def _inputs(model: torch.nn.Module, examples: Any) -> Any:
    if not examples:
        return None
    args, kwargs = examples
    if not kwargs:
        return tuple(args)
    _take_names(model, len(args), tuple(kwargs))
    return dict(inspect.signature(model.forward).bind(*args, **kwargs).arguments)


def _take_names(model: torch.nn.Module, positional: int, named: tuple[str, ...]) -> None:
    """Let any input be given by name: a program insists on how its example inputs were given."""
    forward = model.forward
    signature = inspect.signature(forward)
    first = list(signature.parameters)[:positional]
    hooks = cast(Any, model)
    hooks._forward_pre_hooks.clear()
    hooks._forward_pre_hooks_with_kwargs.clear()

    def by_name(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        return forward(*(given[name] for name in first), **{name: given[name] for name in named})

    cast(Any, by_name).__signature__ = signature
    model.forward = by_name


def _damaged(path: Path, problem: str) -> ExportError:
    return ExportError(f"cannot read '{path}': it is damaged or no model, save it anew ({problem})")
