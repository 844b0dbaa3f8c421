"""The kernel's memory while it is being laid out, and when it must grow."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from sim_models.cycle.layout import HEADER_WORDS

Words = npt.NDArray[np.int64]


class Heap:
    """A growing array of 64-bit words.

    Attributes
    ----------
    words : ndarray of int64
        Replaced when the heap grows: do not keep it.
    used : int
        Words handed out so far; those behind them are spare.
    """

    def __init__(self) -> None:
        self.words: Words = np.zeros(1 << 14, np.int64)
        self.used = HEADER_WORDS

    def reserve(self, count: int) -> int:
        """Return the offset of a fresh block of zeros."""
        offset, self.used = self.used, self.used + count
        if self.used > len(self.words):
            grown = np.zeros(max(self.used, 2 * len(self.words)), np.int64)
            grown[:offset] = self.words[:offset]
            self.words = grown
        return offset

    def place(self, words: Sequence[int] | Words) -> int:
        """Copy words to a fresh block and return its offset."""
        offset = self.reserve(len(words))
        self.words[offset : offset + len(words)] = words
        return offset

    def read(self, offset: int, count: int) -> Words:
        """Return a view of a block."""
        return self.words[offset : offset + count]

    def fill(self, offset: int, words: Iterable[int]) -> None:
        """Write consecutive words."""
        for position, word in enumerate(words):
            self.words[offset + position] = word
