"""From the options of a command to a compiled program."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuseflow.api import Program, load
from fuseflow.api import compile as compile_statement
from fuseflow.compiler import Statement, parse
from fuseflow.progress import progress
from fuseflow.samml.errors import LoweringError, ParseError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import LARGEST_SIZE
from fuseflow.samml.values import INT32, Number, number, value_type
from fuseflow.tensor import Tensor
from fuseflow.tensor.tensor import Packing

if TYPE_CHECKING:
    from fuseflow.interchange import Signature

GRAPH_SUFFIX = ".gv"
"""An expression that ends so is the file of a graph to read."""

Given = Sequence[str] | None


@dataclass(frozen=True)
class Options:
    """What describes a program on the command line, as it was typed.

    Attributes
    ----------
    tensors, formats, fills, dims, capacities : sequence of str or None
        Each entry is ``NAME=VALUE``.
    value : str
        The value type.
    order : str or None
    rounded : bool
        Round fractions in operands to integers.
    sum_duplicates : bool
        Add up entries of one coordinate.
    auto_convert, keep_explicit : bool
        See `fuseflow.compile`.
    einsum : str or None
        What a graph that is read computes.
    """

    tensors: Given = None
    formats: Given = None
    value: str = INT32.name
    order: str | None = None
    fills: Given = None
    dims: Given = None
    capacities: Given = None
    rounded: bool = False
    sum_duplicates: bool = False
    auto_convert: bool = False
    keep_explicit: bool = False
    einsum: str | None = None

    def compile(self, expression: str) -> Program:
        """Read the operands and compile a statement, or read a graph.

        Raises
        ------
        ParseError, LoweringError, CapacityError, TensorError
        """
        if expression.endswith(GRAPH_SUFFIX):
            return self._load(expression)
        if self.einsum is not None:
            raise ParseError(f"--einsum {self.einsum}: that is for graphs ({GRAPH_SUFFIX} files)")
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
                dims=self._dims(),
                capacities=self._capacities(),
                value=self.value,
                fills=self._fills(statement),
                auto_convert=self.auto_convert,
                keep_explicit=self.keep_explicit,
            )

    def _load(self, path: str) -> Program:
        from fuseflow.interchange import open_custard

        if self.formats or self.order:
            raise ParseError(f"'{path}' has formats and an order: leave --format and --order out")
        with progress("reading the graph"):
            source = open_custard(path)
        with progress("reading operands"):
            operands = self._operands(source.signature, source.formats)
        with progress("compiling"):
            return load(
                source,
                *operands,
                einsum=self.einsum,
                dims=self._dims(),
                capacities=self._capacities(),
                value=self.value,
            )

    def _dims(self) -> dict[str, int]:
        return {name: _size(f"--dim {name}", text) for name, text in _pairs("--dim", self.dims)}

    def _capacities(self) -> dict[str, int | list[int]]:
        return {
            name: _sizes(f"--capacity {name}", text)
            for name, text in _pairs("--capacity", self.capacities)
        }

    def _formats(self, statement: Statement) -> dict[str, Format]:
        ranks = _ranks(statement)
        formats: dict[str, Format] = {}
        for name, text in _pairs("--format", self.formats):
            if name not in ranks:
                raise LoweringError(f"--format {name}={text}: {_known(statement, ranks)}")
            formats[name] = Format.parse(text, ranks[name])
        return formats

    def _operands(
        self, statement: "Statement | Signature", formats: dict[str, Format]
    ) -> list[Tensor]:
        ranks = _ranks(statement)
        del ranks[statement.target.tensor]
        fills = self._fills(statement)
        operands: list[Tensor] = []
        for name, text in _pairs("--tensor", self.tensors):
            if name not in ranks:
                raise LoweringError(f"--tensor {name}={text}: {_known(statement, ranks)}")
            packing: Packing = {"value": value_type(self.value), "round_values": self.rounded}
            if name in fills:
                packing["fill"] = fills[name]
            scalar = _number(text) if ranks[name] == 0 else None
            if scalar is None:
                packing["sum_duplicates"] = self.sum_duplicates
                form = formats.get(name, Format.default(ranks[name]))
                operands.append(Tensor.read(text, form, name=name, **packing))
            else:
                operands.append(Tensor.from_numpy(name, scalar, **packing))
        return operands

    def _fills(self, statement: "Statement | Signature") -> dict[str, Number]:
        ranks = _ranks(statement)
        fills: dict[str, Number] = {}
        for name, text in _pairs("--fill", self.fills):
            fill = _number(text)
            if name not in ranks or name == statement.target.tensor:
                raise LoweringError(f"--fill {name}={text}: '{statement}' has no such operand")
            if fill is None or math.isnan(fill):
                raise ParseError(f"--fill {name}={text}: write a number, inf or -inf")
            fills[name] = number(fill)
        return fills


def _ranks(statement: "Statement | Signature") -> dict[str, int]:
    return {
        access.tensor: len(access.indices) for access in (statement.target, *statement.operands)
    }


def _known(statement: "Statement | Signature", names: dict[str, int]) -> str:
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
