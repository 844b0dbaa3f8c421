"""Bit tricks on vectors that mark elements of a set."""

from amaranth import Cat, Const, Mux, Value


def lowest(bits: Value) -> Value:
    """Return the lowest set bit alone (one carry chain)."""
    return (bits & -bits)[: len(bits)]


def rest(bits: Value) -> Value:
    """Return the set without its lowest bit."""
    return (bits & (bits - 1))[: len(bits)]


def encode(onehot: Value) -> Value:
    """Return the position of the one bit that is set (0 where none is)."""
    width = max(1, (len(onehot) - 1).bit_length())
    return Cat(
        any_of([onehot[k] for k in range(len(onehot)) if k >> bit & 1]) for bit in range(width)
    )


def any_of(bits: list[Value]) -> Value:
    """Return the disjunction of some bits: one operator, as a chain nests too deeply to convert."""
    return Cat(bits).any()


def leading_zeros(bits: Value) -> Value:
    """Return how many zeros stand above the highest set bit (any number where there is none)."""
    if len(bits) == 1:
        return Const(0, 1)
    half = 1 << ((len(bits) - 1).bit_length() - 1)
    if len(bits) < 2 * half:
        return leading_zeros(Cat(Const(0, 2 * half - len(bits)), bits))
    low, high = bits[:half], bits[half:]
    none = ~high.any()
    if half == 1:
        return none
    return Cat(Mux(none, leading_zeros(low), leading_zeros(high)), none)
