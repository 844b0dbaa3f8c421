"""The text form of programs, ``.ff`` files: statements, one a line, and their schedule.

Every statement group (`fuseflow.compiler.groups`) is written out on reading.
"""

import re
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import TypeVar

from fuseflow.compiler.expr import Access, Statement
from fuseflow.compiler.groups import GROUPS, fresh, layernorm, softmax
from fuseflow.compiler.parse import END, NAME, NUMBER, StatementReader
from fuseflow.compiler.program import Part, Program, ProgramError, Region
from fuseflow.samml.errors import ParseError
from fuseflow.samml.values import Number

KEYWORDS = ("format", "fill", "order", "fuse", "result")

_TOKEN = re.compile(rf"{NAME.pattern}|{NUMBER.pattern}|[=+\-*/(),\[\]{{}}:;\n]")
_BLANK = re.compile(r"(?:[^\S\n]|#[^\n]*)*")
_OPEN = ("=", "+", "-", "*", "/", ",")
"""A line that ends so goes on in the next one."""

_Entry = TypeVar("_Entry")


def read_program(path: str | PathLike[str]) -> Program:
    """Read a program from a file.

    Parameters
    ----------
    path : path

    Raises
    ------
    ParseError
        The file cannot be read, or is no program.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseError(
            f"cannot read '{path}': byte {error.start + 1} is not UTF-8; save it as UTF-8 text"
        ) from None
    except (OSError, ValueError) as error:  # a path that holds a null byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise ParseError(f"cannot read '{path}': {reason}; give the file of a program") from None
    return parse_program(text, str(path))


def parse_program(text: str, name: str = "<program>") -> Program:
    """Parse a program.

    Parameters
    ----------
    text : str
    name : str
        What errors call the text.

    Raises
    ------
    ParseError
        Names the line and column (from 1), and what was expected there.
    """
    return _ProgramReader(text, name).program()


def print_program(program: Program) -> str:
    """Return the text form of a program, which parses back to an equal one."""
    lines = [f"format {name} = {form}" for name, form in program.formats.items()]
    lines += [f"fill {name} = {fill}" for name, fill in program.fills.items()]
    if program.order:
        lines.append(f"order {', '.join(program.order)}")
    starts = {region.start: region for region in program.regions}
    for position, statement in enumerate(program.statements):
        if (region := starts.get(position)) is not None:
            lines.append(f"fuse {region.name} {{" if region.name else "fuse {")
            if region.order:
                lines.append(f"  order {', '.join(region.order)}")
        inside = program.region(position)
        lines.append(f"  {statement}" if inside else str(statement))
        if inside is not None and position + 1 == inside.stop:
            lines.append("}")
    lines.append(f"result {', '.join(program.results)}")
    return "\n".join(lines) + "\n"


class _ProgramReader(StatementReader):
    """Recursive descent over the tokens of a program."""

    ends = ("\n", ";", "}", END)
    ending = "the end of the line"

    def __init__(self, text: str, title: str) -> None:
        self._title = title
        super().__init__(text)
        self._taken = {token for token, _ in self._tokens if NAME.fullmatch(token)}
        self._places: dict[tuple[Part, int | str | None], int] = {}
        self._statements: list[Statement] = []
        self._regions: list[Region] = []
        self._order: tuple[str, ...] = ()
        self._formats: dict[str, str] = {}
        self._fills: dict[str, Number] = {}
        self._results: list[str] = []

    def tokens(self) -> Iterator[tuple[str, int]]:
        """Yield every token; the end of a line is one where a statement can end."""
        depth, before, place = 0, "\n", 0
        while (place := _end_of_blank(self.text, place)) < len(self.text):
            match = _TOKEN.match(self.text, place)
            if match is None:
                raise self.error(f"unexpected {self.text[place]!r}", place)
            token, place = match.group(), match.end()
            depth = max(depth + (token in ("(", "[")) - (token in (")", "]")), 0)
            if token != "\n" or (depth == 0 and before not in _OPEN):
                yield token, match.start()
                before = token

    def error(self, problem: str, place: int) -> ParseError:
        """Return the error of a place, by line and column."""
        line = self.text.count("\n", 0, place) + 1
        column = place - self.text.rfind("\n", 0, place)
        return ParseError(f"{self._title}:{line}:{column}: {problem}")

    def shown(self) -> str:
        """Return what an error calls the next token."""
        return self.ending if self.token == "\n" else super().shown()

    def program(self) -> Program:
        """Read the whole program."""
        while self._more():
            self._line()
        try:
            return Program(
                tuple(self._statements),
                tuple(self._results),
                tuple(self._regions),
                self._order,
                self._formats,
                self._fills,
            )
        except ProgramError as error:
            raise self.error(str(error), self._places.get((error.part, error.key), 0)) from None

    def _more(self) -> bool:
        """Skip empty lines; tell whether the text goes on."""
        while self.take("\n", ";"):
            pass
        return self.token != END

    def _keyword(self) -> str | None:
        """Return the keyword that comes next, unless it is the name of a tensor."""
        return self.token if self.token in KEYWORDS and self.following not in ("=", "(") else None

    def _line(self) -> None:
        match self._keyword():
            case None:
                self._statement()
                return
            case "fuse":
                self._fuse()
            case "order":
                self._order = self._priority(self._order, None)
            case "format":
                self._entries(Part.FORMAT, self._formats, self._format)
            case "fill":
                self._entries(Part.FILL, self._fills, self.fill)
            case _:
                self._result()
        self.end()

    def _fuse(self) -> None:
        number = len(self._regions)
        self._places[Part.REGION, number] = self.place
        self.name("'fuse'")
        name = "" if self.token == "{" else self.name("the name of a region or '{'")
        self.expect("{")
        start = len(self._statements)
        order: tuple[str, ...] = ()
        while self._more() and self.token != "}":
            match self._keyword():
                case None:
                    self._statement()
                case "order":
                    order = self._priority(order, number)
                    self.end()
                case keyword:
                    raise self.error(
                        f"'{keyword}' inside of a region: move it out of the braces", self.place
                    )
        self.expect("}")
        self._regions.append(Region(start, len(self._statements), order, name))

    def _priority(self, earlier: tuple[str, ...], key: int | None) -> tuple[str, ...]:
        if earlier:
            raise self.error("a second order: put all indices into one", self.place)
        self._places[Part.ORDER, key] = self.place
        self.name("'order'")
        return self.names("an index")

    def _result(self) -> None:
        self.name("'result'")
        more = True
        while more:
            self._places[Part.RESULT, self.token] = self.place
            self._results.append(self.name("a result"))
            more = self.take(",") is not None

    def _entries(self, part: Part, known: dict[str, _Entry], read: Callable[[], _Entry]) -> None:
        """Read ``name = entry, ...``."""
        self.name("a keyword")
        more = True
        while more:
            place = self.place
            name = self.name("a tensor")
            if name in known:
                raise self.error(f"a second {part.value} of '{name}': give one", place)
            self._places[part, name] = place
            self.expect("=")
            known[name] = read()
            more = self.take(",") is not None

    def _format(self) -> str:
        """Read a format; a number behind a comma belongs to it, a name does not."""
        form = self.name("a format")
        if not self.take(":"):
            return form
        modes = [self._mode()]
        while self.token == "," and NUMBER.fullmatch(self.following):
            self.expect(",")
            modes.append(self._mode())
        return f"{form}:{','.join(modes)}"

    def _mode(self) -> str:
        if not (self.token.isdigit() and len(self.token) == 1):
            raise self.wanted("a mode, which is one digit")
        mode = self.token
        self.take(mode)
        return mode

    def _statement(self) -> None:
        """Read a statement or a group of them."""
        place = self.place
        target = self.access("a statement")
        self.expect("=")
        grouped = self.token in GROUPS and self.following == "["
        refusal = self.group_error()
        build = self._group(target) if grouped else self._single(target)
        if grouped and self.token not in self.ends:
            raise refusal
        self.end()
        try:
            statements = build()
        except ParseError as error:
            raise self.error(str(error), place) from None
        for statement in statements:
            self._places[Part.STATEMENT, len(self._statements)] = place
            self._statements.append(statement)

    def _single(self, target: Access) -> Callable[[], list[Statement]]:
        value = self.value()
        return lambda: [Statement(target, value)]

    def _group(self, target: Access) -> Callable[[], list[Statement]]:
        group = self.name("a group")
        indices = self.bracket()
        self.expect("(")
        body = self.value()

        def naming(suffix: str) -> str:
            return fresh(f"{target.tensor}_{suffix}", self._taken)

        if group == "softmax":
            self.expect(")")
            return lambda: softmax(target, indices, body, naming)
        self.expect(",")
        size = self.number("the number of elements that layernorm normalises over")
        self.expect(",")
        eps = self.number("what layernorm adds to the variance")
        self.expect(")")
        return lambda: layernorm(target, indices, body, size, eps, naming)


def _end_of_blank(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    assert blank is not None, "it may be empty"
    return blank.end()
