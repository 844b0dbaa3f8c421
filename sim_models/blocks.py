"""Streams whose inner levels are dense: a field is an array that need not be spread over them.

`Blocks` are `Ragged` streams in which every leaf is a block of dense levels. A reference that a
scan of a dense level makes, a value that is repeated, or a product of two of them has one number
for many leaves; spreading it is put off until something needs it leaf by leaf.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from fuseflow.samml.values import ValueType
from sim_models.ragged import Ragged, Words


class TooLargeError(Exception):
    """An array would have more words than are to be held at a time."""


@dataclass(frozen=True, eq=False)
class Product:
    """A field of products that are not formed yet.

    Attributes
    ----------
    a, b : ndarray of int64
        Words of the factors, which spread over each other.
    kind : ValueType
        Of the products.
    """

    a: Words
    b: Words
    kind: ValueType


Column: TypeAlias = "Words | Product"


@dataclass(frozen=True, eq=False)
class Blocks:
    """Consecutive streams whose leaves are blocks of dense levels.

    Attributes
    ----------
    lengths : tuple of ndarray
        Of the outer levels, as in `Ragged`.
    count : int
        Leaves of the outer levels.
    inner : tuple of int
        Sizes of the dense levels below them.
    fields : tuple of ndarray or Product
        Of each field, an array of shape ``(count, *inner)``, with 1 where it does not vary.
    """

    lengths: tuple[Words, ...]
    count: int
    inner: tuple[int, ...]
    fields: tuple[Column, ...]

    @classmethod
    def of(cls, ragged: Ragged) -> "Blocks":
        """Take over streams without dense levels."""
        return cls(ragged.lengths, ragged.fields.shape[1], (), tuple(ragged.fields))

    @property
    def rank(self) -> int:
        """How many levels a stream has."""
        return len(self.lengths) + len(self.inner)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a field that varies everywhere."""
        return self.count, *self.inner

    def like(self, *fields: Column) -> "Blocks":
        """Return other fields of the same leaves."""
        return Blocks(self.lengths, self.count, self.inner, fields)

    def array(self, field: int) -> Words:
        """Return a field of no products, as far as it varies."""
        found = self.fields[field]
        assert not isinstance(found, Product)
        return found

    def outer(self, inner: int, limit: int) -> "Blocks":
        """Return the same streams with that many dense levels left in the blocks."""
        moved = len(self.inner) - inner
        if moved <= 0:
            return self
        lengths, count = list(self.lengths), self.count
        for size in self.inner[:moved]:
            lengths.append(np.full(count, size))
            count *= size
        rest = self.inner[moved:]
        fields = tuple(_merged(each, self.shape, moved, limit) for each in self.fields)
        return Blocks(tuple(lengths), count, rest, fields)

    def ragged(self, limit: int) -> Ragged:
        """Spread everything."""
        spread = self.outer(0, limit)
        width = len(self.fields)
        fields = [np.broadcast_to(spread.array(k), (spread.count,)) for k in range(width)]
        found = np.stack(fields) if fields else np.zeros((0, spread.count), np.int64)
        return Ragged(spread.lengths, found)


def _merged(column: Column, shape: tuple[int, ...], moved: int, limit: int) -> Column:
    """Merge the outermost dense levels of a field with the leaves around them."""
    if isinstance(column, Product):
        a, b = (_merged(each, shape, moved, limit) for each in (column.a, column.b))
        assert not isinstance(a, Product)
        assert not isinstance(b, Product)
        return Product(a, b, column.kind)
    head, tail = column.shape[: moved + 1], column.shape[moved + 1 :]
    if prod(head) == 1:
        return column.reshape(1, *tail)
    full = shape[: moved + 1]
    check_room(prod(full) * prod(tail), limit)
    return np.broadcast_to(column, (*full, *tail)).reshape(prod(full), *tail)


def check_room(words: int, limit: int) -> None:
    """Raise where an array has too many words.

    Raises
    ------
    TooLargeError
        It has.
    """
    if words > limit:
        raise TooLargeError


def aligned(limit: int, *streams: Blocks) -> list[Blocks]:
    """Return streams of the same levels with the same of them in their blocks."""
    inner = min(len(each.inner) for each in streams)
    return [each.outer(inner, limit) for each in streams]


def spread_shape(arrays: Sequence[Words]) -> tuple[int, ...]:
    """Return the shape over which arrays spread."""
    return np.broadcast_shapes(*(array.shape for array in arrays))
