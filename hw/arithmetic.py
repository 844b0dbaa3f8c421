"""The operations of a value type by name."""

from fuseflow.samml.functions import TABULATED
from fuseflow.samml.values import ValueType
from hw.compare import Compare
from hw.digits import FloatDivider, FloatRoot
from hw.float_adder import FloatAdder
from hw.float_multiplier import FloatMultiplier
from hw.integer import IntegerAdder, IntegerMultiplier
from hw.operation import Operation
from hw.tabulated import Tabulated


def operation(op: str, value: ValueType, latency: int, *, wide: bool = False) -> Operation:
    """Return the component of an operation.

    Parameters
    ----------
    op : str
        An operation of alu, or a function of unary that has no constant; of these, ``neg`` and
        ``abs`` are in `hw.sign`.
    value : ValueType
        Type of the operands.
    latency : int
    wide : bool
        Whether a product is of the wide type.
    """
    match op:
        case "add" | "sub":
            adder = FloatAdder if value.is_float else IntegerAdder
            return adder(value, latency, subtract=op == "sub")
        case "mul":
            multiplier = FloatMultiplier if value.is_float else IntegerMultiplier
            return multiplier(value, value.wide if wide else value, latency)
        case "div" | "reciprocal":
            return FloatDivider(value, latency, reciprocal=op == "reciprocal")
        case "sqrt":
            return FloatRoot(value, latency)
        case _ if op in TABULATED:
            return Tabulated(op, value)
        case _:
            return Compare(value, latency, larger=op == "max")
