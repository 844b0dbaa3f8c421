"""Files of models: ``.mlir``, linalg on tensors; ``.pt2`` and ``.pt``, which PyTorch wrote."""

from pathlib import Path

from fuseflow.mlir.read import read_mlir
from fuseflow.model import Function
from fuseflow.samml.errors import ParseError
from fuseflow.sources import MODEL_SUFFIXES


def open_model(path: str | Path, *, trust_pickle: bool = False) -> Function:
    """Open the file of a model, to be prepared and compiled.

    Parameters
    ----------
    path : path
        ``.mlir``: a module of linalg on tensors with one public function. ``.pt2``: what
        `torch.export.save` wrote; it brings its weights, and its example inputs where it has any.
        ``.pt``: a pickled `torch.nn.Module` with example inputs.
    trust_pickle : bool
        Load a ``.pt``. Loading runs whatever code its author put into it.

    Raises
    ------
    MlirError, ExportError
        The file cannot be read, or does what no Einsum does.
    ParseError
        The suffix is another one.
    ToolError
        PyTorch or torch-mlir is missing.
    """
    path = Path(path)
    if path.suffix == ".mlir":
        return Function(read_mlir(path))
    if path.suffix not in MODEL_SUFFIXES:
        raise ParseError(f"'{path}' is no model: its name must end in {', '.join(MODEL_SUFFIXES)}")
    from fuseflow.torch import function_of
    from fuseflow.torch.files import load_model

    return function_of(load_model(path, trust_pickle=trust_pickle))
