"""Walking nested lists: what the golden meanings have in common.

A leaf is a tuple of field values in the bundle's order; a null ref is None.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fuseflow.samml.errors import TokenError
from fuseflow.samml.tokens import Nested


def aligned(streams: Sequence[Nested]) -> Iterator[tuple[Nested, ...]]:
    """Zip lists that must be equally long.

    Raises
    ------
    TokenError
        They are not.
    """
    lengths = {len(stream) for stream in streams}
    if len(lengths) > 1:
        raise TokenError(f"fibers of {' and '.join(map(str, sorted(lengths)))} elements meet")
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
    if levels == 1 and len(streams) == 1:
        return [function(child) for child in streams[0]]
    return [map_fibers(function, levels - 1, *children) for children in aligned(streams)]


def fibers(nested: Nested, levels: int) -> Iterator[Nested]:
    """Yield, in order, what a stream holds below its outermost levels."""
    if levels == 0:
        yield nested
    elif levels == 1:
        yield from nested
    else:
        for child in nested:
            yield from fibers(child, levels - 1)
