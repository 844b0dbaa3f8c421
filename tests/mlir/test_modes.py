"""Modes: what is known of them, and the pieces that follow."""

from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseflow.mlir.modes import Mode, ViewError, product_of, sum_of


def sizes(mode: Mode) -> list[list[int]]:
    return [[atom.size for atom in piece.atoms] for piece in mode.pieces()]


def test_a_mode_of_which_nothing_is_known_is_one_piece() -> None:
    (piece,) = Mode(5).pieces()
    assert [atom.size for atom in piece.atoms] == [5]
    assert piece.places.tolist() == [0, 1, 2, 3, 4]


def test_a_mode_of_size_1_needs_no_variable() -> None:
    (piece,) = Mode(1).pieces()
    assert piece.atoms == ()
    assert piece.places.tolist() == [0]


def test_both_of_two_modes_know_what_one_is_made_of() -> None:
    left, right = Mode(24), Mode(24)
    left.same(right)
    right.same(product_of([Mode(4), Mode(6)]))
    assert sizes(left) == sizes(right) == [[4, 6]]


def test_two_products_are_refined() -> None:
    mode = Mode(24)
    mode.same(product_of([Mode(2), Mode(12)]))
    mode.same(product_of([Mode(4), Mode(6)]))
    assert sizes(mode) == [[2, 2, 6]]


def test_two_sums_are_refined() -> None:
    mode = Mode(10)
    mode.same(sum_of([Mode(3), Mode(7)]))
    mode.same(sum_of([Mode(5), Mode(5)]))
    assert sizes(mode) == [[3], [2], [5]]
    assert [piece.start for piece in mode.pieces()] == [0, 3, 5]


def test_a_sum_of_products_goes_through_the_outermost_factor() -> None:
    """Three projections at once, each split into heads, as attention layers write them."""
    mode, heads, features = Mode(24), Mode(2), Mode(4)
    parts = [Mode(8) for _ in range(3)]
    mode.same(sum_of(parts))
    for part in parts:
        part.same(product_of([heads, features]))
    assert sizes(mode) == [[2, 4]] * 3
    mode.same(product_of([Mode(3), heads, features]))
    assert sizes(mode) == [[2, 4]] * 3
    assert {id(piece.atoms[0]) for part in parts for piece in part.pieces()} == {id(heads.root)}


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (product_of([Mode(2), Mode(12)]), product_of([Mode(3), Mode(8)]),
         "2 x 12 and 3 x 8 have no common split"),
        (product_of([Mode(2), Mode(12)]), sum_of([Mode(10), Mode(14)]),
         "parts of 10, 14 do not go with 2 x 12: each must be a multiple of 12"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_told(left: Mode, right: Mode, message: str) -> None:
    with pytest.raises(ViewError) as caught:
        left.same(right)
    assert str(caught.value) == message


def composed(depth: int) -> st.SearchStrategy[Mode]:
    """Modes of products and sums."""
    leaves = st.integers(1, 4).map(Mode)
    if depth == 0:
        return leaves
    inner = st.lists(composed(depth - 1), min_size=1, max_size=3)
    return leaves | inner.map(product_of) | inner.map(sum_of)


@settings(deadline=None)
@given(composed(3))
def test_pieces_are_a_partition_in_order(mode: Mode) -> None:
    pieces = mode.pieces()
    assert sorted(place for piece in pieces for place in piece.places) == [*range(mode.size)]
    assert all(left.start < right.start for left, right in pairwise(pieces))
    for piece in pieces:
        assert len(piece.places) == prod(atom.size for atom in piece.atoms)
        assert all(atom.size > 1 for atom in piece.atoms)
        assert (np.diff(piece.places) > 0).all()


@settings(deadline=None)
@given(composed(2), st.data())
def test_one_mode_with_another_has_the_pieces_of_both(mode: Mode, data: st.DataObject) -> None:
    """Whatever is known first, the places of a piece of the finer one lie in one of the coarser."""
    before = [{*piece.places.tolist()} for piece in mode.pieces()]
    cuts = data.draw(st.sets(st.integers(1, max(1, mode.size - 1)), max_size=3))
    ends = sorted({0, mode.size, *(cut for cut in cuts if cut < mode.size)})
    try:
        mode.same(sum_of([Mode(high - low) for low, high in pairwise(ends)]))
    except ViewError:
        return
    after = [{*piece.places.tolist()} for piece in mode.pieces()]
    for piece in after:
        assert any(piece <= whole for whole in before)
        assert any(piece <= {*range(low, high)} for low, high in pairwise(ends))
