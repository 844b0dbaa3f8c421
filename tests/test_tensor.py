"""Tensors: packing against the dense array, images, and what they cost in time."""

import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.values import FP32, INT32
from fuseflow.tensor import Tensor
from tests.shared_data import SHARED
from tests.tensors import tensors, words

CORA = SHARED / "data" / "cora.npz"


def nested_entries(array: np.ndarray, form: Format, fill: float) -> list[tuple[int, ...]]:
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


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_packs_what_the_format_says(data: st.DataObject) -> None:
    tensor = data.draw(tensors())
    array = tensor.to_numpy()
    stored = nested_entries(array.astype(float), tensor.format, tensor.fill)
    ordered = np.transpose(array, tensor.format.order)
    held = [tensor.value.decode(word) for word in tensor.levels.vals.tolist()]
    assert held == [float(ordered[at]) for at in stored]
    prefixes = [len({at[: level + 1] for at in stored}) for level in range(tensor.rank)]
    if all(kind is LevelKind.COMPRESSED for kind in tensor.format.levels):
        assert list(tensor.positions) == prefixes
    assert tensor.nnz == np.count_nonzero(array.astype(float) != tensor.fill)


@settings(deadline=None, max_examples=100)
@given(tensors())
def test_image_round_trip(tensor: Tensor) -> None:
    back = Tensor.from_image(
        "T", tensor.image(), tensor.format, fill=tensor.fill, value=tensor.value
    )
    assert back.positions == tensor.positions
    assert back.image().vals == tensor.image().vals
    np.testing.assert_array_equal(back.to_numpy(), tensor.to_numpy())


@settings(deadline=None, max_examples=100)
@given(tensors(), st.randoms(use_true_random=False))
def test_entries_in_any_order_make_the_same_tensor(tensor: Tensor, random: object) -> None:
    coords, values = tensor.entries()
    rows = list(range(len(values)))
    random.shuffle(rows)  # type: ignore[attr-defined]
    back = Tensor.from_coordinates(
        "T", coords[rows], values[rows], tensor.shape, tensor.format, fill=tensor.fill,
        value=tensor.value,
    )  # fmt: skip
    assert back.positions == tensor.positions
    np.testing.assert_array_equal(words(back), words(tensor))


def test_every_format_of_rank_four() -> None:
    rng = np.random.default_rng(4)
    array = rng.integers(-1, 2, (2, 3, 1, 2)) * rng.integers(0, 2, (2, 3, 1, 2))
    first = Tensor.from_numpy("T", array, "ssss")
    for letters in ("dddd", "dsds", "sdsd", "sssd", "dsss"):
        for order in ("0,1,2,3", "3,2,1,0", "2,0,3,1"):
            tensor = first.convert(f"{letters}:{order}")
            assert (tensor.to_numpy() == array).all()
            assert (tensor.convert("ssss").to_numpy() == array).all()


def test_csr_arrays_are_scipys() -> None:
    rng = np.random.default_rng(1)
    array = rng.integers(-2, 3, (9, 7))
    matrix = scipy.sparse.csr_array(array)
    image = Tensor.from_scipy("A", matrix, "CSR").image()
    assert image.segs == (None, matrix.indptr.tolist())
    assert image.crds == (None, matrix.indices.tolist())
    assert image.vals == matrix.data.tolist()


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
def test_every_scipy_form(form: str) -> None:
    array = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 0, 4]])
    matrix = scipy.sparse.csr_array(array).asformat(form)
    assert Tensor.from_scipy("A", matrix, "DCSC").to_numpy().tolist() == array.tolist()


def test_scipy_arrays_longer_than_used_and_unsorted() -> None:
    matrix = scipy.sparse.csr_array(([5, 6], [2, 0], [0, 2, 2]), shape=(2, 3))
    matrix.data, matrix.indices = np.array([5, 6, 9]), np.array([2, 0, 1])
    assert Tensor.from_scipy("A", matrix).to_numpy().tolist() == [[6, 0, 5], [0, 0, 0]]
    vector = scipy.sparse.csr_array(np.array([0, 4, 0, 5]))
    assert Tensor.from_scipy("v", vector).to_numpy().tolist() == [0, 4, 0, 5]


def test_explicit_entries_equal_to_the_fill_are_stored_on_request() -> None:
    given_ = ("x", [[0], [2], [3]], [0.0, 5.0, -0.0], (4,))
    dropped = Tensor.from_coordinates(*given_, value=FP32)
    kept = Tensor.from_coordinates(*given_, value=FP32, keep_explicit=True)
    assert dropped.positions == (1,)
    assert kept.image().crds == ([0, 2, 3],)
    assert kept.image().vals == [0, FP32.encode(5.0), 1 << 31]
    assert (dropped.nnz, kept.nnz) == (1, 1)
    assert kept.entries()[0].tolist() == [[2]]
    assert kept.convert("d").convert("s").positions == (1,)
    assert kept.convert("s") is kept


def test_a_dense_tensor_keeps_negative_zeros() -> None:
    tensor = Tensor.from_numpy("x", [0.0, -0.0, 1.0], "d", value=FP32)
    assert tensor.image().vals == [0, 1 << 31, 127 << 23]
    assert np.signbit(tensor.to_numpy()).tolist() == [False, True, False]
    assert tensor.nnz == 1


def test_duplicates_are_added_on_request() -> None:
    coords = [[1, 1], [0, 0], [1, 1], [1, 1]]
    added = Tensor.from_coordinates("T", coords, [100, 1, 100, -90], (2, 2), sum_duplicates=True)
    assert added.to_numpy().tolist() == [[1, 0], [0, 110]]
    gone = Tensor.from_coordinates("T", coords[::2], [3, -3], (2, 2), sum_duplicates=True)
    assert gone.positions == (2, 0)
    halves = Tensor.from_coordinates("T", coords[::2], [0.5, 0.5], (2, 2), sum_duplicates=True)
    assert halves.to_numpy()[1, 1] == 1
    # 1 + 2^-24 + 2^-24 rounds up only if the sum is rounded once.
    tiny = Tensor.from_coordinates(
        "x", [[0], [0], [0]], [1, 2.0**-24, 2.0**-24], (1,), value=FP32, sum_duplicates=True
    )
    assert tiny.image().vals == [FP32.encode(1) + 1]
    scalar = Tensor.from_coordinates("a", np.zeros((2, 0), int), [1, 2], (), sum_duplicates=True)
    assert scalar.to_numpy().tolist() == 3


def test_scipy_round_trip_and_vectors() -> None:
    column = scipy.sparse.coo_array(([3, 4], ([0, 2], [0, 0])), shape=(5, 1))
    for matrix in (column, column.T):
        vector = Tensor.from_scipy("v", matrix, "s")
        assert vector.shape == (5,)
        assert vector.to_scipy().toarray().tolist() == [3, 0, 4, 0, 0]
    assert Tensor.from_scipy("m", column).shape == (5, 1)
    assert Tensor.from_scipy("m", column, fill=-1).to_numpy()[:, 0].tolist() == [3, -1, 4, -1, -1]


def test_renaming_keeps_all_else() -> None:
    tensor = Tensor.from_numpy("x", [1.5, 7], "d", fill=7, value=FP32)
    other = tensor.rename("y")
    assert (other.name, other.fill, other.value) == ("y", 7, FP32)
    assert other.levels is tensor.levels


def test_packing_is_vectorised() -> None:
    rng = np.random.default_rng(2)
    count = 200_000
    flat = rng.choice(10**8, count, replace=False)
    coords = np.stack(np.divmod(flat, 10**4), axis=-1)
    started = time.perf_counter()
    for value in (INT32, FP32):
        tensor = Tensor.from_coordinates(
            "A", coords, np.ones(count), (10**4, 10**4), "ss", value=value
        )
        assert tensor.positions[1] == count
        assert tensor.levels.segs[1] is not None
        assert tensor.levels.segs[1][-1] == count
    assert time.perf_counter() - started < 3


@pytest.mark.skipif(not CORA.exists(), reason="data/cora.npz is not beside the repository")
def test_cora_is_read_and_packed_at_once(tmp_path) -> None:
    with np.load(CORA) as data:
        parts = {kind: data[f"x_{kind}"] for kind in ("indptr", "indices", "data")}
        np.savez(tmp_path / "x.npz", **parts, shape=data["shape_x"])
    started = time.perf_counter()
    tensor = Tensor.read(tmp_path / "x.npz", "CSR", value=FP32)
    assert time.perf_counter() - started < 1
    assert (tensor.shape, tensor.nnz) == ((2708, 1433), 49216)


def test_importing_the_package_loads_no_arrays() -> None:
    code = "import sys, fuseflow; print({'numpy', 'scipy', 'ml_dtypes'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
