"""Programs of Einsums from modules, and what connects the two."""

import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import nan

import numpy as np

from fuseflow.compiler.expr import (
    Access,
    Binary,
    Constant,
    Expr,
    Statement,
    Where,
    accesses,
    walk,
)
from fuseflow.compiler.fills import Background
from fuseflow.compiler.groups import fresh
from fuseflow.compiler.program import Program, Region
from fuseflow.mlir.boundary import Input, Output, Slab, format_of
from fuseflow.mlir.definitions import Definition, Definitions
from fuseflow.mlir.errors import MlirError
from fuseflow.mlir.merge import merged
from fuseflow.mlir.modes import Piece
from fuseflow.mlir.module import Module
from fuseflow.mlir.pieces import Pieces
from fuseflow.mlir.renaming import renamed
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.values import FP32, Number

LETTERS = "ijklmnopqrstuvwxyzabcdefgh"
"""Names of index variables, in the order in which they are given."""


@dataclass(frozen=True, eq=False)
class Linked:
    """A program that computes what a function of a module does.

    Attributes
    ----------
    program : Program
    inputs : tuple of Input
        What each of its operands is a part of.
    outputs : tuple of Output
        How each result of the function is put together from tensors of the program.
    sizes : dict of str to int
        Of every index variable of the program.
    """

    program: Program
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    sizes: dict[str, int]


def link(
    module: Module,
    names: Mapping[str, str] | None = None,
    formats: Mapping[str, Format] | None = None,
    regions: Sequence[str] | None = None,
) -> Linked:
    """Make a program of a function.

    Parameters
    ----------
    module : Module
    names : mapping of str to str, optional
        What the tensors of arguments, constants and results are called in the program.
    formats : mapping of str to Format, optional
        Of arguments and constants; without one, the encoding of the module, or else dense, and
        for masks the default of their rank.
    regions : sequence of str, optional
        Scopes whose statements become one graph each; the outermost ones by default.

    Raises
    ------
    MlirError
        No program computes it.
    TensorError
        A format does not fit.
    """
    with _deep(len(module.steps)):
        return _Linker(module, names or {}, formats or {}, regions).linked()


@contextmanager
def _deep(steps: int) -> Generator[None]:
    """Let definitions be followed from the last step to the first, each some frames deeper."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 20 * steps)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@dataclass(frozen=True, eq=False)
class _Slice:
    """A piece of a result of the module, and its value under index variables of its own."""

    pieces: tuple[Piece, ...]
    indices: tuple[str, ...]
    value: Expr


class _Linker:
    def __init__(
        self,
        module: Module,
        names: Mapping[str, str],
        formats: Mapping[str, Format],
        regions: Sequence[str] | None,
    ) -> None:
        self.module = module
        self.names = names
        self.formats = formats
        self.scopes = regions
        self.pieces = Pieces(module)
        self.made = Definitions(module, self.pieces)
        self.results = {name: self._slices(name) for name in dict.fromkeys(module.results)}
        outside = [*self._read_from_outside()]
        definitions, same = merged(
            [each for each in self.made.made.values() if not _is_alias(each)],
            outside,
            self.made.sizes,
        )
        self.definitions = _needed(definitions, [same.get(name, name) for name in outside])
        if not self.definitions:
            raise MlirError(
                f"'{module.name}' computes nothing: it returns parts of what it is given"
            )
        self.zero = ""
        self.definitions = self._with_whole_masks()
        self.called = self._called()
        self.called |= {copy: self.called[name] for copy, name in same.items()
                        if name in self.called}  # fmt: skip
        self.letters: dict[int, str] = {}
        self.sizes: dict[str, int] = {}

    def linked(self) -> Linked:
        statements = tuple(map(self._statement, self.definitions))
        computed = {statement.target.tensor for statement in statements}
        results = dict.fromkeys(self.called[name] for name in self._read_from_outside())
        program = Program(
            statements,
            tuple(name for name in results if name in computed),
            _regions(self.definitions, self.scopes),
        )
        inputs = tuple(self._input(leaf) for leaf in self._leaves)
        if self.zero:
            scalar = Format.parse("scalar", 0)
            inputs += (Input(self.called[_ZERO], "", (), (), scalar, constant=np.zeros(())),)
        return Linked(program, inputs, tuple(map(self._output, self.module.results)), self.sizes)

    def _with_whole_masks(self) -> list[Definition]:
        """Let masks that are not 0 where their operands store nothing be computed everywhere.

        What a mask stores is what it selects, and no tensor stores its background. So a number is
        added, a 0, which is everywhere.
        """
        masks = {
            part.mask.tensor
            for each in self.definitions
            for part in walk(each.value)
            if isinstance(part, Where)
        }
        fills: dict[str, Number] = {
            name: 0 for name in self._leaves if LevelKind.COMPRESSED in self._stored(name).levels
        }
        found: list[Definition] = []
        for each in self.definitions:
            fill = background(each.value, fills)
            if fill is not None and fill != 0 and each.target in masks:
                self.zero = _ZERO
                each = replace(each, value=Binary("add", each.value, Access(_ZERO, ())))
                fill = None
            # What is computed everywhere may be stored without its zeros.
            fills[each.target] = fill or 0
            found.append(each)
        return found

    # --- results ---------------------------------------------------------------------------

    def _slices(self, result: str) -> list[_Slice]:
        found: list[_Slice] = []
        for key in self.pieces.keys(result):
            pieces = self.pieces.at(result, key)
            atoms = [atom for piece in pieces for atom in piece.atoms]
            names = tuple(f"{result}.{key}.{number}" for number in range(len(atoms)))
            self.made.sizes |= zip(names, atoms, strict=True)
            found.append(
                _Slice(pieces, names, self.made.read(self.pieces.origin(result, key), names))
            )
        return found

    def _read_from_outside(self) -> dict[str, None]:
        values = (each.value for slices in self.results.values() for each in slices)
        return {value.tensor: None for value in values if isinstance(value, Access)}

    def _output(self, name: str) -> Output:
        slabs = tuple(map(self._slab, self.results[name]))
        return Output(name, self.module.types[name].shape, slabs)

    def _slab(self, each: _Slice) -> Slab:
        shape = tuple(self.made.sizes[name].size for name in each.indices)
        places = tuple(piece.places for piece in each.pieces)
        match each.value:
            case Constant(number):
                return Slab("", number, (), shape, places)
            case Access(tensor, indices):
                axes = tuple(
                    indices.index(name) if name in indices else -1 for name in each.indices
                )
                return Slab(self.called[tensor], 0, axes, shape, places)
            case _:
                raise AssertionError("a piece is read as an access or a number")

    # --- operands --------------------------------------------------------------------------

    @cached_property
    def _leaves(self) -> dict[str, None]:
        """Names of what is read and not computed, in the order of the module's arguments."""
        read = dict.fromkeys(
            access.tensor for each in self.definitions for access in accesses(each.value)
        )
        found = [name for name in {**read, **self._read_from_outside()} if name in self.made.leaves]
        steps = (step.target for step in self.module.steps)
        values = [*self.module.arguments, *self.module.constants, *steps]
        found.sort(key=lambda name: values.index(self.made.leaves[name].part.tensor))
        return dict.fromkeys(found)

    def _input(self, name: str) -> Input:
        leaf = self.made.leaves[name]
        source = leaf.part.tensor
        pieces = self.pieces.at(source, leaf.part.key)
        shape = tuple(atom.size for piece in pieces for atom in piece.atoms)
        return Input(
            self.called[name],
            source,
            tuple(piece.places for piece in pieces),
            shape,
            self._stored(name),
            leaf.mask,
            self.module.constants.get(source),
        )

    def _stored(self, name: str) -> Format:
        leaf = self.made.leaves[name]
        source = leaf.part.tensor
        pieces = self.pieces.at(source, leaf.part.key)
        encoding = self.module.types[source].encoding
        title = self.names.get(source, source)
        rank = sum(len(piece.atoms) for piece in pieces)
        form = Format.parse("dense" if rank else "scalar", rank)
        if source in self.formats:
            form = format_of(title, pieces, self.formats[source], (1,) * len(pieces))
        elif encoding is not None:
            form = format_of(title, pieces, encoding.format, encoding.blocks)
        # A mask stores what it selects; a row or a block of a sparse tensor may store everything.
        whole = leaf.mask and LevelKind.COMPRESSED not in form.levels
        return Format.default(rank) if whole else form

    # --- names -----------------------------------------------------------------------------

    def _called(self) -> dict[str, str]:
        """Name the tensors of the program: those from outside as there, others by number."""
        taken: set[str] = set()
        called: dict[str, str] = {}
        for name in self._leaves:
            source = self.made.leaves[name].part.tensor
            wanted = self.names.get(source, source) + name.removeprefix(source)
            called[name] = fresh(_plain(wanted), taken)
        if self.zero:
            called[_ZERO] = fresh("zero", taken)
        outside = self._read_from_outside()
        named = {
            each.value.tensor: self.names.get(result, result)
            for result, slices in self.results.items()
            for each in slices
            if isinstance(each.value, Access) and len(slices) == 1
        }
        for each in self.definitions:
            given = named.get(each.target, each.target) if each.target in outside else "T"
            called[each.target] = fresh(_plain(given), taken)
        return called

    def _statement(self, each: Definition) -> Statement:
        taken: set[str] = set()
        names = {index: self._index(index, taken) for index in each.indices}
        for part in walk(each.value):
            for index in part.indices if isinstance(part, Access) else ():
                if index not in names:
                    names[index] = self._index(index, taken)
        value = renamed(each.value, names, self.called)
        target = Access(self.called[each.target], tuple(names[index] for index in each.indices))
        return Statement(target, value)

    def _index(self, index: str, taken: set[str]) -> str:
        """Name a variable after its mode, and where a statement has several, number it."""
        mode = self.made.sizes[index].root
        number = len(self.letters)
        plain = LETTERS[number] if number < len(LETTERS) else f"x{number}"
        base = self.letters.setdefault(id(mode), plain)
        name, count = base, 1
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        self.sizes[name] = mode.size
        return name


_ZERO = " zero"
"""No tensor of a module has this name."""


def background(value: Expr, fills: Mapping[str, Number]) -> Number | None:
    """Return what a value is where no operand stores anything, roughly; None where one always does.

    Of what is no number there, NaN.
    """
    try:
        return Background(fills, FP32)(value)
    except LoweringError:
        return nan


def _needed(definitions: Sequence[Definition], outside: Sequence[str]) -> list[Definition]:
    """Leave out what is computed for a part that turned out to be a number, and not read again."""
    read = {*outside}
    found: list[Definition] = []
    for each in reversed(definitions):
        if each.target in read:
            found.append(each)
            read |= {access.tensor for access in accesses(each.value)}
    return found[::-1]


def _is_alias(definition: Definition) -> bool:
    return isinstance(definition.value, Access | Constant)


def _plain(name: str) -> str:
    """Return a name of the language: letters, digits and _."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"


def _regions(definitions: Sequence[Definition], scopes: Sequence[str] | None) -> tuple[Region, ...]:
    """Return the regions of consecutive definitions of one scope."""
    found: list[Region] = []
    taken: set[str] = set()
    start = 0
    for scope, group in groupby(definitions, lambda each: _scope(each.location.scope, scopes)):
        stop = start + len([*group])
        if scope:
            found.append(Region(start, stop, name=fresh(_plain(scope), taken)))
        start = stop
    return tuple(found)


def _scope(scope: str, scopes: Sequence[str] | None) -> str:
    """Return the one of the scopes that a scope is within; without any, the outermost."""
    if scopes is None:
        return scope.partition(".")[0]
    around = (each for each in scopes if scope == each or scope.startswith(f"{each}."))
    return max(around, key=len, default="")
