"""Memories and addresses that Verilog can declare, however small: one bit is the least."""

from typing import Any

from amaranth import Shape, unsigned
from amaranth.lib import memory
from amaranth.utils import ceil_log2


def below(count: int) -> Shape:
    """Return the shape of a number below `count`, which has at least one bit."""
    return unsigned(max(1, ceil_log2(count)))


def rows(words: int) -> int:
    """Return the rows of a memory for so many words: two at least, for its address has a bit."""
    return max(2, words)


def ram(shape: Any, words: int) -> memory.Memory:
    """Return a memory for so many words, without contents."""
    return memory.Memory(shape=shape, depth=rows(words), init=[])
