"""The two ways to write a statement: ``X(i,j) = B(i,k) * C(k,j)`` and ``ik,kj->ij``."""

import math
import re
from collections.abc import Iterator
from typing import Protocol

from fuseflow.compiler.expr import (
    FOLDS,
    UNARY,
    Access,
    Binary,
    Constant,
    Expr,
    Fold,
    Statement,
    Unary,
    Where,
    chain,
)
from fuseflow.compiler.groups import GROUPS
from fuseflow.samml.errors import ParseError
from fuseflow.samml.values import Number, number

NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
FUNCTIONS = (*UNARY, "max", "min", "where")
"""Names that no tensor can have before a parenthesis."""
END = "the end"
"""The token behind the last one."""

_TOKEN = re.compile(rf"\s*({NAME.pattern}|{NUMBER.pattern}|[=+\-*/(),\[\]])")
_SIGNS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_WHOLE_DIGITS = 18
"""Numbers of more digits are read as floating point, as every number with a point is."""
_DEEPEST = 50
_MOST_OPERATIONS = 150
"""Every walk over an expression may be recursive: these bounds keep it within Python's stack."""


def parse(text: str) -> Statement:
    """Parse one statement.

    Parameters
    ----------
    text : str
        Such as ``x(i) = b(i) - C(i,j) * d(j)``; scalars are bare names. There are numbers, a
        leading ``-``, a function of `UNARY` such as ``relu(e)``, ``max(e, ...)``,
        ``min(e, ...)``, masks ``where(M(i,j), e, -inf)``, and folds ``sum[j](e)``,
        ``max[j,k](e)``, ``min[j](e)``.

    Raises
    ------
    ParseError
        Names the position (from 1) and what was expected there.
    """
    return StatementReader(text).statement()


class StatementReader:
    """Recursive descent over the tokens of one statement.

    A reader of a larger language changes `tokens`, `error`, `ends` and `ending`.

    Parameters
    ----------
    text : str
    """

    ends: tuple[str, ...] = (END,)
    """The tokens that may stand behind a statement."""
    ending = END
    """What errors call them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = [*self.tokens(), (END, len(text.rstrip()))]
        self._at = 0
        self._depth = 0
        self._operations = 0

    def tokens(self) -> Iterator[tuple[str, int]]:
        """Yield every token with its position."""
        place, end = 0, len(self.text.rstrip())
        while place < end:
            match = _TOKEN.match(self.text, place)
            if match is None:
                place += len(self.text[place:]) - len(self.text[place:].lstrip())
                raise self.error(f"unexpected '{self.text[place]}'", place)
            yield match[1], match.start(1)
            place = match.end()

    def error(self, problem: str, place: int) -> ParseError:
        """Return the error of a place in the text."""
        return ParseError(f"{problem} at position {place + 1} of '{self.text}'")

    @property
    def token(self) -> str:
        """The next token."""
        return self._tokens[self._at][0]

    @property
    def following(self) -> str:
        """The token behind the next one."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)][0]

    @property
    def place(self) -> int:
        """Where the next token stands."""
        return self._tokens[self._at][1]

    def statement(self) -> Statement:
        """Read a whole statement."""
        target = self.access()
        self.expect("=")
        value = self.value()
        self.end()
        return Statement(target, value)

    def value(self) -> Expr:
        """Read the right-hand side of a statement."""
        self._operations = 0
        return self.sum()

    def sum(self) -> Expr:
        """Read a sum of products."""
        left = self._product()
        while (sign := self.take("+", "-")) is not None:
            left = self._binary(_SIGNS[sign], left, self._product())
        return left

    def _product(self) -> Expr:
        left = self._factor()
        while (sign := self.take("*", "/")) is not None:
            left = self._binary(_SIGNS[sign], left, self._factor())
        return left

    def _binary(self, op: str, left: Expr, right: Expr) -> Expr:
        self._operations += 1
        if self._operations > _MOST_OPERATIONS:
            raise self.error(
                f"more than {_MOST_OPERATIONS} operations in one statement: split it", self.place
            )
        return Binary(op, left, right)

    def _factor(self) -> Expr:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.error(f"nested deeper than {_DEEPEST}: split the statement", self.place)
        expr = self._negation() if self.take("-") else self._atom()
        self._depth -= 1
        return expr

    def _negation(self) -> Expr:
        operand = self._factor()
        if isinstance(operand, Constant):
            return Constant(-operand.number)
        return Unary("neg", operand)

    def _atom(self) -> Expr:
        if self.take("("):
            inner = self.sum()
            self.expect(")")
            return inner
        if NUMBER.fullmatch(self.token):
            return Constant(self._number())
        if self.token in FOLDS and self.following == "[":
            return self._fold()
        if self.token in GROUPS and self.following == "[":
            raise self.group_error()
        if self.token in FUNCTIONS and self.following == "(":
            return self._where() if self.token == "where" else self._function()
        return self.access()

    def group_error(self) -> ParseError:
        """Return the error that the next token names a group where an expression must stand."""
        return self.error(
            f"'{self.token}' stands for several statements: give it the whole right-hand side of a "
            "statement in a program",
            self.place,
        )

    def _fold(self) -> Expr:
        op = self.name("a fold")
        indices = self.bracket()
        self.expect("(")
        body = self.sum()
        self.expect(")")
        return Fold(op, indices, body)

    def bracket(self) -> tuple[str, ...]:
        """Read index variables in brackets; one that is repeated counts once."""
        self.expect("[")
        indices = self.names("an index")
        self.expect("]")
        return tuple(dict.fromkeys(indices))

    def _function(self) -> Expr:
        op = self.name("a function")
        self.expect("(")
        value = self.sum()
        if op in UNARY:
            self.expect(")")
            return Unary(op, value)
        self.expect(",")
        value = self._binary(op, value, self.sum())
        while self.take(","):
            value = self._binary(op, value, self.sum())
        self.expect(")")
        return value

    def _where(self) -> Expr:
        self.name("a function")
        self.expect("(")
        mask = self.access("a mask, which is one tensor")
        if self.token != ",":
            raise self.wanted("',' behind the mask, which is one tensor")
        self.expect(",")
        body = self.sum()
        self.expect(",")
        fill = self.fill()
        self.expect(")")
        return Where(mask, body, fill)

    def fill(self) -> Number:
        """Read a number, ``inf`` or ``-inf``."""
        sign = -1 if self.take("-") else 1
        if self.take("inf"):
            return sign * math.inf
        if not NUMBER.fullmatch(self.token):
            raise self.wanted("a number, inf or -inf")
        return sign * self._number()

    def number(self, what: str) -> Number:
        """Read a number with or without a sign; `what` describes it in an error."""
        sign = -1 if self.take("-") else 1
        if not NUMBER.fullmatch(self.token):
            raise self.wanted(what)
        return sign * self._number()

    def _number(self) -> Number:
        token = self.token
        self._at += 1
        whole = token.isdigit() and len(token) <= _WHOLE_DIGITS
        return int(token) if whole else number(float(token))

    def access(self, what: str = "a tensor") -> Access:
        """Read a tensor at index variables."""
        if self.token in FUNCTIONS and self.following == "(":
            raise self.wanted(what)
        name = self.name(what)
        if not self.take("(") or self.take(")"):
            return Access(name)
        indices = self.names("an index")
        self.expect(")")
        return Access(name, indices)

    def names(self, what: str) -> tuple[str, ...]:
        """Read one or more names between commas."""
        names = [self.name(what)]
        while self.take(","):
            names.append(self.name(what))
        return tuple(names)

    def name(self, what: str) -> str:
        """Read a name; `what` describes it in an error."""
        if not NAME.fullmatch(self.token):
            raise self.wanted(what)
        self._at += 1
        return self._tokens[self._at - 1][0]

    def take(self, *marks: str) -> str | None:
        """Read the next token if it is one of these."""
        if self.token not in marks:
            return None
        self._at += 1
        return self._tokens[self._at - 1][0]

    def expect(self, mark: str) -> None:
        """Read this token, which must come next."""
        if self.take(mark) is None:
            raise self.wanted(f"'{mark}'")

    def end(self) -> None:
        """Make sure that the statement ends here."""
        if self.token not in self.ends:
            raise self.wanted(self.ending)

    def wanted(self, what: str) -> ParseError:
        """Return the error that the next token is not what it must be."""
        return self.error(f"expected {what}, got {self.shown()}", self.place)

    def shown(self) -> str:
        """Return what an error calls the next token."""
        return END if self.token == END else f"'{self.token}'"


class Named(Protocol):
    """Anything with a tensor's name."""

    @property
    def name(self) -> str:
        """The tensor's name."""
        ...


def einsum(subscripts: str, *operands: Named | None, result: str = "X") -> Statement:
    """Build a statement from NumPy subscripts.

    Parameters
    ----------
    subscripts : str
        Such as ``ik,kj->ij``. Without ``->`` the result has the letters that occur once,
        sorted.
    *operands : tensor or None
        They give the names, one per subscript; one tensor may stand twice. Unnamed operands
        are called A, B, C, ... by position.
    result : str
        Name of the result.

    Raises
    ------
    ParseError
        The subscripts are malformed or do not match the operands.
    """
    parts, output = read_subscripts(subscripts)
    if operands and len(operands) != len(parts):
        raise ParseError(
            f"subscripts '{subscripts}' name {len(parts)} operands, got {len(operands)}"
        )
    named: dict[str, Named] = {}
    factors: list[Expr] = []
    for position, part in enumerate(parts):
        operand = operands[position] if operands else None
        name = operand.name if operand is not None else chr(ord("A") + position)
        if operand is not None and named.setdefault(name, operand) is not operand:
            raise ParseError(f"two operands are named '{name}': rename one")
        factors.append(Access(name, tuple(part)))
    return Statement(Access(result, tuple(output)), chain("mul", factors))


def read_subscripts(subscripts: str) -> tuple[list[str], str]:
    """Return the letters of every operand and of the result.

    Raises
    ------
    ParseError
        There is something else than letters, commas and one ``->``.
    """
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if not all(part.isascii() and (part.isalpha() or not part) for part in (*parts, output)):
        raise ParseError(f"subscripts '{subscripts}': use letters, commas and one '->'")
    if not arrow:
        output = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    return parts, output
