"""How the coordinates of an accumulator are laid out in its banks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.utils import ceil_log2

from fuseflow.samml.graph import Extent, Graph

WORD_BITS_MAX = 6
"""log2 of the widest word of a touched set; wider ones cost more than the top bits they save."""


@dataclass(frozen=True)
class Geometry:
    """Addresses of one bank.

    With two kept levels an address is the outer coordinate above the inner one, whose stride is
    its capacity rounded up to a power of two.

    Attributes
    ----------
    outer : int
        Capacity of the outer kept level; 1 where one level is kept.
    inner : int
        Capacity of the inner (or only) kept level.
    """

    outer: int
    inner: int

    @classmethod
    def of(cls, params: Mapping[str, Any], graph: Graph) -> "Geometry":
        """Read the declared capacities of an accumulate's kept levels."""

        def capacity(extent: Extent) -> int:
            return max(1, graph.tensor(extent.tensor).dims[extent.mode])

        sizes = [capacity(extent) for extent in params["size"]]
        return cls(sizes[0] if len(sizes) == 2 else 1, sizes[-1])

    @property
    def inner_bits(self) -> int:
        """Address bits of the inner coordinate."""
        return max(1, ceil_log2(self.inner))

    @property
    def outer_bits(self) -> int:
        """Address bits of the outer coordinate; 0 where there is none."""
        return ceil_log2(self.outer)

    @property
    def address_bits(self) -> int:
        """Bits of an address."""
        return self.outer_bits + self.inner_bits

    @property
    def depth(self) -> int:
        """Addresses, and so words of a bank's value memory."""
        return self.inner if self.outer == 1 else self.outer << self.inner_bits

    @property
    def word_bits(self) -> int:
        """log2 of the elements of one touched word: about as many as there are words."""
        return min(WORD_BITS_MAX, (self.address_bits + 1) // 2)

    @property
    def word_size(self) -> int:
        """Elements of one touched word."""
        return 1 << self.word_bits

    @property
    def words(self) -> int:
        """Words of the touched set."""
        return -(-self.depth >> self.word_bits) if self.depth else 1

    @property
    def fiber_words(self) -> int:
        """Touched words of one outer coordinate; 0 where one word spans several."""
        return (1 << self.inner_bits) >> self.word_bits
