"""Programs written in Python: operations on tensors record statements and their schedule.

Nothing is computed.  `program` makes of values the program that computes them.
"""

from fuseflow.lang.build import operands, program
from fuseflow.lang.operations import (
    abs,
    einsum,
    exp,
    layernorm,
    linear,
    max,
    maximum,
    min,
    minimum,
    neg,
    relu,
    rsqrt,
    softmax,
    sum,
    where,
)
from fuseflow.lang.recording import fuse_region, order, recording
from fuseflow.lang.values import Computed, Tensor, Value

__all__ = [
    "Computed",
    "Tensor",
    "Value",
    "abs",
    "einsum",
    "exp",
    "fuse_region",
    "layernorm",
    "linear",
    "max",
    "maximum",
    "min",
    "minimum",
    "neg",
    "operands",
    "order",
    "program",
    "recording",
    "relu",
    "rsqrt",
    "softmax",
    "sum",
    "where",
]
