"""FuseFlow: sparse tensor programs to fused dataflow graphs and synthesizable Verilog.

The names below are loaded when first used, so that importing the package stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuseflow.api import Program, compile, load
    from fuseflow.compiler.expr import Statement
    from fuseflow.compiler.parse import einsum
    from fuseflow.compiler.program_text import parse_program, print_program, read_program
    from fuseflow.kernel import Kernel
    from fuseflow.model_files import open_model
    from fuseflow.outcome import KernelRun, RunResult, VerifyResult
    from fuseflow.samml.errors import FuseFlowError
    from fuseflow.samml.formats import Format
    from fuseflow.samml.values import ValueType, value_type
    from fuseflow.tensor import Tensor

_HOMES = {
    "Format": "fuseflow.samml.formats",
    "FuseFlowError": "fuseflow.samml.errors",
    "Kernel": "fuseflow.kernel",
    "KernelRun": "fuseflow.outcome",
    "Program": "fuseflow.api",
    "RunResult": "fuseflow.outcome",
    "Statement": "fuseflow.compiler.expr",
    "Tensor": "fuseflow.tensor",
    "ValueType": "fuseflow.samml.values",
    "VerifyResult": "fuseflow.outcome",
    "compile": "fuseflow.api",
    "einsum": "fuseflow.compiler.parse",
    "load": "fuseflow.api",
    "open_model": "fuseflow.model_files",
    "parse_program": "fuseflow.compiler.program_text",
    "print_program": "fuseflow.compiler.program_text",
    "read_program": "fuseflow.compiler.program_text",
    "value_type": "fuseflow.samml.values",
}

__all__ = [
    "Format",
    "FuseFlowError",
    "Kernel",
    "KernelRun",
    "Program",
    "RunResult",
    "Statement",
    "Tensor",
    "ValueType",
    "VerifyResult",
    "compile",
    "einsum",
    "load",
    "open_model",
    "parse_program",
    "print_program",
    "read_program",
    "value_type",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fuseflow' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
