"""PyTorch models: export to linalg on tensors, and model files.

This package imports PyTorch and torch-mlir, which the extra ``torch`` installs.
"""

from fuseflow.samml.errors import ToolError

try:
    from fuseflow.torch.arguments import Argument
    from fuseflow.torch.errors import ExportError
    from fuseflow.torch.export import Exported, export
    from fuseflow.torch.files import Saved, load_model
except ModuleNotFoundError as _error:
    raise ToolError(
        f"PyTorch models need torch and torch-mlir ({_error}): pip install 'fuseflow[torch]'"
    ) from None

__all__ = ["Argument", "ExportError", "Exported", "Saved", "export", "load_model"]
