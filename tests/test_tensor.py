"""Tensors: packing against the dense array, images, and refusals."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseflow.samml.errors import TensorError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.image import TensorImage
from fuseflow.tensor import Tensor

INT32 = (-(2**31), 2**31 - 1)


@st.composite
def formats(draw: st.DrawFn, rank: int) -> Format:
    kinds = draw(st.tuples(*[st.sampled_from(LevelKind)] * rank))
    return Format(kinds, tuple(draw(st.permutations(range(rank)))))


@st.composite
def tensors(draw: st.DrawFn, most: int = 4, fills: tuple[int, ...] = (0, 7)) -> Tensor:
    """A tensor of any rank, format and fill; sizes of 0 included."""
    shape = draw(st.lists(st.integers(0, 4), max_size=most))
    fill = draw(st.sampled_from(fills))
    value = st.one_of(st.just(fill), st.integers(-3, 3), st.sampled_from(INT32))
    size = int(np.prod(shape, dtype=np.int64))
    flat = draw(st.lists(value, min_size=size, max_size=size))
    array = np.array(flat, np.int64).reshape(shape)
    return Tensor.from_numpy("T", array, draw(formats(len(shape))), fill=fill)


def nested_entries(array: np.ndarray, form: Format, fill: int) -> list[tuple[int, ...]]:
    """Coordinates that a format stores, by definition: one loop per level."""
    ordered = np.transpose(array, form.order)
    found: list[tuple[int, ...]] = [()]
    for level, kind in enumerate(form.levels):
        found = [
            (*prefix, crd)
            for prefix in found
            for crd in range(ordered.shape[level])
            if kind is LevelKind.DENSE or (ordered[(*prefix, crd)] != fill).any()
        ]
    return found


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_packs_what_the_format_says(data: st.DataObject) -> None:
    tensor = data.draw(tensors())
    array = tensor.to_numpy()
    stored = nested_entries(array, tensor.format, tensor.fill)
    ordered = np.transpose(array, tensor.format.order)
    assert tensor.levels.vals.tolist() == [int(ordered[at]) for at in stored]
    prefixes = [len({at[: level + 1] for at in stored}) for level in range(tensor.rank)]
    if all(kind is LevelKind.COMPRESSED for kind in tensor.format.levels):
        assert list(tensor.positions) == prefixes


@settings(deadline=None, max_examples=100)
@given(tensors())
def test_image_round_trip(tensor: Tensor) -> None:
    back = Tensor.from_image("T", tensor.image(), tensor.format, fill=tensor.fill)
    assert back.positions == tensor.positions
    np.testing.assert_array_equal(back.to_numpy(), tensor.to_numpy())


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_convert_keeps_the_contents(data: st.DataObject) -> None:
    tensor = data.draw(tensors())
    other = tensor.convert(data.draw(formats(tensor.rank)))
    np.testing.assert_array_equal(other.to_numpy(), tensor.to_numpy())


def test_csr_arrays_are_scipys() -> None:
    rng = np.random.default_rng(1)
    array = rng.integers(-2, 3, (9, 7))
    matrix = scipy.sparse.csr_array(array)
    image = Tensor.from_scipy("A", matrix, "CSR").image()
    assert image.segs == (None, matrix.indptr.tolist())
    assert image.crds == (None, matrix.indices.tolist())
    assert image.vals == matrix.data.tolist()


def test_explicit_entries_equal_to_the_fill_are_not_stored() -> None:
    tensor = Tensor.from_coordinates("x", [[0], [2]], [0, 5], (4,))
    assert tensor.positions == (1,)
    assert tensor.nnz == 1


def test_scipy_round_trip_and_vectors() -> None:
    column = scipy.sparse.coo_array(([3, 4], ([0, 2], [0, 0])), shape=(5, 1))
    vector = Tensor.from_scipy("v", column, "s")
    assert vector.shape == (5,)
    assert vector.to_scipy().toarray().tolist() == [3, 0, 4, 0, 0]
    assert Tensor.from_scipy("m", column).shape == (5, 1)


@pytest.mark.parametrize(
    ("coordinates", "values", "shape", "message"),
    [
        ([[0, 5]], [1], (2, 5), "outside shape"),
        ([[-1, 0]], [1], (2, 5), "outside shape"),
        ([[0, 1], [0, 1]], [1, 2], (2, 5), r"coordinate \(0, 1\) occurs twice"),
        ([[0, 1], [0, 1]], [0, 0], (2, 5), "occurs twice"),
        ([[0, 1]], [1.5], (2, 5), "round_values"),
        ([[0, 1]], [2**31], (2, 5), "does not fit int32"),
        ([[0, 1]], [-(2**31) - 1.0], (2, 5), "does not fit int32"),
        ([[0, 1]], [np.nan], (2, 5), "not finite"),
        ([[0, 1]], [1j], (2, 5), "not real"),
        ([[0.5, 1]], [1], (2, 5), "must be integers"),
        ([[0], [1]], [1], (2, 5), "as many rows"),
        ([[0], [1]], [1, 2], (), "as many rows"),
    ],
)
def test_refuses(coordinates: object, values: object, shape: object, message: str) -> None:
    with pytest.raises(TensorError, match=message) as caught:
        Tensor.from_coordinates("T", coordinates, values, shape)
    assert str(caught.value).count("'T'") == 1
    assert "\n" not in str(caught.value)


def test_rounds_on_request() -> None:
    tensor = Tensor.from_numpy("x", [0.4, 0.5, 1.5, -2.7], "d", round_values=True)
    assert tensor.to_numpy().tolist() == [0, 0, 2, -3]


@pytest.mark.parametrize(
    ("segs", "crds", "vals", "message"),
    [
        (((0, 2),), (None,), (1, 2), "no seg and crd"),
        (((0, 1, 2),), ((0, 1),), (1, 2), "seg has 3 words, wanted 2"),
        (((0, 1),), ((0, 1),), (1, 2), "ascend from 0"),
        (((0, 2),), ((0, 4),), (1, 2), "outside 0..3"),
        (((0, 2),), ((1, 1),), (1, 2), "do not ascend"),
        (((0, 2),), ((0, 1),), (1,), "1 values for 2"),
        ((), (), (1,), "arrays of 0 levels"),
    ],
)
def test_bad_images(segs: object, crds: object, vals: object, message: str) -> None:
    with pytest.raises(TensorError, match=message):
        Tensor.from_image("x", TensorImage((4,), segs, crds, vals), "s")


def test_format_of_another_rank() -> None:
    with pytest.raises(TensorError, match="format ss:0,1 has rank 2, wanted 1"):
        Tensor.from_numpy("x", [1, 2], "ss")
    with pytest.raises(TensorError, match="does not read as rank 1"):
        Tensor.from_scipy("x", scipy.sparse.eye_array(3), "s")


def test_packing_is_vectorised() -> None:
    rng = np.random.default_rng(2)
    count = 200_000
    flat = rng.choice(10**8, count, replace=False)
    coords = np.stack(np.divmod(flat, 10**4), axis=-1)
    tensor = Tensor.from_coordinates("A", coords, np.ones(count, np.int64), (10**4, 10**4), "ss")
    assert tensor.positions[1] == count
    assert tensor.levels.segs[1] is not None
    assert tensor.levels.segs[1][-1] == count
