"""Edge digests against published FNV-1a answers."""

from functools import reduce

import pytest

from fuseflow.samml.digest import DIGEST_START, MASK, NULL_WORD, step


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (b"", 0xCBF29CE484222325),
        (b"a", 0xAF63DC4C8601EC8C),
        (b"foobar", 0x85944171F73967E8),
    ],
)
def test_bytes_give_the_published_hash(text: bytes, digest: int) -> None:
    assert reduce(step, text, DIGEST_START) == digest


def test_a_word_is_one_step() -> None:
    """An issue in cycle 5, then the pop of a null ref with close 1 as the contract spells it."""
    digest = reduce(step, (5, 0 << 8 | 1, NULL_WORD), DIGEST_START)
    assert digest == 0x51FEEDE7AC75E4C4
    assert 0 <= digest <= MASK
