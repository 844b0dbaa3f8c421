"""Programs written in Python: operations on tensors record statements and their schedule.

Nothing is computed.  `program` makes of values the program that computes them.
"""

from fuseflow.lang.build import operands, program
from fuseflow.lang.operations import (
    abs,
    einsum,
    exp,
    gelu,
    layernorm,
    linear,
    log,
    max,
    maximum,
    min,
    minimum,
    neg,
    reciprocal,
    relu,
    rsqrt,
    sigmoid,
    softmax,
    sqrt,
    sum,
    tanh,
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
    "gelu",
    "layernorm",
    "linear",
    "log",
    "max",
    "maximum",
    "min",
    "minimum",
    "neg",
    "operands",
    "order",
    "program",
    "reciprocal",
    "recording",
    "relu",
    "rsqrt",
    "sigmoid",
    "softmax",
    "sqrt",
    "sum",
    "tanh",
    "where",
]
