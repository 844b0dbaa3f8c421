"""Tokens as bits: where their parts lie, and both ways between them and words."""

from collections.abc import Mapping
from typing import Any

from amaranth import Shape
from amaranth.lib import data

from fuseflow.samml.streams import Kind, StreamType
from fuseflow.samml.tokens import Token
from hw.layout import REF_NULL, Widths, token_layout


def token_fields(stream: StreamType, widths: Widths) -> dict[str, Any]:
    """Return where the bits of a token lie: offset and width of every part.

    A ref has a second offset, that of its null bit; `signed` tells two's complement.
    """
    layout = token_layout(stream, widths)
    fields: list[dict[str, Any]] = []
    for field in stream.fields:
        base, bundle = layout["data"].offset, layout["data"].shape
        assert isinstance(bundle, data.StructLayout)
        place = bundle[field.name]
        described: dict[str, Any] = {
            "name": field.name,
            "kind": field.kind.value,
            "offset": base + place.offset,
            "width": place.width,
        }
        if isinstance(place.shape, Shape):
            described["signed"] = place.shape.signed
        if field.kind is Kind.REF:
            assert isinstance(place.shape, data.StructLayout)
            described["width"] = place.shape["addr"].width
            described["null"] = base + place.offset + place.shape[REF_NULL].offset
        fields.append(described)
    return {
        "rank": stream.rank,
        "width": layout.size,
        "close": {"offset": layout["close"].offset, "width": layout["close"].width},
        "empty": {"offset": layout["empty"].offset, "width": layout["empty"].width},
        "fields": fields,
    }


def pack(token: Token, described: Mapping[str, Any]) -> int:
    """Return the word of a token whose bits lie as `token_fields` says."""
    word = _placed(token.close, described["close"]) | _placed(token.empty, described["empty"])
    if token.empty:
        return word
    for field, value in zip(described["fields"], token.payload, strict=True):
        word |= 1 << field["null"] if value is None else _placed(value, field)
    return word


def unpack(word: int, described: Mapping[str, Any]) -> Token:
    """Return the token of a word; the inverse of `pack`."""
    empty, close = _part(word, described["empty"]), _part(word, described["close"])
    if empty:
        return Token(None, empty, close)
    return Token(tuple(_field(word, field) for field in described["fields"]), empty, close)


def _field(word: int, field: Mapping[str, Any]) -> int | None:
    value = _part(word, field)
    if "null" in field and word >> field["null"] & 1:
        return None
    if field.get("signed") and value >> (field["width"] - 1):
        value -= 1 << field["width"]
    return value


def _placed(value: int, place: Mapping[str, int]) -> int:
    return (value & ((1 << place["width"]) - 1)) << place["offset"]


def _part(word: int, place: Mapping[str, int]) -> int:
    return word >> place["offset"] & ((1 << place["width"]) - 1)
