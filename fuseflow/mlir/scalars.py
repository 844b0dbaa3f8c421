"""The operations on numbers: what NumPy makes of constants, and the expression of the others."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import special

from fuseflow.compiler.expr import Constant, Expr, Unary
from fuseflow.mlir.algebra import ONE, Algebra
from fuseflow.mlir.module import Array
from fuseflow.samml.values import number

NumPy = Callable[..., Array]
Symbolic = Callable[..., Expr]


def _divide(a: Array, b: Array) -> Array:
    """Divide integers as C does."""
    quotient = np.abs(a) // np.where(b == 0, 1, np.abs(b))
    return np.sign(a) * np.sign(b) * quotient


NUMPY: Mapping[str, NumPy] = MappingProxyType(
    {
        "arith.addf": np.add,
        "arith.addi": np.add,
        "arith.subf": np.subtract,
        "arith.subi": np.subtract,
        "arith.mulf": np.multiply,
        "arith.muli": np.multiply,
        "arith.divf": np.divide,
        "arith.divsi": _divide,
        "arith.floordivsi": np.floor_divide,
        "arith.ceildivsi": lambda a, b: -(-a // b),
        "arith.remsi": lambda a, b: a - _divide(a, b) * b,
        "arith.remf": np.fmod,
        "arith.negf": np.negative,
        "arith.maximumf": np.maximum,
        "arith.maxnumf": np.fmax,
        "arith.maxsi": np.maximum,
        "arith.minimumf": np.minimum,
        "arith.minnumf": np.fmin,
        "arith.minsi": np.minimum,
        "arith.andi": np.bitwise_and,
        "arith.ori": np.bitwise_or,
        "arith.xori": np.bitwise_xor,
        "arith.select": np.where,
        "math.absf": np.abs,
        "math.absi": np.abs,
        "math.ceil": np.ceil,
        "math.floor": np.floor,
        "math.round": lambda a: np.trunc(a + np.copysign(0.5, a)),
        "math.roundeven": np.round,
        "math.trunc": np.trunc,
        "math.exp": np.exp,
        "math.exp2": np.exp2,
        "math.expm1": np.expm1,
        "math.log": np.log,
        "math.log2": np.log2,
        "math.log10": np.log10,
        "math.log1p": np.log1p,
        "math.sqrt": np.sqrt,
        "math.rsqrt": lambda a: 1 / np.sqrt(a),
        "math.cbrt": np.cbrt,
        "math.sin": np.sin,
        "math.cos": np.cos,
        "math.tan": np.tan,
        "math.sinh": np.sinh,
        "math.cosh": np.cosh,
        "math.tanh": np.tanh,
        "math.atan": np.arctan,
        "math.atan2": np.arctan2,
        "math.erf": special.erf,
        "math.erfc": special.erfc,
        "math.powf": np.power,
        "math.fpowi": np.power,
        "math.ipowi": np.power,
        "math.fma": lambda a, b, c: a * b + c,
    }
)
"""By operation; floats are given as float64."""

LOG_2 = Constant(float(np.log(2)))


def _unary(op: str) -> Symbolic:
    return lambda _, operand: Unary(op, operand)


SYMBOLIC: Mapping[str, Symbolic] = MappingProxyType(
    {
        "arith.addf": Algebra.add,
        "arith.addi": Algebra.add,
        "arith.subf": Algebra.sub,
        "arith.subi": Algebra.sub,
        "arith.mulf": Algebra.mul,
        "arith.muli": Algebra.mul,
        "arith.divf": Algebra.div,
        "arith.negf": Algebra.neg,
        "arith.maximumf": Algebra.maximum,
        "arith.maxnumf": Algebra.maximum,
        "arith.maxsi": Algebra.maximum,
        "arith.minimumf": Algebra.minimum,
        "arith.minnumf": Algebra.minimum,
        "arith.minsi": Algebra.minimum,
        "math.absf": _unary("abs"),
        "math.absi": _unary("abs"),
        "math.exp": _unary("exp"),
        "math.exp2": lambda a, x: Unary("exp", a.mul(x, LOG_2)),
        "math.expm1": lambda a, x: a.sub(Unary("exp", x), ONE),
        "math.log": _unary("log"),
        "math.log2": lambda a, x: a.mul(Unary("log", x), Constant(1 / LOG_2.number)),
        "math.log1p": lambda a, x: Unary("log", a.add(x, ONE)),
        "math.sqrt": _unary("sqrt"),
        "math.rsqrt": _unary("rsqrt"),
        "math.tanh": _unary("tanh"),
        "math.erf": Algebra.erf,
        "math.powf": Algebra.power,
        "math.fpowi": Algebra.power,
        "math.fma": lambda a, x, y, z: a.add(a.mul(x, y), z),
    }
)
"""By operation; the algebra comes first."""

SAME = ("arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp")
"""Casts that leave a number what it is, but for its rounding."""

CASTS = (
    *SAME,
    "arith.trunci",
    "arith.fptosi",
    "arith.fptoui",
    "arith.index_cast",
    "arith.index_castui",
)

FLOAT_COMPARES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
"""By the number that MLIR gives a predicate of ``arith.cmpf``; o: no operand is NaN, u: or one."""

INT_COMPARES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""By the number that MLIR gives a predicate of ``arith.cmpi``."""

_COMPARE: Mapping[str, NumPy] = MappingProxyType(
    {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
)


def compare(predicate: str, left: Array, right: Array) -> Array:
    """Return what a predicate of floats or integers says of two arrays."""
    if predicate in ("true", "false"):
        return np.full(np.broadcast_shapes(left.shape, right.shape), predicate == "true")
    if predicate in _COMPARE:
        return _COMPARE[predicate](left, right)
    if left.dtype.kind in "iub" and predicate[0] == "u":
        left, right = left.view(f"u{left.itemsize}"), right.view(f"u{right.itemsize}")
    if left.dtype.kind in "iub":
        return _COMPARE[predicate[1:]](left, right)
    strange = np.isnan(left) | np.isnan(right)
    if predicate in ("ord", "uno"):
        return strange if predicate == "uno" else ~strange
    found = _COMPARE[predicate[1:]](left, right)
    return found | strange if predicate[0] == "u" else found & ~strange


def in_float64(array: Array) -> Array:
    """Return floats in the precision that constants are folded in; others as they are."""
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def constant(value: Any) -> Constant:
    """Return a number as an expression."""
    return Constant(number(value.item() if isinstance(value, np.generic) else value))
