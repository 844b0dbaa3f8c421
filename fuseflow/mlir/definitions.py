"""From the steps of a module to Einsums over pieces of its tensors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import frexp, inf, isfinite, prod
from typing import Any

import numpy as np

from fuseflow.compiler.expr import (
    Access,
    Binary,
    Constant,
    Expr,
    Fold,
    Unary,
    Where,
    chain,
    free,
)
from fuseflow.compiler.smooth import SMOOTH
from fuseflow.mlir.errors import refuse
from fuseflow.mlir.modes import Mode, Piece
from fuseflow.mlir.module import Compute, Location, Module
from fuseflow.mlir.pieces import Part, Pieces
from fuseflow.mlir.renaming import renamed
from fuseflow.samml.values import Number, number

COMBINE = {"sum": "add", "max": "max", "min": "min"}
"""The operation that puts folds of parts together."""


@dataclass(frozen=True)
class Definition:
    """``target(indices) = value``, with variables that no other definition has.

    Attributes
    ----------
    target : str
    indices : tuple of str
        Those of the piece's variables that the value has, in the order of its modes.
    value : Expr
    location : Location
    place : int
        The step of the module that it comes from.
    """

    target: str
    indices: tuple[str, ...]
    value: Expr
    location: Location
    place: int


@dataclass(frozen=True)
class Leaf:
    """A tensor of the program that is a piece of an argument or a constant.

    Attributes
    ----------
    part : Part
    mask : bool
        It is stored where the piece is true.
    """

    part: Part
    mask: bool = False


@dataclass
class Definitions:
    """Einsums, made as they are asked for.

    Attributes
    ----------
    module : Module
    pieces : Pieces
    made : dict of str to Definition
        By target; each stands behind those that it reads.
    leaves : dict of str to Leaf
        By name, what is read.
    sizes : dict of str to Mode
        The mode that each variable runs through.
    """

    module: Module
    pieces: Pieces
    made: dict[str, Definition] = field(default_factory=dict[str, Definition])
    leaves: dict[str, Leaf] = field(default_factory=dict[str, Leaf])
    sizes: dict[str, Mode] = field(default_factory=dict[str, Mode])

    def read(self, part: Part, indices: tuple[str, ...], *, mask: bool = False) -> Expr:
        """Return a piece at index variables: an access, or a number where it is one.

        Parameters
        ----------
        part : Part
            Its origin.
        indices : tuple of str
            A variable for every atom.
        mask : bool
            It is read as a mask.
        """
        step = self.pieces.steps.get(part.tensor)
        if step is not None and part.tensor not in self.pieces.masks:
            if not isinstance(step, Compute):
                refuse(
                    step.location,
                    "a mask of where a computed tensor is 0: give the mask as an input",
                )
            made = self._define(part)
            kept = dict(zip(self._indices(part), indices, strict=True))
            match made.value:
                case Constant():
                    return made.value
                case Access(tensor, inner):
                    return Access(tensor, tuple(kept[index] for index in inner))
                case _:
                    return Access(made.target, tuple(kept[index] for index in made.indices))
        splat = self._splat(part)
        if splat is not None:
            return Constant(splat)
        name = self._name(part) + ("_mask" if mask else "")
        self.leaves.setdefault(name, Leaf(part, mask))
        return Access(name, indices)

    def _splat(self, part: Part) -> Any:
        constant = self.module.constants.get(part.tensor)
        if constant is None:
            return None
        piece = constant[np.ix_(*(each.places for each in self.pieces.at(part.tensor, part.key)))]
        if not piece.size or (piece != piece.flat[0]).any():
            return None
        return number(float(piece.flat[0]))

    def _name(self, part: Part) -> str:
        """Name a piece: as its tensor, numbered where that has several."""
        keys = self.pieces.keys(part.tensor)
        return part.tensor if len(keys) == 1 else f"{part.tensor}_{keys.index(part.key)}"

    # --- definitions -----------------------------------------------------------------------

    def _indices(self, part: Part) -> tuple[str, ...]:
        """Return the variables of a definition, one for every atom of its target."""
        step = self.pieces.steps[part.tensor]
        assert isinstance(step, Compute)
        keys = zip(step.indices, part.key, strict=True)
        return tuple(
            name for variable, number in keys for name in self._atoms(part, variable, number)
        )

    def _atoms(self, part: Part, variable: str, number: int) -> tuple[str, ...]:
        """Return names of the variables that one of a step becomes in a piece of it."""
        piece = self._piece(part.tensor, variable, number)
        names = tuple(
            f"{self._name(part)}.{variable}.{number}.{atom}" for atom in range(len(piece.atoms))
        )
        self.sizes |= zip(names, piece.atoms, strict=True)
        return names

    def _piece(self, tensor: str, variable: str, number: int) -> Piece:
        return self.pieces.of(self.pieces.variables[tensor][variable])[number]

    def _define(self, part: Part) -> Definition:
        name = self._name(part)
        if name not in self.made:
            step = self.pieces.steps[part.tensor]
            assert isinstance(step, Compute)
            choice = dict(zip(step.indices, part.key, strict=True))
            value = simplified(self._expand(step.value, part, choice))
            indices = tuple(index for index in self._indices(part) if index in {*free(value)})
            place = self.module.steps.index(step)
            self.made[name] = Definition(name, indices, value, step.location, place)
        return self.made[name]

    def _expand(self, expr: Expr, part: Part, choice: Mapping[str, int]) -> Expr:
        """Write an expression of a step in pieces, where a piece is chosen for every variable."""
        match expr:
            case Constant():
                return expr
            case Access():
                return self._access(expr, part, choice)
            case Unary(op, operand):
                return Unary(op, self._expand(operand, part, choice))
            case Binary(op, left, right):
                sides = (self._expand(side, part, choice) for side in (left, right))
                return Binary(op, *(self._apart(side, part, op) for side in sides))
            case Where(mask, body, fill):
                selected = self._expand(body, part, choice)
                where = self._access(mask, part, choice, mask=True)
                if isinstance(where, Constant):
                    return selected if where.number else Constant(fill)
                assert isinstance(where, Access)
                if not where.indices:
                    refuse(
                        self.pieces.steps[part.tensor].location,
                        "a condition on a single number: choose with numbers that are 0 and 1, as "
                        "in c * x + (1 - c) * y",
                    )
                return Where(where, selected, fill)
            case Fold(op, indices, body):
                return self._fold(op, indices, body, part, choice)

    def _apart(self, expr: Expr, part: Part, op: str) -> Expr:
        """Give a selection a definition of its own where others go on where it selects nothing."""
        if not isinstance(expr, Where) or op == "mul":
            return expr
        step = self.pieces.steps[part.tensor]
        name = f"{self._name(part)}.{len(self.made)}"
        indices = free(expr)
        place = self.module.steps.index(step)
        self.made[name] = Definition(name, indices, simplified(expr), step.location, place)
        return Access(name, indices)

    def _access(
        self, access: Access, part: Part, choice: Mapping[str, int], *, mask: bool = False
    ) -> Expr:
        modes = self.pieces.modes[access.tensor]
        key = tuple(
            choice[index] if mode.size != 1 else 0
            for index, mode in zip(access.indices, modes, strict=True)
        )
        names = tuple(
            name
            for index, mode in zip(access.indices, modes, strict=True)
            if mode.size != 1
            for name in self._atoms(part, index, choice[index])
        )
        return self.read(self.pieces.origin(access.tensor, key), names, mask=mask)

    def _fold(
        self,
        op: str,
        indices: tuple[str, ...],
        body: Expr,
        part: Part,
        choice: Mapping[str, int],
    ) -> Expr:
        """Fold over every choice of pieces, and put the folds together."""
        counts = [len(self.pieces.of(self.pieces.variables[part.tensor][v])) for v in indices]
        folded: list[Expr] = []
        for numbers in product(*map(range, counts)):
            chosen = {**choice, **dict(zip(indices, numbers, strict=True))}
            inner = self._expand(body, part, chosen)
            names = [
                name
                for variable, number in zip(indices, numbers, strict=True)
                for name in self._atoms(part, variable, number)
            ]
            if folded:
                # Every fold has variables of its own.
                own = {name: f"{name}.{len(folded)}" for name in names}
                self.sizes |= {new: self.sizes[old] for old, new in own.items()}
                inner, names = renamed(inner, own), [*own.values()]
            folded.append(self._folded(op, names, inner))
        return chain(COMBINE[op], folded)

    def _folded(self, op: str, names: list[str], body: Expr) -> Expr:
        """Fold an expression; what does not vary is added as often as there are coordinates."""
        varying = {*free(body)}
        kept = tuple(name for name in names if name in varying)
        times = prod(self.sizes[name].size for name in names if name not in varying)
        result = Fold(op, kept, body) if kept else body
        return Binary("mul", result, Constant(times)) if op == "sum" and times > 1 else result


_COMPUTED: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum,
    "min": np.minimum, "neg": np.negative, "abs": np.abs, "relu": partial(np.maximum, 0), **SMOOTH,
}  # fmt: skip


def _computed(expr: Expr, op: str, *operands: Number) -> Expr:
    """Return what constants give, if that is a number."""
    with np.errstate(all="ignore"):
        value = float(_COMPUTED[op](*map(float, operands)))
    return Constant(number(value)) if isfinite(value) else expr


def simplified(expr: Expr) -> Expr:
    """Compute what is constant; leave out zeros that are added and ones that are multiplied.

    What is divided by a power of two is multiplied by its inverse. Where nothing is selected, -inf
    stays -inf in sums, and is left out of a maximum.
    """
    match expr:
        case Binary(op, left, right):
            expr = Binary(op, simplified(left), simplified(right))
        case Unary(op, operand):
            expr = Unary(op, simplified(operand))
        case Fold(op, indices, body, owner):
            return Fold(op, indices, simplified(body), owner)
        case Where(mask, body, fill):
            return Where(mask, simplified(body), fill)
        case _:
            return expr
    match expr:
        case Binary(op, Constant(left), Constant(right)):
            return _computed(expr, op, left, right)
        case Unary(op, Constant(operand)):
            return _computed(expr, op, operand)
        case Binary("div", left, Constant(divisor)) if abs(frexp(divisor)[0]) == 0.5:
            return simplified(Binary("mul", left, Constant(number(1 / divisor))))
        case Binary("add" | "sub", kept, Constant(0)) | Binary("add", Constant(0), kept):
            return kept
        case Binary("max", kept, Constant(low)) | Binary("max", Constant(low), kept) if low == -inf:
            return kept
        case Binary("add" | "sub", Constant(low), _) | Binary("add", _, Constant(low)) if (
            low == -inf
        ):
            return Constant(low)
        case Binary("mul" | "div", kept, Constant(1)) | Binary("mul", Constant(1), kept):
            return kept
        case _:
            return expr
