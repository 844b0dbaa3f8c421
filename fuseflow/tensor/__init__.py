"""Named sparse tensors: packing, conversion and files."""

from fuseflow.tensor.tensor import Tensor

__all__ = ["Tensor"]
