"""Arithmetic of the kernel on raw words."""

from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import OVERFLOW, Memory

ADD, SUB, MUL, MAX, MIN = 0, 1, 2, 3, 4


@compiled
def signed(word: int, bits: int) -> int:
    """Read a raw word as a two's complement integer."""
    return word - ((word >> (bits - 1) & 1) << bits)


@compiled
def combine(m: Memory, op: int, bits: int, a: int, b: int) -> int:
    """Combine two raw values; an overflow wraps and raises the flag."""
    x, y = signed(a, bits), signed(b, bits)
    if op == ADD:
        exact = x + y
    elif op == SUB:
        exact = x - y
    elif op == MUL:
        exact = x * y
    elif op == MAX:
        exact = max(x, y)
    else:
        exact = min(x, y)
    raw = exact & ((1 << bits) - 1)
    if signed(raw, bits) != exact:
        m[OVERFLOW] = 1
    return raw
