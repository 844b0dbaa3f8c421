"""Integer arithmetic that the units share."""

from amaranth import Value


def fits(exact: Value, bits: int) -> Value:
    """Whether a signed value fits `bits` bits: the bits above repeat its sign."""
    sign = exact.as_unsigned()[bits - 1 :]
    return sign.all() | ~sign.any()
