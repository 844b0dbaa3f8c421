"""Splits lines of the SAMML text form into words and punctuation."""

import json
import re

from fuseflow.samml.errors import ParseError
from fuseflow.samml.values import Number, number

WORD = re.compile(r"[^\s.,=(){}\"#<]+")
NUMBER = re.compile(r"-?(?:inf|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)(?![^\s,=(){}\"#<])")
LONGEST = 18
"""Most digits of an integer; more are read as floating point where that is allowed."""
_PART = re.compile(r'\s+|#.*|"(?:[^"\\]|\\.)*"|<-|' + NUMBER.pattern + "|[.,=(){}]|" + WORD.pattern)


def read_number(text: str) -> Number:
    """Read a text that matches `NUMBER`."""
    digits = text.removeprefix("-")
    whole = digits.isdecimal() and len(digits) <= LONGEST
    return int(text) if whole else number(float(text))


class Cursor:
    """A place in one line; every method moves on or raises `ParseError`.

    Parameters
    ----------
    text : str
    where : str
        What error messages call the line.
    """

    def __init__(self, text: str, where: str) -> None:
        self.indented = text[:1].isspace()
        self._where = where
        self._parts: list[str] = []
        self._next = 0
        place = 0
        while place < len(text):
            found = _PART.match(text, place)
            if found is None:
                raise self.error(f"stray '{text[place]}'")
            place = found.end()
            part = found.group()
            if not part.isspace() and not part.startswith("#"):
                self._parts.append(part)

    @classmethod
    def lines(cls, text: str, where: str) -> list["Cursor"]:
        """Return one cursor for each line that is not blank."""
        cursors = [cls(line, f"{where}:{k}") for k, line in enumerate(text.split("\n"), 1)]
        return [cursor for cursor in cursors if cursor._parts]

    @property
    def quoted(self) -> bool:
        """Whether the next part is a quoted word."""
        return self._peek().startswith('"')

    @property
    def at_number(self) -> bool:
        """Whether the next part is a number."""
        return NUMBER.fullmatch(self._peek()) is not None

    def word(self, what: str) -> str:
        """Take a plain or quoted word; `what` describes it in an error."""
        part = self._peek()
        if self.quoted:
            self._next += 1
            try:
                return json.loads(part)
            except ValueError:
                raise self.error(f"{part} is not a JSON string") from None
        if not WORD.fullmatch(part):
            raise self.expected(what, ahead=True)
        self._next += 1
        return part

    def number(self) -> int:
        """Take an integer."""
        part = self._peek()
        if not re.fullmatch(rf"-?[0-9]{{1,{LONGEST}}}", part):
            raise self.expected("an integer", ahead=True)
        self._next += 1
        return int(part)

    def real(self) -> Number:
        """Take any number."""
        part = self._peek()
        if not NUMBER.fullmatch(part):
            raise self.expected("a number", ahead=True)
        self._next += 1
        return read_number(part)

    def take(self, part: str) -> bool:
        """Take this very part if it comes next."""
        if self._peek() != part:
            return False
        self._next += 1
        return True

    def keyword(self, part: str) -> None:
        """Take this very part, which must come next."""
        if not self.take(part):
            raise self.expected(f"'{part}'", ahead=True)

    def end(self) -> None:
        """Make sure that the line ends here."""
        if self._peek():
            raise self.expected("the end of the line", ahead=True)

    def expected(self, what: str, *, ahead: bool = False) -> ParseError:
        """Build the error that something else stands at the last part, or at the next one."""
        part = self._peek() if ahead else self._parts[max(self._next - 1, 0)]
        return self.error(f"expected {what}, got {repr(part) if part else 'the end of the line'}")

    def error(self, problem: str) -> ParseError:
        """Build an error at this line."""
        return ParseError(f"{self._where}: {problem}")

    def _peek(self) -> str:
        return self._parts[self._next] if self._next < len(self._parts) else ""
