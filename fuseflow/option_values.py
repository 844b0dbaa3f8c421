"""What the values of options say: names with something each, numbers and sizes."""

from collections.abc import Sequence

from fuseflow.samml.errors import ParseError
from fuseflow.samml.graph import LARGEST_SIZE


def pairs(option: str, values: Sequence[str] | None) -> list[tuple[str, str]]:
    """Split every ``NAME=VALUE``.

    Raises
    ------
    ParseError
        One is something else, or a name is given twice.
    """
    found: dict[str, str] = {}
    for value in values or ():
        name, equals, text = (part.strip() for part in value.partition("="))
        if not (name and equals and text):
            raise ParseError(f"{option} {value}: write NAME=VALUE")
        if name in found:
            raise ParseError(f"{option} {name} is given twice: keep one")
        found[name] = text
    return list(found.items())


def real(text: str) -> float | None:
    """Return a number; None where there is none."""
    try:
        return float(text)
    except ValueError:
        return None


def share(option: str, text: str) -> float:
    """Return a share from 0 to 1.

    Raises
    ------
    ParseError
    """
    found = real(text)
    if found is None or not 0 <= found <= 1:
        raise ParseError(f"{option}={text}: write a share from 0 to 1")
    return found


def size(option: str, text: str) -> int:
    """Return a size.

    Raises
    ------
    ParseError
    """
    if not (
        text.isascii() and text.isdecimal() and len(text) < 11 and 1 <= int(text) <= LARGEST_SIZE
    ):
        raise ParseError(f"{option}={text}: write a positive number below 2^31")
    return int(text)


def sizes(option: str, text: str) -> int | list[int]:
    """Return a size, or several that commas separate.

    Raises
    ------
    ParseError
    """
    found = [size(option, part.strip()) for part in text.split(",")]
    return found if len(found) > 1 else found[0]
