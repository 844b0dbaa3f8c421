"""The operations on numbers: what NumPy makes of constants, and the expression of the others."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

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


def _remainder(a: Array, b: Array) -> Array:
    return a - _divide(a, b) * b


def _divide_up(a: Array, b: Array) -> Array:
    return -(-a // b)


def _round(a: Array) -> Array:
    """Round halves away from 0."""
    return np.trunc(a + np.copysign(0.5, a))


def _rsqrt(a: Array) -> Array:
    return 1 / np.sqrt(a)


def _erf(a: Array) -> Array:
    flat = [math.erf(value) for value in a.ravel().tolist()]
    return np.array(flat, np.float64).reshape(a.shape)


def _fma(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


_NUMPY: dict[str, NumPy] = {
    "arith.addf": np.add,
    "arith.addi": np.add,
    "arith.subf": np.subtract,
    "arith.subi": np.subtract,
    "arith.mulf": np.multiply,
    "arith.muli": np.multiply,
    "arith.divf": np.divide,
    "arith.divsi": _divide,
    "arith.floordivsi": np.floor_divide,
    "arith.ceildivsi": _divide_up,
    "arith.remsi": _remainder,
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
    "math.round": _round,
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
    "math.rsqrt": _rsqrt,
    "math.cbrt": np.cbrt,
    "math.sin": np.sin,
    "math.cos": np.cos,
    "math.tan": np.tan,
    "math.sinh": np.sinh,
    "math.cosh": np.cosh,
    "math.tanh": np.tanh,
    "math.atan": np.arctan,
    "math.atan2": np.arctan2,
    "math.erf": _erf,
    "math.powf": np.power,
    "math.fpowi": np.power,
    "math.ipowi": np.power,
    "math.fma": _fma,
}
NUMPY: Mapping[str, NumPy] = MappingProxyType(_NUMPY)
"""By operation; floats are given as float64."""

LOG_2 = math.log(2)


def _unary(op: str) -> Symbolic:
    def build(_: Algebra, operand: Expr) -> Expr:
        return Unary(op, operand)

    return build


def _exp2(a: Algebra, x: Expr) -> Expr:
    return Unary("exp", a.mul(x, Constant(LOG_2)))


def _expm1(a: Algebra, x: Expr) -> Expr:
    return a.sub(Unary("exp", x), ONE)


def _log2(a: Algebra, x: Expr) -> Expr:
    return a.mul(Unary("log", x), Constant(1 / LOG_2))


def _log1p(a: Algebra, x: Expr) -> Expr:
    return Unary("log", a.add(x, ONE))


def _add_product(a: Algebra, x: Expr, y: Expr, z: Expr) -> Expr:
    return a.add(a.mul(x, y), z)


_SYMBOLIC: dict[str, Symbolic] = {
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
    "math.exp2": _exp2,
    "math.expm1": _expm1,
    "math.log": _unary("log"),
    "math.log2": _log2,
    "math.log1p": _log1p,
    "math.sqrt": _unary("sqrt"),
    "math.rsqrt": _unary("rsqrt"),
    "math.tanh": _unary("tanh"),
    "math.erf": Algebra.erf,
    "math.powf": Algebra.power,
    "math.fpowi": Algebra.power,
    "math.fma": _add_product,
}
SYMBOLIC: Mapping[str, Symbolic] = MappingProxyType(_SYMBOLIC)
"""By operation; the algebra comes first."""

SAME = (
    "arith.extf",
    "arith.truncf",
    "arith.extsi",
    "arith.extui",
    "arith.trunci",
    "arith.sitofp",
    "arith.uitofp",
    "arith.index_cast",
    "arith.index_castui",
)
"""Casts that leave a number what it is, but for its rounding."""

CASTS = (*SAME, "arith.fptosi", "arith.fptoui")

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


def constant(value: float) -> Constant:
    """Return a number as an expression."""
    return Constant(number(value))
