"""From the options of a command to a compiled program."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuseflow.api import Prepared, Program, load, prepare
from fuseflow.option_values import pairs, real, share, size, sizes
from fuseflow.progress import progress
from fuseflow.samml.errors import LoweringError, ParseError, TensorError
from fuseflow.samml.formats import Format
from fuseflow.samml.values import INT32, Number, number, value_type
from fuseflow.sources import MODEL_SUFFIXES, read_text
from fuseflow.tensor import Tensor
from fuseflow.tensor.tensor import Packing

if TYPE_CHECKING:
    from fuseflow.compiler.program import Program as Source
    from fuseflow.interchange import Signature
    from fuseflow.model import Model
    from fuseflow.outcome import RunResult

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
    value : str or None
        The value type; by default int32, or that of a model.
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
    regions : sequence of str or None
        Parts of a model that become one graph each.
    trust_pickle : bool
        Load a model that runs code when it is loaded.
    """

    tensors: Given = None
    formats: Given = None
    value: str | None = None
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
    regions: Given = None
    trust_pickle: bool = False

    def compile(self, expression: str) -> "Compiled":
        """Read the operands and compile a statement, a program or a model, or read a graph.

        Raises
        ------
        ParseError, LoweringError, CapacityError, TensorError, ToolError
        """
        if expression.endswith(MODEL_SUFFIXES):
            from fuseflow.model_options import prepare_model

            model = prepare_model(self, expression)
            with progress("compiling"):
                compiled = model.compile(self.fusion)
            return Compiled(compiled.program, compiled)
        if expression.endswith(GRAPH_SUFFIX):
            self._check_no_model(expression)
            return Compiled(self._load(expression))
        prepared = self.prepare(expression)
        with progress("compiling"):
            return Compiled(prepared.compile(self.fusion))

    def prepare(self, expression: str) -> Prepared:
        """Read a statement, a program or a model, and its operands.

        Raises
        ------
        ParseError, LoweringError, CapacityError, TensorError, ToolError
        """
        if expression.endswith(MODEL_SUFFIXES):
            from fuseflow.model_options import prepare_model

            return prepare_model(self, expression).prepared
        self._check_no_model(expression)
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
            dims=self.sizes_of_indices(),
            capacities=self.sizes_of_tensors(),
            value=self._value,
            fills=fills,
            auto_convert=self.auto_convert,
            keep_explicit=self.keep_explicit,
            without=self.without or (),
            iteration=self.iteration,
            densities=self._densities(names),
        )

    def _check_no_model(self, expression: str) -> None:
        for given, option in ((self.regions, "--region"), (self.trust_pickle, "--trust-pickle")):
            if given:
                raise ParseError(f"{option} is for models, '{expression}' is none: leave it out")

    @property
    def _value(self) -> str:
        """The value type of statements and graphs."""
        return self.value or INT32.name

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
                dims=self.sizes_of_indices(),
                capacities=self.sizes_of_tensors(),
                value=self._value,
            )

    def _densities(self, names: "_Names") -> dict[str, float]:
        found: dict[str, float] = {}
        for name, text in pairs("--density", self.densities):
            names.operand_rank(f"--density {name}={text}", name)
            found[name] = share(f"--density {name}", text)
        return found

    def sizes_of_indices(self) -> dict[str, int]:
        """Return the sizes of index variables."""
        return {name: size(f"--dim {name}", text) for name, text in pairs("--dim", self.dims)}

    def sizes_of_tensors(self) -> dict[str, int | list[int]]:
        """Return the capacities of tensors."""
        return {
            name: sizes(f"--capacity {name}", text)
            for name, text in pairs("--capacity", self.capacities)
        }

    def _formats(self, names: "_Names") -> dict[str, Format]:
        return {
            name: Format.parse(text, names.rank(f"--format {name}={text}", name))
            for name, text in pairs("--format", self.formats)
        }

    def _operands(
        self, names: "_Names", formats: Mapping[str, Format], fills: Mapping[str, Number]
    ) -> list[Tensor]:
        operands: list[Tensor] = []
        for name, text in pairs("--tensor", self.tensors):
            rank = names.operand_rank(f"--tensor {name}={text}", name)
            packing: Packing = {"value": value_type(self._value), "round_values": self.rounded}
            if name in fills:
                packing["fill"] = fills[name]
            scalar = real(text) if rank == 0 else None
            if scalar is None:
                packing["sum_duplicates"] = self.sum_duplicates
                form = formats.get(name, Format.default(rank))
                operands.append(Tensor.read(text, form, name=name, **packing))
            else:
                operands.append(Tensor.from_numpy(name, scalar, **packing))
        return operands

    def _fills(self, names: "_Names") -> dict[str, Number]:
        fills: dict[str, Number] = {}
        for name, text in pairs("--fill", self.fills):
            fill = real(text)
            if name not in names.operands:
                raise LoweringError(f"--fill {name}={text}: {names.title} has no such operand")
            if fill is None or math.isnan(fill):
                raise ParseError(f"--fill {name}={text}: write a number, inf or -inf")
            fills[name] = number(fill)
        return fills


@dataclass(frozen=True, eq=False)
class Compiled:
    """What became of an expression.

    Attributes
    ----------
    program : Program
    model : Model or None
        The function that the program computes, where it is that of a model.
    """

    program: Program
    model: "Model | None" = None

    @property
    def results(self) -> tuple[str, ...]:
        """The names of what it computes; a model's are its own."""
        return self.program.results if self.model is None else self.model.results

    @property
    def missing(self) -> tuple[str, ...]:
        """The operands that have no data."""
        if self.model is not None:
            return self.model.source.missing
        return tuple(name for name in self.program.inputs if name not in self.program.tensors)

    def check_data(self) -> None:
        """Refuse to run what lacks data.

        Raises
        ------
        TensorError
        """
        for name in self.missing:
            what = "operand" if self.model is None else "argument"
            raise TensorError(f"{what} '{name}' has no tensor: give one (--tensor {name}=FILE)")

    def tensors(self, run: "RunResult") -> dict[str, Tensor]:
        """Return what a run computed, in the shapes that the expression gives it.

        Raises
        ------
        TensorError
            A result of a model has too many modes.
        """
        return run.results if self.model is None else self.model.tensors(run)


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
