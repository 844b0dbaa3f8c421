"""What the modes of a module's tensors are made of, so that views cost nothing.

A reshape writes a mode as a product of modes, a slice or a concatenation as a sum of them.  Modes
that an operation indexes by one variable are one mode, so what is known of either holds for both.
Once a whole module has been looked at, every mode is a sum of products of modes that are never
split.  Those become index variables, and a view is another name for the same elements.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from math import prod
from operator import add, mul
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Places: TypeAlias = npt.NDArray[np.int64]


class ViewError(Exception):
    """Two ways of splitting one mode do not go together."""


class Mode:
    """A mode of a tensor, of which more may become known.

    Attributes
    ----------
    size : int
    equal : Mode or None
        A mode that this is the same as, which more is known of.
    factors : tuple of Mode
        What it is the product of, the outermost first; none where that is not known.
    parts : tuple of Mode
        What it is the sum of, one behind the other; none where that is not known.
    """

    def __init__(
        self, size: int, *, factors: Sequence["Mode"] = (), parts: Sequence["Mode"] = ()
    ) -> None:
        self.size = size
        self.equal: Mode | None = None
        self.factors = tuple(factors)
        self.parts = tuple(parts)

    @property
    def root(self) -> "Mode":
        """The mode that stands for all that are the same."""
        mode = self
        while mode.equal is not None:
            mode = mode.equal
        return mode

    def same(self, other: "Mode") -> None:
        """Take this and another to be one.

        Raises
        ------
        ViewError
            What is known of the two does not go together.
        """
        _unify(self.root, other.root)

    def pieces(self) -> tuple["Piece", ...]:
        """Return the products that this is the sum of, in order of their coordinates."""
        mode = self.root
        if mode.parts:
            starts = accumulate((part.size for part in mode.parts), initial=0)
            return tuple(
                Piece(piece.atoms, start + piece.places)
                for start, part in zip(starts, mode.parts, strict=False)
                for piece in part.pieces()
            )
        if mode.factors:
            sizes = [factor.size for factor in mode.factors]
            found = (factor.pieces() for factor in mode.factors)
            return tuple(_joined(each, sizes) for each in product(*found))
        return (Piece((mode,) if mode.size != 1 else (), np.arange(mode.size)),)


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a mode that is a product of modes that are never split.

    Attributes
    ----------
    atoms : tuple of Mode
        Outermost first; none has size 1.
    places : ndarray of int64
        Their coordinates in the mode, in row-major order of the atoms.
    """

    atoms: tuple[Mode, ...]
    places: Places

    @property
    def start(self) -> int:
        """The first coordinate; no other piece of the mode has it."""
        return int(self.places[0])


def product_of(factors: Sequence[Mode]) -> Mode:
    """Return the product of modes, the outermost first."""
    return _composed(factors, prod, 1, lambda size, some: Mode(size, factors=some))


def sum_of(parts: Sequence[Mode]) -> Mode:
    """Return modes one behind the other."""
    return _composed(parts, sum, 0, lambda size, some: Mode(size, parts=some))


def _composed(
    modes: Sequence[Mode],
    total: Callable[[Any], int],
    neutral: int,
    make: Callable[[int, list[Mode]], Mode],
) -> Mode:
    size = total(mode.size for mode in modes)
    some = [mode for mode in modes if mode.size != neutral]
    return some[0] if len(some) == 1 else make(size, some)


def _joined(pieces: Sequence[Piece], sizes: Sequence[int]) -> Piece:
    places = np.zeros(1, np.int64)
    for piece, size in zip(pieces, sizes, strict=True):
        places = (places[:, None] * size + piece.places).reshape(-1)
    return Piece(tuple(atom for piece in pieces for atom in piece.atoms), places)


def _unify(left: Mode, right: Mode) -> None:
    if left is right:
        return
    assert left.size == right.size, "the reader compares shapes"
    if left.size == 1:
        return  # It has no index, so nothing need be known of it.
    if not left.factors and not left.parts:
        left.equal = right
    elif not right.factors and not right.parts:
        right.equal = left
    elif left.factors and right.factors:
        fine = _common_factors(left.factors, right.factors)
        _refine(left, right, fine, product_of)
        right.factors = fine
    elif left.parts and right.parts:
        fine = _common_parts(left.parts, right.parts)
        _refine(left, right, fine, sum_of)
        right.parts = fine
    elif left.factors:
        _distribute(left, right)
    else:
        _distribute(right, left)


def _common_factors(left: Sequence[Mode], right: Sequence[Mode]) -> tuple[Mode, ...]:
    """Return new modes that the factors of both products are products of."""
    strides = _ends([*reversed(left)], mul, 1) | _ends([*reversed(right)], mul, 1)
    fine: list[Mode] = []
    for inner, outer in pairwise(sorted(strides)):
        if outer % inner:
            raise ViewError(f"{_sizes(left)} and {_sizes(right)} have no common split")
        fine.insert(0, Mode(outer // inner))
    return tuple(fine)


def _common_parts(left: Sequence[Mode], right: Sequence[Mode]) -> tuple[Mode, ...]:
    """Return new modes that the parts of both sums are sums of."""
    ends = sorted(_ends(left, add, 0) | _ends(right, add, 0))
    return tuple(Mode(high - low) for low, high in pairwise(ends))


def _ends(modes: Sequence[Mode], step: Callable[[int, int], int], start: int) -> set[int]:
    return set(accumulate((mode.size for mode in modes), step, initial=start))


def _refine(
    left: Mode,
    right: Mode,
    fine: Sequence[Mode],
    compose: Callable[[Sequence[Mode]], Mode],
) -> None:
    """Write what two modes are made of in finer modes, and make them one."""
    for coarse in (left.factors or left.parts, right.factors or right.parts):
        rest = list(fine)
        for mode in coarse:
            some: list[Mode] = []
            while compose(some).size != mode.size or not some:
                some.append(rest.pop(0))
            _unify(mode.root, compose(some).root)
    left.equal = right


def _distribute(whole: Mode, parts: Mode) -> None:
    """Make a product and a sum one: the sum is that of the product's outermost factor."""
    first, *rest = whole.factors
    inner = prod(mode.size for mode in rest)
    if any(part.size % inner for part in parts.parts):
        raise ViewError(
            f"parts of {', '.join(str(part.size) for part in parts.parts)} do not go with "
            f"{_sizes(whole.factors)}: each must be a multiple of {inner}"
        )
    outer = [Mode(part.size // inner) for part in parts.parts]
    _unify(first.root, sum_of(outer).root)
    for mode, part in zip(outer, parts.parts, strict=True):
        _unify(part.root, product_of([mode, *rest]).root)
    parts.equal = whole


def _sizes(modes: Sequence[Mode]) -> str:
    return " x ".join(str(mode.size) for mode in modes)
