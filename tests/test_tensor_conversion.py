"""Conversions: contents, words, and cycles against a counting sort that counts its steps."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseflow.samml.formats import Format
from fuseflow.tensor import Tensor
from fuseflow.tensor.conversion import Conversion, ConversionCost
from fuseflow.tensor.levels import unpack
from tests.tensors import formats, tensors, words


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_keeps_the_contents(data: st.DataObject) -> None:
    tensor = data.draw(tensors())
    other = tensor.convert(data.draw(formats(tensor.rank)))
    assert (other.fill, other.value, other.shape) == (tensor.fill, tensor.value, tensor.shape)
    np.testing.assert_array_equal(words(other), words(tensor))
    back = other.convert(tensor.format)
    assert back.positions == tensor.positions


def simulate(tensor: Tensor, target: Format, passes: tuple[int, ...]) -> tuple[int, list]:
    """Convert word by word; return the steps, and the entries in the order that results."""
    steps = 0
    fill = float(tensor.fill)
    positions = [
        (tuple(coord), tensor.value.decode(word))
        for coord, word in zip(
            unpack(tensor.format, tensor.shape, tensor.levels).tolist(),
            tensor.levels.vals.tolist(),
            strict=True,
        )
    ]
    entries = [each for each in positions if each[1] != fill]
    if not passes:
        steps += len(positions)
    for number, mode in enumerate(passes):
        counts = [0] * tensor.shape[mode]
        for coord, value in positions if number == 0 else entries:
            steps += 1
            if value != fill:
                counts[coord[mode]] += 1
        start = 0
        for crd, count in enumerate(counts):
            steps += 1
            counts[crd], start = start, start + count
        scattered: list = [None] * len(entries)
        for entry in entries:
            steps += 1
            scattered[counts[entry[0][mode]]] = entry
            counts[entry[0][mode]] += 1
        entries = scattered
    copy = tensor.convert(target)
    written = {coord for coord, _ in entries}
    steps += sum(
        tuple(coord) not in written for coord in unpack(target, copy.shape, copy.levels).tolist()
    )
    steps += sum(1 for seg in copy.levels.segs if seg is not None for _ in seg)
    return steps, entries


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_cycles_are_those_of_a_counting_sort(data: st.DataObject) -> None:
    tensor = data.draw(tensors())
    target = data.draw(formats(tensor.rank))
    conversion = Conversion("T", "U", tensor.format, target)
    cost = conversion.cost(tensor)
    if target == tensor.format:
        assert cost == ConversionCost(0, 0, 0)
        return
    steps, entries = simulate(tensor, target, conversion.passes)
    assert cost.cycles == steps
    order = [tuple(coord[mode] for mode in target.order) for coord, _ in entries]
    assert order == sorted(order)
    copy = conversion.apply(tensor)
    assert (copy.name, copy.format) == ("U", target)
    for side, count in ((tensor, cost.words_read), (copy, cost.words_written)):
        image = side.image()
        arrays = [*image.segs, *image.crds, image.vals]
        assert count == sum(len(array) for array in arrays if array is not None)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_no_pass_is_wasted(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 4))
    source, target = data.draw(formats(rank)), data.draw(formats(rank))
    conversion = Conversion("T", "U", source, target)
    assert len(conversion.passes) < rank
    if conversion.passes:
        full = Tensor.from_numpy("T", np.ones((2,) * rank), source)
        _, entries = simulate(full, target, conversion.passes[1:])
        order = [tuple(coord[mode] for mode in target.order) for coord, _ in entries]
        assert order != sorted(order)


def test_csr_to_csc_by_hand() -> None:
    tensor = Tensor.from_numpy("A", [[0, 1, 2], [3, 0, 0]], "CSR")
    conversion = Conversion("A", "A_csc", tensor.format, Format.parse("CSC"))
    assert conversion.passes == (1,)
    # Read: seg 3, crd 3, val 3.  Written: seg 4, crd 3, val 3.  Cycles: 3 + 3 + 3 + 4.
    assert conversion.cost(tensor) == ConversionCost(9, 10, 13)
    assert str(conversion) == "A_csc = A converted from ds:0,1 to ds:1,0"


def test_dense_by_hand() -> None:
    tensor = Tensor.from_numpy("A", [[0, 1, 2], [3, 0, 0]], "CSR")
    dense = Format.parse("dense2")
    down = Conversion("A", "D", tensor.format, dense).cost(tensor)
    assert down == ConversionCost(9, 6, 6)
    up = Conversion("D", "A", dense, tensor.format).cost(tensor.convert(dense))
    assert up == ConversionCost(6, 9, 6 + 3)
    turned = Conversion("D", "E", dense, Format.parse("dd:1,0")).cost(tensor.convert(dense))
    # Histogram of all 6, 3 prefix sums, 3 entries scattered, 3 fills.
    assert turned == ConversionCost(6, 6, 6 + 3 + 3 + 3)
    assert math.prod(tensor.shape) == 6
