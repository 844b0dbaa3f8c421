"""From the options of a command to a compiled program."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuseflow.api import Prepared, Program, load, prepare
from fuseflow.progress import progress
from fuseflow.samml.errors import LoweringError, ParseError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import LARGEST_SIZE
from fuseflow.samml.values import INT32, Number, number, value_type
from fuseflow.sources import read_text
from fuseflow.tensor import Tensor
from fuseflow.tensor.tensor import Packing

if TYPE_CHECKING:
    from fuseflow.compiler.program import Program as Source
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
    fusion : str
        How a program of several statements is cut into graphs.
    order : str or None
    rounded : bool
        Round fractions in operands to integers.
    sum_duplicates : bool
        Add up entries of one coordinate.
    auto_convert, keep_explicit : bool
        See `fuseflow.compile`.
    einsum : str or None
        What a graph that is read computes.
    iteration : str
    densities : sequence of str or None
        Entries are ``NAME=SHARE``.
    without : sequence of str or None
        Passes to leave out.
    """

    tensors: Given = None
    formats: Given = None
    value: str = INT32.name
    fusion: str = "regions"
    order: str | None = None
    fills: Given = None
    dims: Given = None
    capacities: Given = None
    rounded: bool = False
    sum_duplicates: bool = False
    auto_convert: bool = False
    keep_explicit: bool = False
    einsum: str | None = None
    iteration: str = "factored"
    densities: Given = None
    without: Given = None

    def compile(self, expression: str) -> Program:
        """Read the operands and compile a statement or a program, or read a graph.

        Raises
        ------
        ParseError, LoweringError, CapacityError, TensorError
        """
        if expression.endswith(GRAPH_SUFFIX):
            return self._load(expression)
        prepared = self.prepare(expression)
        with progress("compiling"):
            return prepared.compile(self.fusion)

    def prepare(self, expression: str) -> Prepared:
        """Read a statement or a program, and its operands.

        Raises
        ------
        ParseError, LoweringError, CapacityError, TensorError
        """
        if expression.endswith(GRAPH_SUFFIX):
            raise ParseError(f"'{expression}' is a graph already: give a statement or a program")
        if self.einsum is not None:
            raise ParseError(f"--einsum {self.einsum}: that is for graphs ({GRAPH_SUFFIX} files)")
        source = read_text(expression)
        names = _Names.of(source)
        formats = self._formats(names)
        stored = {name: Format.parse(text, names.ranks[name])
                  for name, text in source.formats.items()}  # fmt: skip
        fills = self._fills(names)
        with progress("reading operands"):
            operands = self._operands(names, {**stored, **formats}, {**source.fills, **fills})
        return prepare(
            source,
            *operands,
            formats=formats,
            order=self.order,
            dims=self._dims(),
            capacities=self._capacities(),
            value=self.value,
            fills=fills,
            auto_convert=self.auto_convert,
            keep_explicit=self.keep_explicit,
            without=self.without or (),
            iteration=self.iteration,
            densities=self._densities(names),
        )

    def _load(self, path: str) -> Program:
        from fuseflow.interchange import open_custard

        if self.formats or self.order:
            raise ParseError(f"'{path}' has formats and an order: leave --format and --order out")
        if self.fusion != Options.fusion:
            raise ParseError(f"'{path}' is one graph: leave --fusion out")
        with progress("reading the graph"):
            source = open_custard(path)
        names = _Names.of_graph(source.signature)
        with progress("reading operands"):
            operands = self._operands(names, source.formats, self._fills(names))
        with progress("compiling"):
            return load(
                source,
                *operands,
                einsum=self.einsum,
                dims=self._dims(),
                capacities=self._capacities(),
                value=self.value,
            )

    def _densities(self, names: "_Names") -> dict[str, float]:
        found: dict[str, float] = {}
        for name, text in _pairs("--density", self.densities):
            names.operand_rank(f"--density {name}={text}", name)
            share = _number(text)
            if share is None or not 0 <= share <= 1:
                raise ParseError(f"--density {name}={text}: write a share from 0 to 1")
            found[name] = share
        return found

    def _dims(self) -> dict[str, int]:
        return {name: _size(f"--dim {name}", text) for name, text in _pairs("--dim", self.dims)}

    def _capacities(self) -> dict[str, int | list[int]]:
        return {
            name: _sizes(f"--capacity {name}", text)
            for name, text in _pairs("--capacity", self.capacities)
        }

    def _formats(self, names: "_Names") -> dict[str, Format]:
        return {
            name: Format.parse(text, names.rank(f"--format {name}={text}", name))
            for name, text in _pairs("--format", self.formats)
        }

    def _operands(
        self, names: "_Names", formats: Mapping[str, Format], fills: Mapping[str, Number]
    ) -> list[Tensor]:
        operands: list[Tensor] = []
        for name, text in _pairs("--tensor", self.tensors):
            rank = names.operand_rank(f"--tensor {name}={text}", name)
            packing: Packing = {"value": value_type(self.value), "round_values": self.rounded}
            if name in fills:
                packing["fill"] = fills[name]
            scalar = _number(text) if rank == 0 else None
            if scalar is None:
                packing["sum_duplicates"] = self.sum_duplicates
                form = formats.get(name, Format.default(rank))
                operands.append(Tensor.read(text, form, name=name, **packing))
            else:
                operands.append(Tensor.from_numpy(name, scalar, **packing))
        return operands

    def _fills(self, names: "_Names") -> dict[str, Number]:
        fills: dict[str, Number] = {}
        for name, text in _pairs("--fill", self.fills):
            fill = _number(text)
            if name not in names.operands:
                raise LoweringError(f"--fill {name}={text}: {names.title} has no such operand")
            if fill is None or math.isnan(fill):
                raise ParseError(f"--fill {name}={text}: write a number, inf or -inf")
            fills[name] = number(fill)
        return fills


@dataclass(frozen=True)
class _Names:
    """The tensors of a program with their ranks; results first."""

    title: str
    ranks: dict[str, int]
    operands: dict[str, int]

    @classmethod
    def of(cls, source: "Source") -> "_Names":
        first, *rest = source.statements
        title = "the program" if rest else f"'{first}'"
        computed = {name: rank for name, rank in source.ranks.items() if name not in source.inputs}
        return cls(title, {**computed, **source.inputs}, source.inputs)

    @classmethod
    def of_graph(cls, signature: "Signature") -> "_Names":
        operands = {access.tensor: len(access.indices) for access in signature.operands}
        target = signature.target
        return cls(f"'{signature}'", {target.tensor: len(target.indices), **operands}, operands)

    def rank(self, option: str, name: str) -> int:
        return self._rank(self.ranks, option, name)

    def operand_rank(self, option: str, name: str) -> int:
        return self._rank(self.operands, option, name)

    def _rank(self, known: dict[str, int], option: str, name: str) -> int:
        if name not in known:
            raise LoweringError(
                f"{option}: {self.title} has no such tensor, only {', '.join(known)}"
            )
        return known[name]


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
