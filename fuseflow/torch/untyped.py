"""What comes without types: torch-mlir, and corners of PyTorch."""

from importlib import import_module
from typing import Any

import torch

ir: Any = import_module("torch_mlir.ir")
fx: Any = import_module("torch_mlir.fx")
tensor_dialect: Any = import_module("torch_mlir.dialects.tensor")
PassManager: Any = import_module("torch_mlir.passmanager").PassManager
decompositions: Any = import_module("torch_mlir.extras.fx_decomp_util").get_decomposition_table
sparsity_encoding: Any = import_module("torch_mlir.extras.fx_importer").sparsity_encoding

torch_functions: Any = torch
operators: Any = import_module("torch._ops")
dropout: Any = import_module("torch.nn.modules.dropout")
traceback: Any = import_module("torch.fx.traceback")
norms: Any = import_module("torch.nn.modules.batchnorm")
