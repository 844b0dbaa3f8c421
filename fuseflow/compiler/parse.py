"""The two ways to write a statement: ``X(i,j) = B(i,k) * C(k,j)`` and ``ik,kj->ij``."""

import re
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
)
from fuseflow.samml.errors import ParseError
from fuseflow.samml.values import number

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<mark>[=+\-*(),\[\]]))"
)
_WHOLE_DIGITS = 18
"""Numbers of more digits are read as floating point, as every number with a point is."""
_END = "the end"


def parse(text: str) -> Statement:
    """Parse one statement.

    Parameters
    ----------
    text : str
        Such as ``x(i) = b(i) - C(i,j) * d(j)``; scalars are bare names. There are numbers, a
        leading ``-``, ``relu(e)``, ``abs(e)``, ``max(e, ...)``, ``min(e, ...)``, and folds
        ``sum[j](e)``, ``max[j,k](e)``, ``min[j](e)``.

    Raises
    ------
    ParseError
        Names the position (from 1) and what was expected there.
    """
    return _Parser(text).statement()


class _Parser:
    """Recursive descent over the tokens of one statement."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, int]] = []
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                position += len(text[position:]) - len(text[position:].lstrip())
                raise ParseError(
                    f"unexpected '{text[position]}' at position {position + 1} of '{text}'"
                )
            group = match.lastgroup or "mark"
            self.tokens.append((match[group], match.start(group)))
            position = match.end()
        self.tokens.append((_END, end))
        self.at = 0

    def statement(self) -> Statement:
        target = self.access()
        self.expect("=")
        value = self.sum()
        self.expect(_END)
        return Statement(target, value)

    def sum(self) -> Expr:
        left = self.product()
        while (operator := self.take("+", "-")) is not None:
            left = Binary("add" if operator == "+" else "sub", left, self.product())
        return left

    def product(self) -> Expr:
        left = self.factor()
        while self.take("*"):
            left = Binary("mul", left, self.factor())
        return left

    def factor(self) -> Expr:
        if not self.take("-"):
            return self.atom()
        operand = self.factor()
        if isinstance(operand, Constant):
            return Constant(-operand.number)
        return Unary("neg", operand)

    def atom(self) -> Expr:
        if self.take("("):
            inner = self.sum()
            self.expect(")")
            return inner
        token, _ = self.tokens[self.at]
        if token[0].isdigit() or token[0] == ".":
            self.at += 1
            whole = token.isdigit() and len(token) <= _WHOLE_DIGITS
            return Constant(int(token) if whole else number(float(token)))
        following = self.tokens[self.at + 1][0] if token != _END else _END
        if token in FOLDS and following == "[":
            return self.fold()
        if token in (*UNARY, "max", "min") and following == "(":
            return self.function()
        return self.access()

    def fold(self) -> Expr:
        op = self.name("a fold")
        self.expect("[")
        indices = [self.name("an index")]
        while self.take(","):
            indices.append(self.name("an index"))
        self.expect("]")
        self.expect("(")
        body = self.sum()
        self.expect(")")
        return Fold(op, tuple(dict.fromkeys(indices)), body)

    def function(self) -> Expr:
        op = self.name("a function")
        self.expect("(")
        value = self.sum()
        if op in UNARY:
            self.expect(")")
            return Unary(op, value)
        self.expect(",")
        value = Binary(op, value, self.sum())
        while self.take(","):
            value = Binary(op, value, self.sum())
        self.expect(")")
        return value

    def access(self) -> Access:
        name = self.name("a tensor")
        if not self.take("("):
            return Access(name)
        if self.take(")"):
            return Access(name)
        indices = [self.name("an index")]
        while self.take(","):
            indices.append(self.name("an index"))
        self.expect(")")
        return Access(name, tuple(indices))

    def name(self, what: str) -> str:
        token, _ = self.tokens[self.at]
        if not (token[0].isalpha() or token[0] == "_") or token == _END:
            raise self.wanted(what)
        self.at += 1
        return token

    def take(self, *marks: str) -> str | None:
        token, _ = self.tokens[self.at]
        if token not in marks:
            return None
        self.at += 1
        return token

    def expect(self, mark: str) -> None:
        if self.tokens[self.at][0] != mark:
            raise self.wanted(mark if mark == _END else f"'{mark}'")
        self.at += 1

    def wanted(self, what: str) -> ParseError:
        token, position = self.tokens[self.at]
        got = token if token == _END else f"'{token}'"
        return ParseError(f"expected {what}, got {got} at position {position + 1} of '{self.text}'")


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
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if not all(part.isascii() and (part.isalpha() or not part) for part in (*parts, output)):
        raise ParseError(f"subscripts '{subscripts}': use letters, commas and one '->'")
    if not arrow:
        output = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    if operands and len(operands) != len(parts):
        raise ParseError(
            f"subscripts '{subscripts}' name {len(parts)} operands, got {len(operands)}"
        )
    named: dict[str, Named] = {}
    value: Expr | None = None
    for position, part in enumerate(parts):
        operand = operands[position] if operands else None
        name = operand.name if operand is not None else chr(ord("A") + position)
        if operand is not None and named.setdefault(name, operand) is not operand:
            raise ParseError(f"two operands are named '{name}': rename one")
        access = Access(name, tuple(part))
        value = access if value is None else Binary("mul", value, access)
    assert value is not None
    return Statement(Access(result, tuple(output)), value)
