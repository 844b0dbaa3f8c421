"""The operations of a value type by name."""

from fuseflow.samml.values import ValueType
from hw.compare import Compare
from hw.float_adder import FloatAdder
from hw.float_multiplier import FloatMultiplier
from hw.integer import IntegerAdder, IntegerMultiplier
from hw.operation import Operation


def operation(op: str, value: ValueType, latency: int, *, wide: bool = False) -> Operation:
    """Return the component of an operation.

    Parameters
    ----------
    op : str
        ``add``, ``sub``, ``mul``, ``max`` or ``min``.
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
        case _:
            return Compare(value, latency, larger=op == "max")
