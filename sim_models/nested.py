"""Walking nested lists: what the golden meanings have in common.

A leaf is a tuple of field values in the bundle's order; a null ref is None.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from operator import itemgetter
from typing import Any, cast

from fuseflow.samml.errors import TokenError
from fuseflow.samml.tokens import Nested


def aligned(streams: Sequence[Nested]) -> Iterator[tuple[Nested, ...]]:
    """Zip lists that must be equally long.

    Raises
    ------
    TokenError
        They are not.
    """
    first = len(streams[0])
    for stream in streams:
        if len(stream) != first:
            raise TokenError(f"a fiber of {first} elements meets one of {len(stream)}")
    return zip(*streams, strict=True)


def map_fibers(function: Callable[..., Any], levels: int, *streams: Nested) -> Nested:
    """Apply a function to what aligned streams hold below their outermost levels.

    Parameters
    ----------
    function : callable
        Takes one sub-list (or leaf) of each stream.
    levels : int
        How many levels to go down.
    *streams : Nested
        Alike in these levels.
    """
    if levels == 0:
        return function(*streams)
    if levels == 1:
        return list(starmap(function, aligned(streams)))
    return [map_fibers(function, levels - 1, *children) for children in aligned(streams)]


def columns(nested: Nested, rank: int, picked: tuple[int, ...]) -> Nested:
    """Keep the given fields of every leaf."""
    match picked:
        case ():
            return map_fibers(_nothing, rank, nested)
        case (one,):

            def pick(leaf: tuple[Any, ...]) -> tuple[Any]:
                return (leaf[one],)

            return map_fibers(pick, rank, nested)
        case _:
            return map_fibers(cast(Callable[[Any], Any], itemgetter(*picked)), rank, nested)


def _nothing(_: object) -> tuple[()]:
    return ()


def fibers(nested: Nested, levels: int) -> Iterator[Nested]:
    """Yield, in order, what a stream holds below its outermost levels."""
    if levels == 0:
        yield nested
    elif levels == 1:
        yield from nested
    else:
        for child in nested:
            yield from fibers(child, levels - 1)
