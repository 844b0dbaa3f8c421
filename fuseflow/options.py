"""From the options of a command to a compiled program."""

from collections.abc import Sequence
from dataclasses import dataclass

from fuseflow.api import Program
from fuseflow.api import compile as compile_statement
from fuseflow.compiler import Statement, parse
from fuseflow.progress import progress
from fuseflow.samml.errors import LoweringError, ParseError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import LARGEST_SIZE
from fuseflow.tensor import Tensor

Given = Sequence[str] | None


@dataclass(frozen=True)
class Options:
    """What describes a program on the command line, as it was typed.

    Attributes
    ----------
    tensors, formats, dims, capacities : sequence of str or None
        Each entry is ``NAME=VALUE``.
    order : str or None
    rounded : bool
        Round fractions in operands to integers.
    """

    tensors: Given = None
    formats: Given = None
    order: str | None = None
    dims: Given = None
    capacities: Given = None
    rounded: bool = False

    def compile(self, expression: str) -> Program:
        """Read the operands and compile a statement.

        Raises
        ------
        ParseError, LoweringError, CapacityError, TensorError
        """
        statement = parse(expression)
        formats = self._formats(statement)
        with progress("reading operands"):
            operands = self._operands(statement, formats)
        with progress("compiling"):
            return compile_statement(
                statement,
                *operands,
                formats=formats,
                order=self.order,
                dims={name: _size(f"--dim {name}", n) for name, n in _pairs("--dim", self.dims)},
                capacities={
                    name: _sizes(f"--capacity {name}", text)
                    for name, text in _pairs("--capacity", self.capacities)
                },
            )

    def _formats(self, statement: Statement) -> dict[str, Format]:
        ranks = _ranks(statement)
        formats: dict[str, Format] = {}
        for name, text in _pairs("--format", self.formats):
            if name not in ranks:
                raise LoweringError(f"--format {name}={text}: {_known(statement, ranks)}")
            formats[name] = Format.parse(text, ranks[name])
        return formats

    def _operands(self, statement: Statement, formats: dict[str, Format]) -> list[Tensor]:
        ranks = _ranks(statement)
        del ranks[statement.target.tensor]
        operands: list[Tensor] = []
        for name, text in _pairs("--tensor", self.tensors):
            if name not in ranks:
                raise LoweringError(f"--tensor {name}={text}: {_known(statement, ranks)}")
            scalar = _number(text) if ranks[name] == 0 else None
            if scalar is None:
                form = formats.get(name, Format.default(ranks[name]))
                operands.append(Tensor.read(text, form, name=name, round_values=self.rounded))
            else:
                operands.append(Tensor.from_numpy(name, scalar, round_values=self.rounded))
        return operands


def _ranks(statement: Statement) -> dict[str, int]:
    return {
        access.tensor: len(access.indices) for access in (statement.target, *statement.operands)
    }


def _known(statement: Statement, names: dict[str, int]) -> str:
    return f"'{statement}' has no such tensor, only {', '.join(names)}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _pairs(option: str, values: Given) -> list[tuple[str, str]]:
    pairs: dict[str, str] = {}
    for value in values or ():
        name, equals, text = (part.strip() for part in value.partition("="))
        if not (name and equals and text):
            raise ParseError(f"{option} {value}: write NAME=VALUE")
        if name in pairs:
            raise ParseError(f"{option} {name} is given twice: keep one")
        pairs[name] = text
    return list(pairs.items())


def _size(what: str, text: str) -> int:
    if not (
        text.isascii() and text.isdecimal() and len(text) < 11 and 1 <= int(text) <= LARGEST_SIZE
    ):
        raise ParseError(f"{what}={text}: write a positive number below 2^31")
    return int(text)


def _sizes(what: str, text: str) -> int | list[int]:
    sizes = [_size(what, part.strip()) for part in text.split(",")]
    return sizes if len(sizes) > 1 else sizes[0]
