"""Tables of constants."""

from collections.abc import Sequence

from amaranth import Module, Shape, Signal, Value


def rom(m: Module, name: str, index: Value, words: Sequence[int], shape: Shape) -> Signal:
    """Return the word at an index; at one past the last, 0.

    It is printed as a case statement, which synthesizers turn into a memory where one fits.
    """
    found = Signal(shape, name=name)
    with m.Switch(index):
        for number, word in enumerate(words):
            with m.Case(number):
                m.d.comb += found.eq(word)
    return found
