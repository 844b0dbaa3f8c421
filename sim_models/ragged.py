"""Nested lists as flat arrays: what the golden meanings have in common.

A meaning takes whole levels at a time, in NumPy. Consecutive streams of one edge are one more,
outermost level. A null ref is `NULL_REF`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fuseflow.samml.errors import TokenError
from fuseflow.samml.tokens import Nested

Words: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

NULL_REF = int(np.iinfo(np.int64).min)
"""Stands for a null ref: no coordinate, position or word is as small."""


@dataclass(frozen=True)
class Ragged:
    """Consecutive streams of one type.

    Attributes
    ----------
    lengths : tuple of ndarray
        By level, outermost first: how many elements each of its fibers has, in order.
    fields : ndarray
        A row for each field of the bundle, a column for each leaf.
    """

    lengths: tuple[Words, ...]
    fields: Words

    @classmethod
    def of_nested(cls, streams: Sequence[Nested], rank: int, width: int) -> "Ragged":
        """Flatten nested lists whose leaves are tuples of ``width`` fields."""
        lengths: list[Words] = []
        for _ in range(rank):
            lengths.append(np.array([len(fiber) for fiber in streams], np.int64))
            streams = list(chain.from_iterable(streams))
        leaves = [[NULL_REF if word is None else word for word in leaf] for leaf in streams]
        return cls(tuple(lengths), np.array(leaves, np.int64).reshape(len(leaves), width).T)

    def nested(self) -> list[Nested]:
        """Return the nested list of every stream; null refs are None."""
        elements: list[Nested] = [
            tuple(None if word == NULL_REF else word for word in leaf)
            for leaf in self.fields.T.tolist()
        ]
        for lengths in reversed(self.lengths):
            rest = iter(elements)
            elements = [list(islice(rest, length)) for length in lengths.tolist()]
        return elements

    @property
    def rank(self) -> int:
        """How many levels a stream has."""
        return len(self.lengths)

    @property
    def streams(self) -> int:
        """How many streams these are."""
        return len(self.lengths[0]) if self.lengths else self.fields.shape[1]

    def like(self, *fields: Words) -> "Ragged":
        """Return other fields of the same leaves."""
        return Ragged(self.lengths, np.stack(fields))

    def fibers(self) -> Words:
        """Return the innermost fiber, by number, that each leaf is in."""
        return owners(self.lengths[-1])

    def keep(self, kept: Mask) -> "Ragged":
        """Return some of the leaves; fibers stay, empty ones too."""
        counts = np.bincount(self.fibers()[kept], minlength=len(self.lengths[-1]))
        return Ragged((*self.lengths[:-1], counts), self.fields[:, kept])


def scalars(*fields: Words) -> Ragged:
    """Return streams of rank 0."""
    return Ragged((), np.stack(fields))


def owners(lengths: Words) -> Words:
    """Return the fiber that each element is in."""
    return np.repeat(np.arange(len(lengths)), lengths)


def positions(lengths: Words) -> Words:
    """Return where in its fiber each element is."""
    return np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def check_aligned(levels: int, first: Ragged, *others: Ragged) -> None:
    """Check that streams are alike in their outermost levels.

    Raises
    ------
    TokenError
        They are not.
    """
    for other in others:
        for mine, its in zip(first.lengths[:levels], other.lengths[:levels], strict=True):
            different = np.flatnonzero(mine != its)
            if len(different):
                at = different[0]
                raise TokenError(f"a fiber of {mine[at]} elements meets one of {its[at]}")


def fiber_keys(left: Ragged, right: Ragged) -> tuple[Words, Words, int]:
    """Make coordinates, the first fields, differ from one innermost fiber to the next.

    Returns
    -------
    left, right : ndarray
        The number of the fiber times a span, plus the coordinate.
    span : int
    """
    span = 1 + max(int(side.fields[0].max(initial=0)) for side in (left, right))
    return (*(side.fibers() * span + side.fields[0] for side in (left, right)), span)


def distinct(keys: Words) -> Words:
    """Return the different ones of keys, ascending."""
    # Sorting is faster than the hash table of np.unique.
    ordered = np.sort(keys)
    return ordered[np.diff(ordered, prepend=-1) != 0]


def find(keys: Words, among: Words) -> Words:
    """Return the last place of every key among others, and their number where it is not there."""
    # Keys are not negative: what is below the first is found at the end, where nothing is.
    padded = np.append(among, -1)
    order = np.argsort(padded, kind="stable")
    at: Words = order[np.searchsorted(padded, keys, side="right", sorter=order) - 1]
    return np.where(padded[at] == keys, at, len(among))
