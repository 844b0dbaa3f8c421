"""The token protocol: `encode`, `decode`, and what is illegal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuseflow.samml.errors import TokenError
from fuseflow.samml.tokens import Token, check, decode, decode_all, encode, project
from tests.samml.strategies import nested, quick, ranked
from tests.shared_data import vectors

CODEC = [case for case in vectors("tokens.json") if case["primitive"] == "codec"]


@pytest.mark.skipif(not CODEC, reason="needs ../shared/vectors/tokens.json")
def test_codec_vectors() -> None:
    assert len(CODEC) == 20
    for case in CODEC:
        tokens = [Token(*token) for token in case["outputs"]["tokens"]]
        assert encode(case["inputs"]["nested"], case["rank"]) == tokens
        assert decode(tokens, case["rank"]) == case["inputs"]["nested"]


@pytest.mark.parametrize(
    ("value", "rank", "tokens"),
    [
        (7, 0, [(7, 0, 0)]),
        ([1, 3], 1, [(1, 0, 0), (3, 0, 1)]),
        ([], 1, [(None, 1, 1)]),
        ([[1, 3], [], [0]], 2, [(1, 0, 0), (3, 0, 1), (None, 1, 1), (0, 0, 2)]),
        ([], 2, [(None, 2, 2)]),
        ([[]], 2, [(None, 1, 2)]),
    ],
)
def test_design_table(value, rank: int, tokens: list[tuple]) -> None:
    assert encode(value, rank) == tokens
    assert decode([Token(*token) for token in tokens], rank) == value


@quick
@given(ranked)
def test_round_trip(case) -> None:
    rank, value = case
    tokens = encode(value, rank)
    assert decode(tokens, rank) == value
    assert [token.close == rank for token in tokens] == [False] * (len(tokens) - 1) + [True]
    assert list(check(tokens, rank)) == tokens


@quick
@given(st.integers(0, 3).flatmap(lambda r: st.tuples(st.just(r), st.lists(nested(r), max_size=4))))
def test_streams_back_to_back(case) -> None:
    rank, values = case
    tokens = [token for value in values for token in encode(value, rank)]
    assert decode_all(tokens, rank) == values


@quick
@given(
    st.integers(0, 2).flatmap(
        lambda rank: st.tuples(
            st.just(rank),
            st.lists(
                st.builds(Token, st.just(0), st.integers(0, rank + 1), st.integers(0, rank + 1)),
                max_size=6,
            ),
        )
    )
)
def test_whatever_decodes_encodes_to_the_same_tokens(case) -> None:
    """`check` lets exactly the image of `encode` through."""
    rank, tokens = case
    tokens = [Token(None if token.empty else 0, *token[1:]) for token in tokens]
    try:
        values = decode_all(tokens, rank)
    except TokenError:
        return
    assert [token for value in values for token in encode(value, rank)] == tokens


@pytest.mark.parametrize(
    ("rank", "tokens", "message"),
    [
        (1, [(0, 0, 2)], "token 0: empty 0, close 2 is illegal at rank 1"),
        (1, [(0, 0, -1)], "token 0: empty 0, close -1 is illegal at rank 1"),
        (2, [(0, 0, 0), (None, 1, 0)], "token 1: empty 1, close 0 is illegal at rank 2"),
        (2, [(None, 2, 1)], "token 0: empty 2, close 1 is illegal at rank 2"),
        (1, [(0, 0, 0), (None, 1, 1)],
         "token 1: empty 1 exceeds the close 0 of the token before"),
        (2, [(0, 0, 1), (None, 2, 2)],
         "token 1: empty 2 exceeds the close 1 of the token before"),
        (2, [(0, 0, 1)], "the stream of rank 2 ends before a token with close 2"),
    ],
)  # fmt: skip
def test_illegal_tokens(rank: int, tokens: list[tuple], message: str) -> None:
    with pytest.raises(TokenError) as caught:
        decode_all([Token(*token) for token in tokens], rank)
    assert str(caught.value) == message


def test_decode_wants_one_stream() -> None:
    with pytest.raises(TokenError, match="expected one stream of rank 0, got 2"):
        decode([Token(1, 0, 0), Token(2, 0, 0)], 0)


def test_project_keeps_columns() -> None:
    assert project([[(1, 2, 3)], []], 2, (2, 0)) == [[(3, 1)], []]
