"""Programs: several Einsums with their schedule, which is regions, orders, formats and fills."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from fuseflow.compiler.expr import Access, Statement
from fuseflow.compiler.parse import NAME
from fuseflow.samml.errors import ParseError
from fuseflow.samml.formats import Format
from fuseflow.samml.values import Number

_LONGEST_QUOTE = 60


class Part(Enum):
    """The parts of a program that an error can be about."""

    STATEMENT = "statement"
    REGION = "region"
    ORDER = "order"
    FORMAT = "format"
    FILL = "fill"
    RESULT = "result"


class ProgramError(ParseError):
    """The parts of a program do not fit together.

    Parameters
    ----------
    problem : str
    part : Part
    key : int, str or None
        Which one: a position among the statements or regions, or a tensor's name; the order of the
        program itself has none.
    """

    def __init__(self, problem: str, part: Part, key: int | str | None) -> None:
        super().__init__(problem)
        self.part = part
        self.key = key


@dataclass(frozen=True)
class Region:
    """Consecutive statements that are to become one graph.

    Attributes
    ----------
    start, stop : int
        Positions of the first statement, and behind the last one.
    order : tuple of str
        Index variables, outermost first, in which the loops shall stand; it need not name all.
    name : str
        May be empty.
    """

    start: int
    stop: int
    order: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Program:
    """Statements, each of which may read what earlier ones define, and how to compile them.

    Attributes
    ----------
    statements : tuple of Statement
    results : tuple of str
        Tensors that the program is run for; by default those that no statement reads.
    regions : tuple of Region
        By position; statements outside are free to be compiled as the compiler likes.
    order : tuple of str
        As a region's, for the whole program.
    formats : mapping of str to str
        Names of formats, of any tensors.
    fills : mapping of str to number
        Of inputs.

    Raises
    ------
    ProgramError
        A tensor is read before it is defined, defined twice or used with two ranks; a value is
        neither read nor a result; a region, an order, a format or a fill fits nothing.
    """

    statements: tuple[Statement, ...]
    results: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()
    order: tuple[str, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict[str, str])
    fills: Mapping[str, Number] = field(default_factory=dict[str, Number])

    def __post_init__(self) -> None:
        if not self.statements:
            raise ProgramError(
                "the program has no statement: write one, such as X(i,j) = A(i,k) * B(k,j)",
                Part.STATEMENT,
                None,
            )
        self._check_ranks()
        self._check_definitions()
        if not self.results:
            object.__setattr__(self, "results", self._unread())
        self._check_results()
        object.__setattr__(self, "regions", tuple(sorted(self.regions, key=lambda r: r.start)))
        self._check_regions()
        self._check_order(self.order, self.indices, None)
        object.__setattr__(self, "formats", self._checked_formats())
        object.__setattr__(self, "fills", dict(self.fills))
        self._check_fills()

    @cached_property
    def ranks(self) -> dict[str, int]:
        """The rank of every tensor, in order of appearance, a statement's operands first."""
        return {access.tensor: len(access.indices) for _, access in self._accesses()}

    @property
    def inputs(self) -> dict[str, int]:
        """The rank of every tensor that no statement defines, in order of appearance."""
        return {name: rank for name, rank in self.ranks.items() if self.producer(name) is None}

    @property
    def indices(self) -> tuple[str, ...]:
        """Every index variable, in order of appearance."""
        return _indices(self.statements)

    def producer(self, name: str) -> int | None:
        """Return the position of the statement that defines a tensor; an input has none."""
        return self._producers.get(name)

    def consumers(self, name: str) -> tuple[int, ...]:
        """Return the positions of the statements that read a tensor."""
        return tuple(
            position
            for position, statement in enumerate(self.statements)
            if any(access.tensor == name for access in statement.operands)
        )

    def is_result(self, name: str) -> bool:
        """Whether the program is run for this tensor."""
        return name in self.results

    def region(self, position: int) -> Region | None:
        """Return the region of a statement."""
        inside = (region for region in self.regions if region.start <= position < region.stop)
        return next(inside, None)

    @cached_property
    def _producers(self) -> dict[str, int]:
        return {each.target.tensor: position for position, each in enumerate(self.statements)}

    def _accesses(self) -> Iterable[tuple[int, Access]]:
        for position, statement in enumerate(self.statements):
            for access in (*statement.operands, statement.target):
                yield position, access

    def _unread(self) -> tuple[str, ...]:
        read = {access.tensor for each in self.statements for access in each.operands}
        return tuple(name for name in self._producers if name not in read)

    def _check_ranks(self) -> None:
        first: dict[str, tuple[int, Access]] = {}
        for position, access in self._accesses():
            earlier, other = first.setdefault(access.tensor, (position, access))
            if len(other.indices) != len(access.indices):
                raise self._wrong(
                    position,
                    f"has '{access}', statement {earlier + 1} has '{other}': one tensor has one "
                    "rank, so rename one of the two",
                )

    def _check_definitions(self) -> None:
        defined: dict[str, int] = {}
        for position, statement in enumerate(self.statements):
            name = statement.target.tensor
            if name in defined:
                raise self._wrong(
                    position,
                    f"defines '{name}', which statement {defined[name] + 1} defines: give its "
                    "result another name",
                )
            defined[name] = position
        for position, statement in enumerate(self.statements):
            for access in statement.operands:
                producer = self.producer(access.tensor)
                if producer is not None and producer > position:
                    raise self._use_before_definition(position, access.tensor, producer)

    def _use_before_definition(self, reader: int, name: str, producer: int) -> ProgramError:
        behind = f"reads '{name}' before its definition in statement {producer + 1}"
        target = self.statements[reader].target.tensor
        if target in self._ancestors(name):
            return self._wrong(
                reader,
                f"{behind}, which depends on '{target}': a program has no cycle, so read "
                "another tensor in one of the two",
            )
        return self._wrong(reader, f"{behind}: move that statement up")

    def _ancestors(self, name: str) -> set[str]:
        """Return the tensors that a tensor depends on, itself included."""
        found, waiting = {name}, [name]
        while waiting:
            producer = self.producer(waiting.pop())
            if producer is not None:
                new = {each.tensor for each in self.statements[producer].operands} - found
                found |= new
                waiting += new
        return found

    def _check_results(self) -> None:
        for place, name in enumerate(self.results):
            if self.producer(name) is None:
                known = ", ".join(self._producers)
                raise ProgramError(
                    f"no statement defines the result '{name}': results are among {known}",
                    Part.RESULT,
                    name,
                )
            if name in self.results[:place]:
                raise ProgramError(
                    f"'{name}' is listed as a result twice: list it once", Part.RESULT, name
                )
        for name in self._unread():
            if name not in self.results:
                raise self._wrong(
                    self._producers[name],
                    f"computes '{name}', which nobody reads: make it a result or leave it out",
                )

    def _check_regions(self) -> None:
        end, names = 0, set[str]()
        for number, region in enumerate(self.regions):
            title = f"region {region.name or number + 1}"
            if not 0 <= region.start < region.stop <= len(self.statements):
                raise ProgramError(
                    f"{title} has statements {region.start} to {region.stop} of "
                    f"{len(self.statements)}: give it one or more of the program's",
                    Part.REGION,
                    number,
                )
            if region.name and NAME.fullmatch(region.name) is None:
                raise ProgramError(
                    f"region '{region.name}': name it with ASCII letters, digits and _",
                    Part.REGION,
                    number,
                )
            if region.start < end:
                raise ProgramError(
                    f"{title} shares {self._title(region.start)} with the region before it: a "
                    "statement is in one region",
                    Part.REGION,
                    number,
                )
            if region.name in names:
                raise ProgramError(
                    f"two regions are named '{region.name}': rename one", Part.REGION, number
                )
            end = region.stop
            names |= {region.name} - {""}
            inside = _indices(self.statements[region.start : region.stop])
            self._check_order(region.order, inside, number)

    def _check_order(self, order: Sequence[str], known: Collection[str], key: int | None) -> None:
        whose = "program" if key is None else f"region {self.regions[key].name or key + 1}"
        for place, index in enumerate(order):
            if index not in known:
                raise ProgramError(
                    f"the order of the {whose} names '{index}', which no statement of it has: it "
                    f"has {', '.join(known) or 'none'}",
                    Part.ORDER,
                    key,
                )
            if index in order[:place]:
                raise ProgramError(
                    f"the order of the {whose} names '{index}' twice: name it once", Part.ORDER, key
                )

    def _checked_formats(self) -> dict[str, str]:
        """Return the formats: names as they are, level strings in one spelling."""
        formats: dict[str, str] = {}
        for name, text in self.formats.items():
            rank = self._known(name, Part.FORMAT)
            try:
                form = Format.parse(text, rank)
            except ParseError as error:
                raise ProgramError(f"format of '{name}': {error}", Part.FORMAT, name) from None
            if form.rank != rank:
                raise ProgramError(
                    f"format of '{name}': {text} has rank {form.rank}, the tensor has rank {rank}: "
                    "give a format with one letter per index",
                    Part.FORMAT,
                    name,
                )
            formats[name] = text if text.isidentifier() else str(form)
        return formats

    def _check_fills(self) -> None:
        for name, fill in self.fills.items():
            self._known(name, Part.FILL)
            if self.producer(name) is not None:
                raise ProgramError(
                    f"fill of '{name}': it follows from {self._title(self._producers[name])}, so "
                    "leave it out",
                    Part.FILL,
                    name,
                )
            if math.isnan(fill):
                raise ProgramError(
                    f"fill of '{name}': nan is no fill; give a number, inf or -inf", Part.FILL, name
                )

    def _known(self, name: str, part: Part) -> int:
        """Return the rank of a tensor that a format or fill is for."""
        if name not in self.ranks:
            known = ", ".join(self.ranks)
            raise ProgramError(
                f"{part.value} of '{name}': no statement has this tensor; they have {known}",
                part,
                name,
            )
        return self.ranks[name]

    def _wrong(self, position: int, problem: str) -> ProgramError:
        return ProgramError(f"{self._title(position)} {problem}", Part.STATEMENT, position)

    def _title(self, position: int) -> str:
        text = str(self.statements[position])
        if len(text) > _LONGEST_QUOTE:
            text = text[: _LONGEST_QUOTE - 3] + "..."
        return f"statement {position + 1} '{text}'"


def single(statement: Statement) -> Program:
    """Return the program of one statement."""
    return Program((statement,))


def _indices(statements: Iterable[Statement]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(index for each in statements for index in each.indices))
