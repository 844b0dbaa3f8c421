"""Stream tokens: nested fibers without control tokens (DESIGN section 2).

A rank-d stream is a d-level nested list, sent innermost-first as tokens
``(payload, empty, close)``.  `encode` and `decode` are inverse to each other and
are the one definition of the protocol that models, benches and tests share.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from fuseflow.samml.errors import TokenError

Nested: TypeAlias = Any
"""A payload (rank 0) or a list of `Nested` of one rank less."""

NULL = None
"""The payload of a ref field that refers to nothing (a union's missing side)."""


class Token(NamedTuple):
    """One element of a stream.

    Attributes
    ----------
    payload : object
        The bundle of field values; `None` where `empty` > 0.
    empty : int
        0, or the height of the empty fiber that this token stands for.
    close : int
        How many nesting levels end with this token.
    """

    payload: Any
    empty: int
    close: int


def encode(nested: Nested, rank: int) -> list[Token]:
    """Encode one nested list as the tokens of one stream.

    Parameters
    ----------
    nested : Nested
        A list nested `rank` deep; a bare payload where `rank` is 0.
    rank : int
        The rank of the stream.

    Returns
    -------
    list of Token
        The last one has ``close == rank``.
    """
    tokens: list[Token] = []
    _encode(nested, rank, 0, tokens)
    return tokens


def _encode(nested: Nested, height: int, close: int, out: list[Token]) -> None:
    if height == 0:
        out.append(Token(nested, 0, close))
    elif not nested:
        out.append(Token(None, height, close + height))
    else:
        last = len(nested) - 1
        for position, child in enumerate(nested):
            _encode(child, height - 1, close + 1 if position == last else 0, out)


def decode(tokens: Iterable[Token], rank: int) -> Nested:
    """Decode the tokens of exactly one stream.

    Raises
    ------
    TokenError
        The tokens are illegal, end early, or hold more than one stream.
    """
    streams = decode_all(tokens, rank)
    if len(streams) != 1:
        raise TokenError(f"expected one stream of rank {rank}, got {len(streams)}")
    return streams[0]


def decode_all(tokens: Iterable[Token], rank: int) -> list[Nested]:
    """Decode consecutive streams of one rank; the inverse of `encode` on each."""
    streams: list[Nested] = []
    open_fibers: list[list[Nested]] = [[] for _ in range(rank)]
    at_start = True
    for token in check(tokens, rank):
        at_start = False
        done: Nested = token.payload if token.empty == 0 else []
        height = token.empty
        while height < token.close:
            fiber = open_fibers[rank - 1 - height]
            fiber.append(done)
            done, open_fibers[rank - 1 - height] = fiber, []
            height += 1
        if height == rank:
            streams.append(done)
            at_start = True
        else:
            open_fibers[rank - 1 - height].append(done)
    if not at_start:
        raise TokenError(f"the stream of rank {rank} ends before a token with close {rank}")
    return streams


def check(tokens: Iterable[Token], rank: int) -> Iterator[Token]:
    """Yield the tokens of streams of one rank, raising at the first illegal one.

    Raises
    ------
    TokenError
        Names the position and the rule of DESIGN section 2 that is broken.
    """
    before = rank
    for position, token in enumerate(tokens):
        _, empty, close = token
        legal = 0 <= close <= rank if empty == 0 else 1 <= empty <= close <= rank
        if not legal:
            raise TokenError(
                f"token {position}: empty {empty}, close {close} is illegal at rank {rank}"
            )
        if empty > before:
            raise TokenError(
                f"token {position}: empty {empty} exceeds the close {before} of the token before"
            )
        before = close
        yield token


def project(nested: Nested, rank: int, columns: Sequence[int]) -> Nested:
    """Keep the given columns of every payload tuple of a nested list."""
    if rank == 0:
        return tuple(nested[column] for column in columns)
    return [project(child, rank - 1, columns) for child in nested]
