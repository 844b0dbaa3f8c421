"""Words of values as the kernel holds them: raw bits, and what says of which type they are."""

from typing import TypeVar

import numpy as np

from fuseflow.samml.streams import Kind
from fuseflow.samml.values import ValueType
from sim_models.cycle.arith import ADD, MAX, MIN
from sim_models.cycle.heap import Words

Word = TypeVar("Word", int, Words)


def form(value: ValueType) -> int:
    """Return what stands for a value type in the kernel."""
    return value.bits | (value.fraction or 0) << 8


def raw(value: ValueType, word: Word) -> Word:
    """Return the raw bits of a word, or of an array of words."""
    return word & ((1 << value.bits) - 1)


def words_of(value: ValueType, raws: Words) -> Words:
    """Return the words of raw bits."""
    if value.is_float:
        return raws
    top = np.int64(1) << (value.bits - 1)
    return (raws ^ top) - top


def field_type(value: ValueType, kind: Kind) -> ValueType | None:
    """Return the type of a field's words in a graph of a value type; None for positions."""
    return {Kind.VAL: value, Kind.SUM: value.wide}.get(kind)


def fold_words(value: ValueType, op: str, kind: Kind) -> tuple[int, int, int, int, int]:
    """Return what a fold needs.

    Parameters
    ----------
    value : ValueType
        Of the graph, and so of the result.
    op : {'sum', 'max', 'min'}
    kind : Kind
        Of what is folded.

    Returns
    -------
    tuple of int
        The operation; the forms of what is folded and of partial results; the words to fold
        the first element with, and for a fold of nothing.
    """
    inside = value.wide if op == "sum" else value
    addend = field_type(value, kind)
    assert addend is not None
    identity = value.identity(op)
    first = -0.0 if op == "sum" else identity
    return (
        {"sum": ADD, "max": MAX, "min": MIN}[op],
        form(addend),
        form(inside),
        raw(inside, inside.encode(first)),
        raw(inside, inside.encode(identity)),
    )
