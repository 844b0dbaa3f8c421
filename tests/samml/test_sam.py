"""Conversion between our tokens and SAM's notation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuseflow.samml.errors import ParseError, TokenError
from fuseflow.samml.sam import (
    from_points,
    from_repsig,
    from_sam,
    from_sam_aligned,
    from_sam_like,
    sam_rank,
    same_sam,
    stop_level,
    to_repsig,
    to_sam,
    to_sam_aligned,
    without_absent,
)
from fuseflow.samml.tokens import Token, decode, decode_all, encode
from tests.samml.strategies import nested, payloads, quick, ranked
from tests.shared_data import vectors

CASES = vectors("sam_primitives.json")
needs_vectors = pytest.mark.skipif(not CASES, reason="needs ../shared/vectors/sam_primitives.json")
SPECIAL = {"repsig", "skip", "skip1", "skip2", "arr", "seg", "vals"}


def streams() -> list[list]:
    return [
        symbols
        for case in CASES
        for side in ("inputs", "outputs")
        for name, symbols in case[side].items()
        if name not in SPECIAL and not (case["primitive"] == "CompressWrScan" and side == "outputs")
    ]


@needs_vectors
def test_every_vector_stream_round_trips() -> None:
    assert len(CASES) == 278
    assert len(streams()) > 700
    for symbols in streams():
        rank = sam_rank(symbols)
        tokens = from_sam(symbols)
        assert to_sam(tokens, rank) == symbols
        assert same_sam(tokens, symbols, rank)


@needs_vectors
def test_every_repeat_vector_converts() -> None:
    cases = [case for case in CASES if case["primitive"] == "Repeat"]
    assert len(cases) == 25
    for case in cases:
        x = from_sam(case["inputs"]["ref"])
        signal = from_repsig(case["inputs"]["repsig"], x)
        rank = sam_rank(case["inputs"]["ref"]) + bool(x)
        assert to_repsig(to_sam(signal, rank)) == case["inputs"]["repsig"]
        assert [t.close for t in signal] == [t.close for t in from_sam(case["outputs"]["ref"])]


@needs_vectors
def test_every_repeat_signal_vector() -> None:
    cases = [case for case in CASES if case["primitive"] == "RepeatSigGen"]
    assert len(cases) == 36
    for case in cases:
        assert to_repsig(case["inputs"]["crd"]) == case["outputs"]["repsig"]


@needs_vectors
def test_every_scan_and_join_output_is_aligned() -> None:
    names = {"CompressedCrdRdScan", "UncompressCrdRdScan", "Intersect2", "Union2"}
    cases = [case for case in CASES if case["primitive"] in names]
    assert len(cases) == 90
    for case in cases:
        out = {k: v for k, v in case["outputs"].items() if k not in SPECIAL}
        rank = sam_rank(out["crd"])
        tokens = from_sam_aligned(out, rank)
        assert to_sam_aligned(tokens, rank, list(out)) == without_absent(out)


@needs_vectors
def test_every_drop_vector_reads_by_its_outer_stream() -> None:
    cases = [case for case in CASES if case["primitive"] == "CrdDrop"]
    assert len(cases) == 10
    for case in cases:
        outer = from_sam(case["inputs"]["outer_crd"])
        inner = from_sam_like(case["inputs"]["inner_crd"], outer, 1)
        rank = sam_rank(case["inputs"]["inner_crd"])
        assert [t.close - 1 for t in inner if t.close] == [t.close for t in outer]
        assert same_sam(inner, case["inputs"]["inner_crd"], rank)


def lift(value, rank: int):
    """The lowest reading of a nested list: fibers without fibers hold one empty fiber."""
    if rank < 2:
        return value
    return [lift(child, rank - 1) for child in value or [[]]]


@quick
@given(ranked)
def test_nested_lists_round_trip_to_the_lowest_reading(case) -> None:
    rank, value = case
    tokens = encode(value, rank)
    symbols = to_sam(tokens, rank)
    assert same_sam(tokens, symbols, rank)
    again = decode(from_sam(symbols, rank), rank)
    assert again == lift(value, rank)
    assert to_sam(encode(again, rank), rank) == symbols


@quick
@given(st.integers(1, 3).flatmap(lambda r: st.tuples(st.just(r), st.lists(nested(r), max_size=3))))
def test_several_streams_share_one_done(case) -> None:
    rank, values = case
    tokens = [token for value in values for token in encode(value, rank)]
    symbols = to_sam(tokens, rank)
    assert symbols.count("D") == 1
    assert decode_all(from_sam(symbols, rank), rank) == [lift(value, rank) for value in values]


@quick
@given(st.integers(0, 3).flatmap(lambda r: st.tuples(st.just(r), nested(r + 1))))
def test_an_outer_stream_settles_the_reading(case) -> None:
    """Every coordinate of the outer stream has one fiber below it."""
    rank, inner = case
    tokens = encode(inner, rank + 1)
    outer = [
        Token(None if token.empty > 1 else 0, max(0, token.empty - 1), token.close - 1)
        for token in tokens
        if token.close
    ]
    assert from_sam_like(to_sam(tokens, rank + 1), outer, 1, rank + 1) == tokens


@quick
@given(ranked, st.data())
def test_repeat_signals_round_trip(case, data: st.DataObject) -> None:
    rank, value = case
    x = encode(value, rank)
    signal: list[Token] = []
    for _, empty, close in x:
        count = 0 if empty else data.draw(st.integers(0, 3))
        signal += [Token(k, 0, 0) for k in range(count - 1)]
        last = Token(count - 1, 0, close + 1) if count else Token(None, empty + 1, close + 1)
        signal.append(last)
    decode(signal, rank + 1)
    assert from_repsig(to_repsig(to_sam(signal, rank + 1)), x) == signal


@quick
@given(st.lists(st.lists(st.tuples(payloads, payloads), max_size=3), max_size=3))
def test_aligned_streams_round_trip(rows) -> None:
    tokens = encode(rows, 2)
    columns = to_sam_aligned(tokens, 2, ("crd", "val"))
    assert decode(from_sam_aligned(columns, 2), 2) == lift(rows, 2)


@pytest.mark.parametrize(
    ("symbols", "rank", "tokens"),
    [
        ([7, "D"], 0, [(7, 0, 0)]),
        (["D"], 0, []),
        (["S1", "D"], 2, [(None, 1, 2)]),
        ([5, "S0", "S1", "D"], 2, [(5, 0, 1), (None, 1, 2)]),
        ([0, "N", "S0", "D"], 1, [(0, 0, 0), (None, 0, 1)]),
        ([1, 2, "D"], 0, [(1, 0, 0), (2, 0, 0)]),
    ],
)
def test_readings(symbols: list, rank: int, tokens: list[tuple]) -> None:
    assert from_sam(symbols) == tokens
    assert sam_rank(symbols) == rank


def test_all_heights_of_a_bare_stop_are_the_same_in_sam() -> None:
    for empty in (1, 2, 3):
        assert to_sam([Token(None, empty, 3)], 3) == ["S2", "D"]
        assert same_sam([Token(None, empty, 3)], ["S2", "D"], 3)
    assert stop_level("S12") == 12
    assert stop_level("S") is None


def test_same_sam_can_overlook_empty_fibers() -> None:
    dropped = encode([[6]], 2)
    assert not same_sam(dropped, [6, "S0", "S1", "D"], 2)
    assert same_sam(dropped, [6, "S0", "S1", "D"], 2, empties=False)
    assert not same_sam(dropped, [7, "S0", "S1", "D"], 2, empties=False)


def test_absent_coordinates_are_no_elements() -> None:
    both = {"crd": ["N", "S0", 1, "S1", "D"], "ref": ["N", "S0", "N", "S1", "D"]}
    assert from_sam_aligned(both) == [(None, 1, 1), ((1, None), 0, 2)]


def test_points_become_fibers() -> None:
    one = from_points([0, 0, 2, "D"], [1, 0, 4, "D"], [5, 6, 7, "D"], kept=1)
    assert decode(one["crd"], 3) == [[[1], [0]], [[4]]]
    assert decode(one["val"], 3) == [[[5], [6]], [[7]]]
    two = from_points([0, 0, 2, "D"], [1, 0, 4, "D"], [5, 6, 7, "D"], kept=2)
    assert decode(two["outer"], 2) == [[0], [0], [2]]
    assert decode(two["crd"], 3) == [[[1]], [[0]], [[4]]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_sam([1, "S0"]), "SAM stream: 'D' is missing at the end"),
        (lambda: from_sam([1, "D", "D"]), "SAM stream: 'D' is no payload, stop or 'N'"),
        (lambda: from_sam([1, "R", "D"]), "SAM stream: 'R' is no payload, stop or 'N'"),
    ],
)
def test_malformed_sam(call, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_sam([1, "S0", 2, "S1", "D"], 1),
         "token 1: empty 0, close 2 is illegal at rank 1"),
        (lambda: from_sam([1, "S0", 2, "D"], 1),
         "the stream of rank 1 ends before a token with close 1"),
        (lambda: from_sam_aligned({"crd": [1, "S0", "D"], "ref": ["S0", 1, "D"]}, 1),
         "the stream of rank 1 ends before a token with close 1"),
        (lambda: from_sam_aligned({"a": [1, "S0", "D"], "b": ["S0", "D"]}),
         "SAM streams a, b differ in shape"),
        (lambda: without_absent({"crd": [1, "D"], "ref": ["D"]}),
         "SAM streams: crd and its companions differ in length"),
        (lambda: from_sam_like([1, "S1", "D"], encode([1, 2], 1), 1),
         "SAM stream: no outer token goes with (1, 0, 2)"),
        (lambda: from_sam_like(["D"], encode([1], 1), 1),
         "SAM stream: it ends before its outer stream"),
        (lambda: from_sam_like([1, "S1", "D"], encode([], 1), 1),
         "SAM stream: (1, 0, 2) lies below an empty outer token"),
        (lambda: from_repsig(["D"], encode([1], 1)),
         "SAM repeat signal: it ends before the stream that it repeats"),
        (lambda: from_repsig(["R", "S", "D"], encode([], 1)),
         "SAM repeat signal: it repeats the empty token (None, 1, 1)"),
        (lambda: from_repsig(["R", "S", "S", "D"], encode([1], 1)),
         "SAM repeat signal: it goes on after the stream that it repeats"),
    ],
)  # fmt: skip
def test_streams_that_do_not_fit(call, message: str) -> None:
    with pytest.raises(TokenError) as caught:
        call()
    assert str(caught.value) == message
