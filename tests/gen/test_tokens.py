"""Tokens to words and back."""

import pytest

from fuseflow.samml.streams import Field, Kind, Level, StreamType
from fuseflow.samml.tokens import Token
from fuseflow.samml.values import BF16, INT8, INT16
from gen.tokens import pack, token_fields, unpack
from hw.layout import Widths

WIDTHS = Widths(crd=5, ref=7, value=INT16)
LEVELS = (Level("i", "b_i"), Level("j", "b_j"))
BUNDLE = StreamType(
    (Field("crd", Kind.CRD), Field("ref", Kind.REF), Field("val", Kind.VAL)), LEVELS
)


@pytest.mark.parametrize(
    "token",
    [
        Token((31, 127, -1), 0, 0),
        Token((0, 0, -(1 << 15)), 0, 2),
        Token((3, None, (1 << 15) - 1), 0, 1),
        Token(None, 1, 2),
    ],
)
def test_a_word_holds_a_token(token: Token) -> None:
    described = token_fields(BUNDLE, WIDTHS)
    word = pack(token, described)
    assert 0 <= word < 1 << described["width"]
    assert unpack(word, described) == token


FLOATS = StreamType((Field("val", Kind.VAL), Field("sum", Kind.SUM)), LEVELS)


@pytest.mark.parametrize("payload", [(0x8000, 0xFFFF_FFFF), (0xFFFF, 0x8000_0000), (1, 0)])
def test_patterns_are_unsigned(payload: tuple[int, int]) -> None:
    described = token_fields(FLOATS, Widths(crd=5, ref=7, value=BF16))
    assert [field["width"] for field in described["fields"]] == [16, 32]
    token = Token(payload, 0, 1)
    assert unpack(pack(token, described), described) == token


def test_integer_sums_are_signed_and_wide() -> None:
    described = token_fields(FLOATS, Widths(crd=5, ref=7, value=INT8))
    assert [field["width"] for field in described["fields"]] == [8, 32]
    token = Token((-128, -(1 << 31)), 0, 1)
    assert unpack(pack(token, described), described) == token


def test_a_token_without_fields() -> None:
    described = token_fields(StreamType((), LEVELS), WIDTHS)
    assert described["width"] == 4
    assert unpack(pack(Token((), 0, 2), described), described) == Token((), 0, 2)
