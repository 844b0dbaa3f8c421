"""PyTorch models: `compile` makes programs of them, `export` linalg on tensors.

This package imports PyTorch and torch-mlir, which the extra ``torch`` installs.
"""

from fuseflow.samml.errors import ToolError

try:
    from fuseflow.torch.arguments import Argument
    from fuseflow.torch.compiling import compile, example_inputs, function_of
    from fuseflow.torch.errors import ExportError
    from fuseflow.torch.export import Exported, export
    from fuseflow.torch.files import Saved, load_model
except ModuleNotFoundError as _error:
    raise ToolError(
        f"PyTorch models need torch and torch-mlir ({_error}): pip install 'fuseflow[torch]'"
    ) from None

__all__ = [
    "Argument", "ExportError", "Exported", "Saved", "compile", "example_inputs", "export",
    "function_of", "load_model",
]  # fmt: skip
