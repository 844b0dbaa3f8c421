"""Closed-form runs of a graph: when they are worth it, and which words are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fuseflow.compiler import Lowered
from fuseflow.samml.image import TensorImage
from fuseflow.samml.units import UnitGraph

if TYPE_CHECKING:
    from fuseflow.interchange import Imported
    from sim_models.cycle.result import CycleResult
    from sim_models.periods.skip import ClosedForm
    from sim_models.sliced import SlicedResult
    from sim_models.storage import Flags

WORTH = 1 << 24
"""Forecast firings above which a run takes closed forms unasked; a second of the cycle model."""

CHEAP = 250_000
"""Firings from pause to pause below which pauses become rarer: a look costs about as much."""


@dataclass(frozen=True)
class Meant:
    """What the golden meaning says of a run.

    Attributes
    ----------
    outputs : dict of str to TensorImage
    flags : Flags
    dropped : dict of str to ndarray or None
        What every drop_value drops, for closed forms; None where the run is at token level.
    """

    outputs: dict[str, TensorImage]
    flags: Flags
    dropped: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] | None = None

    @classmethod
    def of(cls, found: SlicedResult) -> Meant:
        """Take over what was found in slices."""
        return cls(found.outputs, found.flags, found.dropped)

    def form(self, asked: bool | None) -> ClosedForm | None:
        """Return how periods are skipped: at once where it was asked for."""
        from sim_models.periods.skip import ClosedForm

        if self.dropped is None:
            return None
        return ClosedForm(0 if asked else WORTH, CHEAP, self.dropped)


def is_closed(lowered: Lowered | Imported, asked: bool | None) -> bool:
    """Tell whether a graph's run may take closed forms.

    Parameters
    ----------
    lowered : Lowered or Imported
    asked : bool or None
        None: where it is expected to fire often.
    """
    if asked is not None:
        return asked
    return isinstance(lowered, Lowered) and lowered.forecast.firings >= WORTH


def corrected(
    units: UnitGraph, model: CycleResult, meant: Meant
) -> tuple[CycleResult, frozenset[str]]:
    """Put the golden words in the place of those that skipping left wrong.

    Parameters
    ----------
    units : UnitGraph
    model : CycleResult
    meant : Meant

    Returns
    -------
    CycleResult
    frozenset of str
        The results in which the two disagree: in a word that was written before anything was
        skipped, or in how many were.
    """
    differing: set[str] = set()
    for unit in units.units:
        if unit.name not in model.right:
            continue
        tensor, level = str(unit.node.params["tensor"]), unit.node.params.get("level", -1)
        assert isinstance(level, int)
        right = model.right[unit.name]
        found, wanted = (_arrays(each[tensor], level) for each in (model.outputs, meant.outputs))
        for words, others, count in zip(found, wanted, right, strict=False):
            same = np.array_equal(np.asarray(words[:count]), np.asarray(others[:count]))
            if not same or len(words) != len(others):
                differing.add(tensor)
    return replace(model, outputs=meant.outputs, flags=meant.flags), frozenset(differing)


def ideal_cycles(
    units: UnitGraph,
    images: Mapping[str, TensorImage],
    shapes: Mapping[str, tuple[int, ...]],
    form: ClosedForm | None,
) -> tuple[int, int]:
    """Return the ideal cycles with unlimited banks, and with the tile's own.

    A bank only ever holds a firing up. Where none did, every firing is in the same cycle
    without that limit, so that one run tells both.

    Parameters
    ----------
    units : UnitGraph
    images : mapping of str to TensorImage
    shapes : mapping of str to tuple of int
    form : ClosedForm or None
        How periods are skipped.
    """
    from sim_models.cycle.simulate import simulate

    banks = simulate(units, images, shapes, ideal="banks", digests=False, closed=form)
    if not any(unit.bank for unit in banks.units):
        return banks.cycles, banks.cycles
    free = simulate(units, images, shapes, ideal="unlimited", digests=False, closed=form)
    return free.cycles, banks.cycles


def _arrays(image: TensorImage, level: int) -> list[Sequence[int]]:
    """Return the arrays that a writer fills, in the order of its counts."""
    if level < 0:
        return [image.vals]
    crd, seg = image.crds[level], image.segs[level]
    assert crd is not None
    assert seg is not None
    return [crd, seg[1:]]
