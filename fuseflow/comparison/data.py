"""Operands for kernels: seeded random ones, and given files or arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from fuseflow.comparison.table import Kernel
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.values import ValueType
from fuseflow.tensor import Tensor

Source: TypeAlias = Path | NDArray[Any]
"""Where an operand comes from: a tensor file, or a dense array."""

KARATE = 34
"""Members of Zachary's karate club."""


SCALAR = np.array(2)
"""The scalar operands of kernels that run on files."""


class Data(Protocol):
    """Operands for a kernel."""

    @property
    def name(self) -> str:
        """What a row calls them."""
        ...

    def operands(self, kernel: Kernel, kind: ValueType) -> list[Tensor]:
        """Return one tensor per operand, in the kernel's formats.

        Raises
        ------
        TensorError
            A file or value does not fit.
        """
        ...


@dataclass(frozen=True)
class Given:
    """Operands from files and arrays.

    Attributes
    ----------
    name : str
    sources : mapping of str to Source
        By operand.
    """

    name: str
    sources: Mapping[str, Source]

    def operands(self, kernel: Kernel, kind: ValueType) -> list[Tensor]:
        """Read every operand; integer types round fractions."""
        found: list[Tensor] = []
        for name in kernel.operands:
            source, form = self.sources[name], kernel.formats[name]
            fill = kernel.fill(name, kind)
            if isinstance(source, Path):
                read = Tensor.read(
                    source, form, name=name, value=kind, fill=fill, round_values=True
                )
            else:
                read = Tensor.from_numpy(name, source, form, value=kind, round_values=True)
            found.append(read)
        return found


@dataclass(frozen=True)
class Family:
    """Random operands of any rank over one index size; those stored dense are full.

    Attributes
    ----------
    name : str
    size : int
    density : mapping of int to float
        Share of stored entries of a compressed operand, by rank.
    ranks : range
        Largest operand ranks of the kernels that it serves.
    karate : bool
        Store every compressed matrix where Zachary's karate club has a friendship.
    seed : int
    """

    name: str
    size: int
    density: Mapping[int, float]
    ranks: range
    karate: bool = False
    seed: int = 1

    def serves(self, kernel: Kernel) -> bool:
        """Whether there are operands of the kernel's ranks."""
        ranks = [len(indices) for indices in kernel.operands.values()]
        return max(ranks) in self.ranks and all(rank in self.density for rank in ranks if rank)

    def operands(self, kernel: Kernel, kind: ValueType) -> list[Tensor]:
        """Draw every operand."""
        found: list[Tensor] = []
        for number, (name, indices) in enumerate(kernel.operands.items()):
            rng = np.random.default_rng([self.seed, number])
            shape = (self.size,) * len(indices)
            form = kernel.formats[name]
            coords = self._places(rng, shape, dense=LevelKind.COMPRESSED not in form.levels)
            found.append(
                Tensor.from_coordinates(
                    name, coords, numbers(rng, kind, len(coords)), shape, form,
                    fill=kernel.fill(name, kind), value=kind,
                )
            )  # fmt: skip
        return found

    def _places(
        self, rng: np.random.Generator, shape: tuple[int, ...], *, dense: bool
    ) -> NDArray[np.int64]:
        volume = prod(shape)
        if self.karate and len(shape) == 2 and not dense:
            return friendships()
        if dense:
            places = np.arange(volume)
        else:
            places = rng.choice(volume, round(self.density[len(shape)] * volume), replace=False)
        if not shape:
            return np.zeros((1, 0), np.int64)
        return np.stack(np.unravel_index(places, shape), axis=-1).astype(np.int64)


def families(seed: int) -> tuple[Family, ...]:
    """Return the families that every kernel can be run on."""
    return (
        Family("karate", KARATE, {1: 0.5, 2: 0.0}, range(3), karate=True, seed=seed),
        Family("random 100", 100, {1: 0.5, 2: 0.05}, range(3), seed=seed),
        Family("random 300", 300, {1: 0.5, 2: 0.02}, range(3), seed=seed),
        Family("random 50", 50, {1: 0.5, 2: 0.1, 3: 0.05}, range(3, 4), seed=seed),
        Family("random 12", 12, {1: 0.5, 2: 0.2, 3: 0.1, 4: 0.05}, range(4, 5), seed=seed),
    )


def numbers(rng: np.random.Generator, kind: ValueType, count: int) -> NDArray[Any]:
    """Draw numbers of either sign: 1 to 9, or for floating point full mantissas from 1/8 to 16."""
    signs = rng.choice([-1, 1], count)
    if not kind.is_float:
        return signs * rng.integers(1, 10, count)
    return signs * rng.uniform(1, 2, count) * 2.0 ** rng.integers(-3, 4, count)


def friendships() -> NDArray[np.int64]:
    """Return who is whose friend in Zachary's karate club, both ways."""
    import networkx

    graph = cast(Any, networkx).karate_club_graph()
    edges = np.array(list(graph.edges), np.int64)
    return np.concatenate([edges, edges[:, ::-1]])
