"""Value types: the arithmetic that a graph is built for (DESIGN section 6)."""

from dataclasses import dataclass

from fuseflow.samml.errors import ParseError


@dataclass(frozen=True)
class ValueType:
    """A value type of the tile.

    Attributes
    ----------
    name : str
        The field's name for it, such as ``int32``.
    bits : int
        Width of a stored value.
    adder, multiplier : int
        Latency of an addition (also sub, max, min) and of a multiplication, in cycles.
    """

    name: str
    bits: int
    adder: int
    multiplier: int

    @property
    def low(self) -> int:
        """The smallest value; the identity of ``max``."""
        return -(1 << (self.bits - 1))

    @property
    def high(self) -> int:
        """The largest value; the identity of ``min``."""
        return (1 << (self.bits - 1)) - 1

    def wrap(self, value: int) -> int:
        """Reduce an exact integer to this type, two's complement."""
        return ((value - self.low) & ((1 << self.bits) - 1)) + self.low


INT32 = ValueType("int32", bits=32, adder=1, multiplier=2)
VALUE_TYPES = {INT32.name: INT32}


def value_type(name: str) -> ValueType:
    """Look a value type up by name.

    Raises
    ------
    ParseError
        There is none of that name.
    """
    try:
        return VALUE_TYPES[name]
    except KeyError:
        known = ", ".join(VALUE_TYPES)
        raise ParseError(f"unknown value type '{name}': choose one of {known}") from None
