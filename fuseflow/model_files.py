"""Files of models: ``.mlir``, linalg on tensors, and what PyTorch wrote."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuseflow.mlir.read import read_mlir
from fuseflow.model import Function
from fuseflow.samml.errors import ParseError
from fuseflow.sources import MODEL_SUFFIXES

if TYPE_CHECKING:
    from fuseflow.mlir.boundary import Data


def open_model(
    path: str | Path,
    inputs: "Mapping[str, Data] | None" = None,
    *,
    trust_pickle: bool = False,
) -> Function:
    """Open the file of a model, to be prepared and compiled.

    Parameters
    ----------
    path : path
        ``.mlir``: a module of linalg on tensors with one public function, whose arguments are
        called ``arg0``, ``arg1``, ... ``.pt2``: what `torch.export.save` wrote, with weights and
        example inputs. ``.pt``, ``.pth``: a pickled `torch.nn.Module`.
    inputs : mapping of str to array or Coordinates, optional
        Example inputs of `forward`, in the place of those in the file; a ``.pt`` has none.
    trust_pickle : bool
        Load a ``.pt``, which runs whatever code its author put into it.

    Raises
    ------
    MlirError, ExportError
        The file cannot be read, or does what no Einsum does.
    ParseError
        The suffix is another one, or there are no example inputs.
    ToolError
        PyTorch or torch-mlir is missing.
    """
    path = Path(path)
    if path.suffix not in MODEL_SUFFIXES:
        raise ParseError(f"'{path}' is no model: its name must end in {', '.join(MODEL_SUFFIXES)}")
    if path.suffix == ".mlir":
        if inputs is not None:
            raise ParseError(f"'{path}' tells its shapes: give the data when it is prepared")
        return Function(read_mlir(path))
    from fuseflow.torch import example_inputs, export, function_of, load_model

    saved = load_model(path, trust_pickle=trust_pickle)
    given: Any = saved.inputs if inputs is None else example_inputs(saved.model, inputs)
    if given is None:
        raise ParseError(
            f"'{path}' has no example inputs, which tell the shapes: give them "
            "(--tensor NAME=FILE by the parameters of its forward, or inputs=...)"
        )
    return function_of(export(saved.model, given))
