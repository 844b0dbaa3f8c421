"""Our tokens in the notation of the Sparse Abstract Machine (SAM), and back.

A SAM stream is a list of payloads, stops ``S0 S1 ...`` (``Sk`` ends k + 1 levels), ``N`` for
an absent payload, and one ``D`` at the very end.  A token of close c > 0 is its payload
followed by ``S<c-1>``; an empty token is the bare stop.

What SAM cannot express is *how high* an empty fiber is: a bare ``S1`` is both ``(-,1,2)`` and
``(-,2,2)``.  Either reading is right.  `from_sam` takes the lowest, ``empty = 1``, which is
how SAM's own simulator acts (its reducer emits a value for every bare stop) and which is
legal everywhere; `from_sam_like` takes the reading of an outer stream instead.  `same_sam`
compares in SAM's notation, where all readings are one.

``N`` is a null ref in a ref stream.  In a coordinate stream it marks a place that holds
nothing, left by scanning a null ref; ours are empty fibers there (`without_absent`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from fuseflow.samml.errors import ParseError, TokenError
from fuseflow.samml.tokens import NULL, Nested, Token, check, decode_all, encode

Symbol: TypeAlias = Any
"""A payload (a number), ``"S<k>"``, ``"N"`` or ``"D"``."""

ABSENT = "N"
DONE = "D"
REPEAT = "R"
STOP = "S"


def stop_level(symbol: Symbol) -> int | None:
    """Return k of a stop ``S<k>``, `None` of any other symbol."""
    if isinstance(symbol, str) and symbol.startswith(STOP) and symbol[1:].isdecimal():
        return int(symbol[1:])
    return None


def sam_rank(symbols: Iterable[Symbol]) -> int:
    """Return the rank of a SAM stream: its highest stop plus one, 0 without stops."""
    levels = [level for symbol in symbols if (level := stop_level(symbol)) is not None]
    return max(levels, default=-1) + 1


def to_sam(tokens: Iterable[Token], rank: int, column: int | None = None) -> list[Symbol]:
    """Write tokens in SAM's notation.

    Parameters
    ----------
    tokens : iterable of Token
        Any number of whole streams; one ``D`` ends them all.
    rank : int
    column : int, optional
        The member of each payload tuple to write; the payload itself without it.
    """
    symbols: list[Symbol] = []
    for payload, empty, close in check(tokens, rank):
        if not empty:
            value = payload if column is None else payload[column]
            symbols.append(ABSENT if value is NULL else value)
        if close:
            symbols.append(f"{STOP}{close - 1}")
    return [*symbols, DONE]


def from_sam(symbols: Sequence[Symbol], rank: int | None = None) -> list[Token]:
    """Read SAM's notation; a bare stop becomes a token of ``empty`` 1.

    Parameters
    ----------
    symbols : sequence
        A lone ``D`` is no stream at all; payloads without stops are rank-0 streams.
    rank : int, optional
        `sam_rank` by default.

    Returns
    -------
    list of Token
        ``N`` becomes a null payload.

    Raises
    ------
    ParseError
        A symbol is unknown, or ``D`` does not stand at the end alone.
    TokenError
        The stream is not of this rank, or ends early.
    """
    rank = sam_rank(symbols) if rank is None else rank
    if not symbols or symbols[-1] != DONE:
        raise ParseError("SAM stream: 'D' is missing at the end")
    tokens: list[Token] = []
    held: list[Symbol] = []
    for symbol in symbols[:-1]:
        level = stop_level(symbol)
        if level is None and isinstance(symbol, str) and symbol != ABSENT:
            raise ParseError(f"SAM stream: '{symbol}' is no payload, stop or 'N'")
        if level is None:
            tokens += [Token(payload, 0, 0) for payload in held]
            held = [NULL if symbol == ABSENT else symbol]
        else:
            tokens.append(Token(held[0], 0, level + 1) if held else Token(None, 1, level + 1))
            held = []
    tokens += [Token(payload, 0, 0) for payload in held]
    decode_all(tokens, rank)
    return tokens


def from_sam_like(
    symbols: Sequence[Symbol], outer: Sequence[Token], height: int, rank: int | None = None
) -> list[Token]:
    """Read a stream whose outer levels are those of a stream `height` levels above it.

    The fiber below an outer token ``(-,e,c)`` is ``(-,e+height,c+height)``; a fiber that is one
    bare stop below an outer payload is ``(-,height,c+height)``; any other as in `from_sam`.

    Raises
    ------
    TokenError
        The streams do not belong together.
    """
    tokens: list[Token] = []
    above = iter(outer)
    first = True
    for token in from_sam(symbols, rank):
        if token.close < height:
            tokens.append(token)
            first = False
            continue
        holder = next(above, None)
        if holder is None or holder.close != token.close - height:
            raise TokenError(f"SAM stream: no outer token goes with {tuple(token)}")
        alone = first and token.empty
        if holder.empty and not alone:
            raise TokenError(f"SAM stream: {tuple(token)} lies below an empty outer token")
        tokens.append(Token(None, holder.empty + height, token.close) if alone else token)
        first = True
    if next(above, None) is not None:
        raise TokenError("SAM stream: it ends before its outer stream")
    return tokens


def without_absent(streams: Mapping[str, Sequence[Symbol]]) -> dict[str, list[Symbol]]:
    """Drop the places of aligned streams where ``crd`` is absent, in each of them."""
    names = list(streams)
    crd = list(streams["crd"])
    if any(len(streams[name]) != len(crd) for name in names):
        raise TokenError("SAM streams: crd and its companions differ in length")
    keep = [place for place, symbol in enumerate(crd) if symbol != ABSENT]
    return {name: [streams[name][place] for place in keep] for name in names}


def from_sam_aligned(
    streams: Mapping[str, Sequence[Symbol]], rank: int | None = None
) -> list[Token]:
    """Read streams of equal shape as one stream of payload tuples.

    Parameters
    ----------
    streams : mapping of str to sequence
        One SAM stream for each field, in the order of the tuple.  Where there is a field
        ``crd``, places at which it is absent are dropped.
    rank : int, optional
        That of the first field by default.

    Raises
    ------
    TokenError
        The streams differ in shape.
    """
    kept = without_absent(streams) if "crd" in streams else streams
    rank = sam_rank(next(iter(kept.values()))) if rank is None else rank
    columns = [from_sam(symbols, rank) for symbols in kept.values()]
    shapes = {tuple((token.empty, token.close) for token in column) for column in columns}
    if len(shapes) > 1:
        raise TokenError(f"SAM streams {', '.join(streams)} differ in shape")
    return [
        Token(None if row[0].empty else tuple(token.payload for token in row), *row[0][1:])
        for row in zip(*columns, strict=True)
    ]


def to_sam_aligned(
    tokens: Sequence[Token], rank: int, names: Sequence[str]
) -> dict[str, list[Symbol]]:
    """Write a stream of payload tuples as one SAM stream for each field."""
    return {name: to_sam(tokens, rank, column) for column, name in enumerate(names)}


def same_sam(
    tokens: Sequence[Token],
    symbols: Sequence[Symbol],
    rank: int,
    column: int | None = None,
    *,
    empties: bool = True,
) -> bool:
    """Whether tokens and a SAM stream are the same under some reading.

    Parameters
    ----------
    tokens, rank, column
        As for `to_sam`.
    symbols : sequence
        Without ``N`` in coordinate streams: see `without_absent`.
    empties : bool
        If false, innermost fibers that are empty do not count, in neither of the two: SAM
        keeps them where it drops coordinates of the level above.
    """
    if empties:
        return to_sam(tokens, rank, column) == list(symbols)
    ours = from_sam(to_sam(tokens, rank, column), rank)
    left, right = (decode_all(stream, rank) for stream in (ours, from_sam(symbols, rank)))
    return [_prune(one, rank) for one in left] == [_prune(one, rank) for one in right]


def _prune(nested: Nested, rank: int) -> Nested:
    if rank < 2:
        return nested
    if rank == 2:
        return [child for child in nested if child]
    return [_prune(child, rank - 1) for child in nested]


def from_repsig(repsig: Sequence[Symbol], x: Sequence[Token]) -> list[Token]:
    """Read a repeat signal (``R``, ``S``, ``D``) by the stream that it repeats.

    SAM flattens the signal: one ``R`` for each token, one ``S`` for each token of x.

    Parameters
    ----------
    repsig : sequence
    x : sequence of Token
        The stream to repeat.

    Returns
    -------
    list of Token
        One rank above x, with payloads 0, 1, ... in every fiber.

    Raises
    ------
    TokenError
        The signal does not fit x.
    """
    signal: list[Token] = []
    rest = list(repsig)
    for payload, empty, close in x:
        if STOP not in rest:
            raise TokenError("SAM repeat signal: it ends before the stream that it repeats")
        count = rest.index(STOP)
        del rest[: count + 1]
        if empty and count:
            raise TokenError(
                f"SAM repeat signal: it repeats the empty token {payload, empty, close}"
            )
        signal += encode(list(range(count)), 1)[:-1]
        last = Token(count - 1, 0, close + 1) if count else Token(None, empty + 1, close + 1)
        signal.append(last)
    if rest != [DONE]:
        raise TokenError("SAM repeat signal: it goes on after the stream that it repeats")
    return signal


def to_repsig(symbols: Iterable[Symbol]) -> list[Symbol]:
    """Flatten a SAM coordinate stream to its repeat signal."""
    signal: list[Symbol] = []
    for symbol in symbols:
        stop = stop_level(symbol) is not None
        signal.append(DONE if symbol == DONE else STOP if stop else REPEAT)
    return signal


def from_points(
    outer: Sequence[Symbol], inner: Sequence[Symbol], values: Sequence[Symbol], kept: int
) -> dict[str, list[Token]]:
    """Read the flat point lists of SAM's accumulators as our nested input streams.

    SAM's accumulator of one kept level starts a new row where `outer` changes; that of two
    kept levels sums all points of one list.

    Returns
    -------
    dict of str to list of Token
        ``crd`` and ``val`` (rank 3 with one kept level: row, point, coordinate; rank 3 with
        two: point, outer, coordinate) and, with two kept levels, ``outer`` (rank 2).
    """
    points = list(zip(outer[:-1], inner[:-1], values[:-1], strict=True))
    if kept == 2:
        return {
            "outer": encode([[row] for row, _, _ in points], 2),
            "crd": encode([[[crd]] for _, crd, _ in points], 3),
            "val": encode([[[value]] for _, _, value in points], 3),
        }
    rows: list[list[tuple[Symbol, Symbol]]] = []
    for place, (row, crd, value) in enumerate(points):
        if not place or row != points[place - 1][0]:
            rows.append([])
        rows[-1].append((crd, value))
    return {
        name: encode([[[point[column]] for point in row] for row in rows], 3)
        for column, name in enumerate(("crd", "val"))
    }
