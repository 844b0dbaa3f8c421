"""Scores that a mask hides become minus infinity where only a softmax reads them.

Models hide scores by large negative numbers, so that a row of which nothing is left gives numbers
still. The exponentials of the others are 0 either way, and with minus infinity the compiler knows
it: only what the mask stores is computed. Rows of which nothing is left then give what an empty
softmax gives; where a constant mask has one, its number stays.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fuseflow.compiler.expr import Access, Binary, Expr, Fold, Unary, Where, children
from fuseflow.mlir.draft import Draft, sources
from fuseflow.mlir.module import Compute, Step

LOWEST = -1e9
"""What hides a score is this or less."""


def hide_scores(draft: Draft, results: Sequence[str]) -> None:
    """Replace the fills of scores that only a softmax reads."""
    readers: dict[str, list[Step]] = {}
    for step in draft.steps.values():
        for name in dict.fromkeys(sources(step)):
            readers.setdefault(name, []).append(step)
    for name, step in draft.steps.items():
        match step:
            case Compute(_, indices, Where(mask, body, fill)) if -math.inf < fill <= LOWEST:
                folded = _softmax_modes(name, readers, results)
                if folded and not _hides_rows(draft, mask, [indices[mode] for mode in folded]):
                    hidden = Where(mask, body, -math.inf)
                    draft.steps[name] = replace(step, value=hidden)
            case _:
                pass


def _softmax_modes(
    name: str, readers: dict[str, list[Step]], results: Sequence[str]
) -> tuple[int, ...]:
    """Return the modes of the softmax that alone reads a value; none if something else does."""
    modes: tuple[int, ...] = ()
    if name in results:
        return ()
    for step in readers.get(name, ()):
        match step:
            case Compute(_, _, Fold("max", folded, Access(_, indices))):
                modes = tuple(indices.index(index) for index in folded)
            case Compute(target, _, Binary("sub", Access(), Access(other))) if other != name:
                if target in results or not all(
                    isinstance(step, Compute) and _only_in_exponents(step.value, target)
                    for step in readers.get(target, ())
                ):
                    return ()
            case Compute(_, _, value) if _only_in_exponents(value, name):
                pass
            case _:
                return ()
    return modes


def _only_in_exponents(expr: Expr, name: str) -> bool:
    """Whether a value is read as ``exp(value)`` or ``exp(value - other)`` only."""
    return all(_readings(expr, name))


def _readings(expr: Expr, name: str) -> Iterator[bool]:
    match expr:
        case Access(tensor):
            if tensor == name:
                yield False
        case Unary("exp", Access(tensor)) if tensor == name:
            yield True
        case Unary("exp", Binary("sub", Access(tensor), other)) if tensor == name:
            yield from _readings(other, name)
        case _:
            for part in children(expr):
                yield from _readings(part, name)


def _hides_rows(draft: Draft, mask: Access, folded: Sequence[str]) -> bool:
    """Whether a constant mask leaves nothing of a row."""
    if mask.tensor not in draft.constants:
        return False
    kept = draft.constants[mask.tensor] != 0
    modes = tuple(mode for mode, index in enumerate(mask.indices) if index in folded)
    return not kept.any(axis=modes).all()
