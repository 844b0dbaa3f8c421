"""Storage formats: one dense or compressed level per mode, in any mode order."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from operator import mul

from fuseflow.samml.errors import ParseError

LARGEST_RANK = 6
"""Most modes of a tensor."""


class LevelKind(Enum):
    """How the coordinates of one level are stored; the value is its letter."""

    DENSE = "d"
    COMPRESSED = "s"


@dataclass(frozen=True)
class Format:
    """Level kinds, outermost first, and the tensor mode that each level stores.

    Attributes
    ----------
    levels : tuple of LevelKind
        Length is the rank.
    order : tuple of int
        A permutation of the modes: level ``l`` stores mode ``order[l]``.
    """

    levels: tuple[LevelKind, ...]
    order: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Number of modes."""
        return len(self.levels)

    def volume(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the positions of every level of a tensor that stores everything."""
        return tuple(accumulate([shape[mode] for mode in self.order], mul))

    @classmethod
    def default(cls, rank: int) -> "Format":
        """Return the format of a tensor that names none: scalar, sparse, CSR, ``dss``, ..."""
        return cls.parse("s" if rank == 1 else "ds" + "s" * (rank - 2) if rank else "scalar")

    def __str__(self) -> str:
        if not self.levels:
            return "scalar"
        letters = "".join(level.value for level in self.levels)
        return letters + ":" + ",".join(map(str, self.order))

    @classmethod
    def parse(cls, text: str, rank: int | None = None) -> "Format":
        """Read a name (``CSR``, ``DCSC``, ``dense2``, ...) or a level string (``ss:1,0``).

        Parameters
        ----------
        text : str
        rank : int, optional
            Number of levels that a bare ``dense`` or ``sparse`` stands for; 1 by default.

        Raises
        ------
        ParseError
            Neither; the message lists the names.
        """
        if rank is not None and text.lower() in ("dense", "sparse"):
            text = _NAMES[text.lower()] * rank
        text = _NAMES.get(text.lower(), text)
        letters, colon, tail = text.partition(":")
        try:
            levels = tuple(LevelKind(letter) for letter in letters)
            order = tuple(int(mode) for mode in tail.split(",")) if colon else None
        except ValueError:
            raise _bad(text) from None
        if order is None:
            order = tuple(range(len(levels)))
        if sorted(order) != list(range(len(levels))):
            raise _bad(text)
        return cls(levels, order)


_NAMES = {
    "scalar": "",
    "csr": "ds:0,1",
    "csc": "ds:1,0",
    "dcsr": "ss:0,1",
    "dcsc": "ss:1,0",
    "sparse": "s",
    "dense": "d",
    "dense1": "d",
    "dense2": "dd",
    "dense3": "ddd",
}


def _bad(text: str) -> ParseError:
    return ParseError(
        f"unknown format '{text}': use scalar, dense, sparse, CSR, CSC, DCSR, DCSC, or one letter "
        "per level (s compressed, d dense) and the mode order, such as ss:1,0"
    )
