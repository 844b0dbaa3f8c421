"""The table of kernels: statements with formats and a loop order, by class."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from fuseflow.compiler import Statement, parse
from fuseflow.samml.errors import ParseError
from fuseflow.samml.formats import Format
from fuseflow.samml.values import Number, ValueType, number


@dataclass(frozen=True)
class Kernel:
    """A row of the table.

    Attributes
    ----------
    group : str
        Its class: ``single`` for the field's standard kernels, ``extra`` for what else there is.
    name : str
    program : str
    formats : mapping of str to Format
        One per tensor.
    order : tuple of str
        Loop variables, outermost first.
    fills : mapping of str to number
        Of operands whose fill is not 0.
    auto_convert, keep_explicit : bool
        As `fuseflow.compile` takes them.
    note : str
    """

    group: str
    name: str
    program: str
    formats: Mapping[str, Format]
    order: tuple[str, ...]
    fills: Mapping[str, Number] = field(default_factory=dict[str, Number])
    auto_convert: bool = False
    keep_explicit: bool = False
    note: str = ""

    @property
    def statement(self) -> Statement:
        """The parsed program."""
        return parse(self.program)

    @property
    def operands(self) -> dict[str, tuple[str, ...]]:
        """Every operand with its index variables where it first occurs, left to right."""
        found: dict[str, tuple[str, ...]] = {}
        for access in self.statement.operands:
            found.setdefault(access.tensor, access.indices)
        return found

    @property
    def stored(self) -> str:
        """The formats as text, without mode orders that are the natural ones."""
        return " ".join(f"{name}={_shown(form)}" for name, form in self.formats.items())

    def fill(self, operand: str, kind: ValueType) -> Number:
        """Return an operand's fill; an infinite one is the least or greatest of integers."""
        fill = self.fills.get(operand, 0)
        return min(max(fill, kind.low), kind.high) if math.isinf(fill) else fill


@cache
def kernels() -> tuple[Kernel, ...]:
    """Return the whole table."""
    text = files("fuseflow.comparison").joinpath("kernels.csv").read_text(encoding="utf-8")
    return tuple(_kernel(row) for row in csv.DictReader(text.splitlines()))


def select(patterns: Sequence[str]) -> list[Kernel]:
    """Return the kernels that names, globs or classes choose, in the table's order.

    Raises
    ------
    ParseError
        A pattern chooses none.
    """
    table = kernels()
    for pattern in patterns:
        if not any(_chooses(pattern, kernel) for kernel in table):
            groups = ", ".join(dict.fromkeys(kernel.group for kernel in table))
            raise ParseError(
                f"no kernel is named '{pattern}': give a class ({groups}), a name or a glob such "
                "as 'matmul_*'"
            )
    return [each for each in table if any(_chooses(pattern, each) for pattern in patterns)]


def _chooses(pattern: str, kernel: Kernel) -> bool:
    return pattern == kernel.group or fnmatchcase(kernel.name, pattern)


def _kernel(row: Mapping[str, str]) -> Kernel:
    options = [option.split() for option in row["options"].split(";") if option]
    fills = [option[1].partition("=") for option in options if option[0] == "fill"]
    return Kernel(
        group=row["class"],
        name=row["name"],
        program=row["program"],
        formats={
            name: Format.parse(form)
            for name, _, form in (part.partition("=") for part in row["formats"].split(";"))
        },
        order=tuple(row["order"].split(",")),
        fills={name: number(float(fill)) for name, _, fill in fills},
        auto_convert=["auto_convert"] in options,
        keep_explicit=["keep_explicit"] in options,
        note=row["note"],
    )


def _shown(form: Format) -> str:
    natural = form.order == tuple(range(form.rank))
    return str(form).partition(":")[0] if natural else str(form)
