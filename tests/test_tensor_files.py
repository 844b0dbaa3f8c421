"""Tensor files: round trips, foreign files, refusals, atomic writes."""

import contextlib
import errno
import io
import math
import os
import struct
import time
import tracemalloc
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuseflow.samml.errors import FuseFlowError, TensorError
from fuseflow.samml.values import BF16, FP16, FP32, INT8
from fuseflow.tensor import Tensor
from fuseflow.tensor.files import check_target
from tests.shared_data import SHARED
from tests.tensors import tensors, words

PEERS = SHARED / "peers" / "inputs"
MTX = "%%MatrixMarket matrix"

files = settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def write(path: Path, contents: str | bytes) -> Path:
    path.write_bytes(contents.encode() if isinstance(contents, str) else contents)
    return path


def refused(path: Path, **options: object) -> str:
    """Return the one line that a file is refused with, with 'a.mtx' for its path."""
    with pytest.raises(TensorError) as caught:
        Tensor.read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), path.name)


@files
@given(tensors(), st.sampled_from([".tns", ".npz"]))
def test_round_trip(tmp_path: Path, tensor: Tensor, suffix: str) -> None:
    path = tmp_path / f"T{suffix}"
    tensor.write(path)
    back = Tensor.read(path, tensor.format, value=tensor.value)
    assert (back.name, back.shape, back.fill) == ("T", tensor.shape, tensor.fill)
    np.testing.assert_array_equal(words(back), words(tensor))
    assert back.positions == tensor.positions
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


@files
@given(tensors(most=2, filled=False))
def test_matrix_market_round_trip(tmp_path: Path, tensor: Tensor) -> None:
    path = tmp_path / "T.mtx"
    tensor.write(path)
    back = Tensor.read(path, tensor.format, name="other", value=tensor.value)
    assert (back.name, back.shape) == ("other", tensor.shape)
    np.testing.assert_array_equal(words(back), words(tensor))
    theirs = scipy.io.mmread(path).toarray()
    ours = tensor.to_numpy().reshape(theirs.shape).astype(np.float64)
    np.testing.assert_array_equal(theirs, ours)


@files
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False)))
def test_every_float32_survives_text(tmp_path: Path, numbers: list[float]) -> None:
    tensor = Tensor.from_numpy("x", np.array(numbers, np.float64), "s", value=FP32)
    for suffix in (".mtx", ".tns"):
        tensor.write(tmp_path / f"x{suffix}")
        back = Tensor.read(tmp_path / f"x{suffix}", "s", value=FP32)
        assert back.image().vals == tensor.image().vals


@pytest.mark.parametrize("value", [BF16, FP16, FP32], ids=lambda value: value.name)
def test_results_with_nan_are_written(tmp_path: Path, value) -> None:
    made = Tensor.from_numpy("x", [1.5, 2, 0], "s", value=value).image()
    image = type(made)(made.shape, made.segs, made.crds, [value.nan, value.encode(-math.inf)])
    result = Tensor.from_image("x", image, "s", value=value, computed=True)
    for suffix in (".mtx", ".tns", ".npz"):
        result.write(tmp_path / f"x{suffix}")
    assert refused(tmp_path / "x.tns", value=value) == (
        "tensor 'x', entry (0) on line 2 of 'x.tns': value nan is neither finite nor the fill 0"
    )
    with np.load(tmp_path / "x.npz") as archive:
        np.testing.assert_array_equal(archive["vals"].astype(float), [math.nan, -math.inf])


def test_fields_follow_the_value_type(tmp_path: Path) -> None:
    Tensor.from_numpy("T", [[1, 0], [0, -2]], value=INT8).write(tmp_path / "i.mtx")
    assert (tmp_path / "i.mtx").read_text() == (
        f"{MTX} coordinate integer general\n2 2 2\n1 1 1\n2 2 -2\n"
    )
    Tensor.from_numpy("T", [[1, 0], [0, -0.1]], value=FP32).write(tmp_path / "f.mtx")
    assert (tmp_path / "f.mtx").read_text() == (
        f"{MTX} coordinate real general\n2 2 2\n1 1 1\n2 2 -0.10000000149011612\n"
    )
    Tensor.from_numpy("T", [1, -math.inf], fill=-math.inf, value=FP32).write(tmp_path / "f.tns")
    assert (tmp_path / "f.tns").read_text() == "# shape 2\n# fill -inf\n1 1\n"


def test_archives_load_without_us(tmp_path: Path) -> None:
    Tensor.from_numpy("T", [[7, 1.5], [7, 7]], "dd", fill=7, value=BF16).write(tmp_path / "T.npz")
    with np.load(tmp_path / "T.npz", allow_pickle=False) as archive:
        assert archive["array"].dtype == np.float32
        assert archive["array"].tolist() == [[7, 1.5], [7, 7]]
        assert archive["fill"] == 7
    Tensor.from_numpy("T", [[0, 1], [2, 0]], "CSR", value=INT8).write(tmp_path / "T.npz")
    assert scipy.sparse.load_npz(tmp_path / "T.npz").toarray().tolist() == [[0, 1], [2, 0]]
    Tensor.from_numpy("T", [[7, 1], [7, 7]], "CSR", fill=7, value=FP16).write(tmp_path / "T.npz")
    with np.load(tmp_path / "T.npz", allow_pickle=False) as archive:
        assert {name: archive[name].tolist() for name in archive.files} == {
            "coords": [[0, 1]],
            "vals": [1],
            "shape": [2, 2],
            "fill": 7,
        }
        assert archive["vals"].dtype == np.float16


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        ("coordinate integer general\n2 3 2\n1 1 5\n2 3 6\n", [[5, 0, 0], [0, 0, 6]]),
        ("coordinate integer symmetric\n2 2 2\n1 1 5\n2 1 6\n", [[5, 6], [6, 0]]),
        ("coordinate real skew-symmetric\n2 2 1\n2 1 6\n", [[0, -6], [6, 0]]),
        ("coordinate pattern general\n2 3 1\n2 3\n", [[0, 0, 0], [0, 0, 1]]),
        ("coordinate pattern symmetric\n2 2 1\n2 1\n", [[0, 1], [1, 0]]),
        ("coordinate pattern skew-symmetric\n2 2 1\n2 1\n", [[0, -1], [1, 0]]),
        ("array real general\n2 2\n1\n0\n3\n4\n", [[1, 3], [0, 4]]),
        ("array integer general\n2 3\n1\n2\n3\n4\n5\n6\n", [[1, 3, 5], [2, 4, 6]]),
        ("array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", [[1, 2, 3], [2, 4, 5], [3, 5, 6]]),
        ("array real skew-symmetric\n3 3\n2\n3\n5\n", [[0, -2, -3], [2, 0, -5], [3, 5, 0]]),
        ("coordinate unsigned-integer general\n1 1 1\n1 1 5\n", [[5]]),
        ("coordinate real general\n% note\n\n2 1 1\n\n% note\n2 1 -3.0\n\n", [[0], [-3]]),
        ("COORDINATE Real GENERAL\r\n2 1 1\r\n2 1 -3.0\r\n", [[0], [-3]]),
        ("coordinate real general\n2 2 0\n", [[0, 0], [0, 0]]),
        ("coordinate real general\n2 0 0", [[], []]),
    ],
)
def test_matrix_market_variants(tmp_path: Path, text: str, dense: list[list[int]]) -> None:
    path = write(tmp_path / "m.mtx", f"{MTX} {text}")
    assert Tensor.read(path, "ss").to_numpy().tolist() == dense
    if "\n\n" not in text:
        theirs = scipy.io.mmread(path)
        assert getattr(theirs, "toarray", lambda: theirs)().tolist() == dense


@pytest.mark.parametrize("rows", [True, False])
def test_vectors_and_scalars_in_matrices(tmp_path: Path, rows: bool) -> None:
    size, entry = ("3 1", "2 1") if rows else ("1 3", "1 2")
    path = write(tmp_path / "v.mtx", f"{MTX} coordinate real general\n{size} 1\n{entry} 5\n")
    assert Tensor.read(path, "s").to_numpy().tolist() == [0, 5, 0]
    assert Tensor.read(path).rank == 2
    path = write(tmp_path / "a.mtx", f"{MTX} array real general\n1 1\n2.5\n")
    assert Tensor.read(path, "scalar", value=FP16).to_numpy().tolist() == 2.5
    path = write(tmp_path / "a.tns", "2.5\n")
    assert Tensor.read(path, value=FP16).to_numpy().tolist() == 2.5


def test_frostt_variants(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tns", "# from elsewhere\n\n1 2 5 6.0\n  # more\n3\t1 1 -2e0\r\n")
    assert Tensor.read(path).shape == (3, 2, 5)
    assert Tensor.read(path, shape=(4, 4, 5)).to_numpy()[2, 0, 0] == -2
    path = write(tmp_path / "t.tns", "# shape 2 3\n")
    assert Tensor.read(path).to_numpy().tolist() == [[0] * 3] * 2
    path = write(tmp_path / "t.tns", "1 -inf\n3 4\n")
    assert Tensor.read(path, fill=-math.inf, value=FP32).positions == (1,)
    path = write(tmp_path / "t.tns", "1 1\n1 2\n")
    assert Tensor.read(path, sum_duplicates=True).to_numpy().tolist() == [3]
    assert Tensor.read(write(path, "2 0\n"), keep_explicit=True).image().crds == ([1],)


def test_archive_variants(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    for kind in ("csr", "csc", "coo", "bsr", "dia"):
        matrix = scipy.sparse.csr_matrix([[0, 3], [2, 0]]).asformat(kind)
        scipy.sparse.save_npz(path, matrix)
        assert Tensor.read(path).to_numpy().tolist() == [[0, 3], [2, 0]]
    scipy.sparse.save_npz(path, scipy.sparse.coo_array(np.array([0, 3])))
    assert Tensor.read(path).to_numpy().tolist() == [0, 3]
    np.savez(path, array=np.arange(16).reshape(2, 2, 2, 2))
    assert Tensor.read(path, "dddd").to_numpy().reshape(-1).tolist() == list(range(16))
    np.savez(path, coords=[[2, 0, 1]], vals=[4.0], shape=[3, 1, 2])
    assert Tensor.read(path).entries()[0].tolist() == [[2, 0, 1]]
    csr = {"indptr": [0, 2, 3], "indices": [2, 0, 1], "data": [7, 8, 9]}
    np.savez(path, **csr)
    assert Tensor.read(path).to_numpy().tolist() == [[8, 0, 7], [0, 9, 0]]
    assert Tensor.read(path, shape=(2, 5)).shape == (2, 5)
    np.savez(path, **csr, shape=[2, 4])
    assert Tensor.read(path).shape == (2, 4)
    np.savez(path, array=np.array([1.5], ml_dtypes.bfloat16).astype(np.float32), fill=-np.inf)
    assert Tensor.read(path, value=BF16).fill == -math.inf
    assert Tensor.read(path, value=BF16, fill=2).fill == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "rubbish",
            "line 1: wanted a banner such as '%%MatrixMarket matrix coordinate real general'",
        ),
        (
            f"{MTX} coordinate real\n",
            "line 1: wanted a banner such as '%%MatrixMarket matrix coordinate real general'",
        ),
        (
            f"{MTX} array complex general\n1 1\n1 1\n",
            "line 1: 'complex' is not supported here, only real, integer, double, unsigned-integer",
        ),
        (
            f"{MTX} coordinate complex hermitian\n1 1 0\n",
            "line 1: 'complex' is not supported here, only real, integer, pattern, double, "
            "unsigned-integer",
        ),
        (
            f"{MTX} coordinate real hermitian\n1 1 0\n",
            "line 1: 'hermitian' is not supported here, only general, symmetric, skew-symmetric",
        ),
        (
            f"{MTX} array pattern general\n1 1\n",
            "line 1: 'pattern' is not supported here, only real, integer, double, unsigned-integer",
        ),
        (
            f"{MTX} list real general\n1 1\n",
            "line 1: 'list' is not supported here, only coordinate, array",
        ),
        (f"{MTX} coordinate real general", "line 1: the file ends before the size line"),
        (f"{MTX} coordinate real general\n%\n", "line 3: the file ends before the size line"),
        (
            f"{MTX} coordinate real general\n2 2\n",
            "line 2: wanted 'rows columns entries', got '2 2'",
        ),
        (f"{MTX} array real general\n% x\n2 -2\n", "line 3: wanted 'rows columns', got '2 -2'"),
        (
            f"{MTX} coordinate real general\n1000000000000 1000000000000 1\n1 1 1\n",
            "line 2: size 1000000000000 is above the supported 2147483647",
        ),
        (
            f"{MTX} coordinate real general\n9 9 1000000000000\n1 1 1\n",
            "line 4: the file ends after 1 of the 1000000000000 entries declared",
        ),
        (
            f"{MTX} array real general\n2000000000 2000000000\n1\n",
            "line 4: the file ends after 1 of the 4000000000000000000 entries declared",
        ),
        (
            f"{MTX} array real symmetric\n2000000000 2000000000\n1\n",
            "line 4: the file ends after 1 of the 2000000001000000000 entries declared",
        ),
        (
            f"{MTX} coordinate real general\n2 2 1\n1 1 1\n\n2 2 2\n",
            "line 5: more than the 1 entries declared",
        ),
        (
            f"{MTX} array real symmetric\n2 3\n1\n",
            "line 2: a symmetric matrix is square, got 2 x 3",
        ),
        (
            f"{MTX} coordinate real skew-symmetric\n2 2 2\n2 1 1\n2 2 0\n",
            "line 4: a skew-symmetric matrix has no diagonal",
        ),
        (
            f"{MTX} coordinate real general\n2 2 2\n1 1 1\n3 1 1\n",
            "line 4: coordinate 3 of mode 0 is outside shape (2, 2)",
        ),
        (
            f"{MTX} coordinate real general\n2 2 1\n\n1 0 1\n",
            "line 4: coordinate 0 of mode 1 is below 1",
        ),
        (f"{MTX} coordinate real general\n2 2 1\n1 1\n", "line 3: 2 numbers, wanted 3"),
        (
            f"{MTX} coordinate real general\n{9999 * '9'} 2 1\n1 1 1\n",
            f"line 2: wanted 'rows columns entries', got '{9999 * '9'} 2 1'",
        ),
        (f"{MTX} coordinate pattern general\n2 2 1\n1 1 1\n", "line 3: 3 numbers, wanted 2"),
        (f"{MTX} coordinate real general\n2 2 1\n1 1 1.2.3\n", "line 3: '1.2.3' is not a number"),
        (f"{MTX} array real general\n1 2\n1\n2 3\n", "line 4: 2 numbers, wanted 1"),
    ],
)
def test_bad_matrix_market(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "a.mtx", text)
    started = time.perf_counter()
    tracemalloc.start()
    assert refused(path) == f"cannot read 'a.mtx', {message}"
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "2 1 1",
            ": entry (1, 0) on line 4 of 'a.mtx' occurs twice; pass sum_duplicates=True "
            "(--sum-duplicates) to add them",
        ),
        (
            "1 1 nan",
            ", entry (0, 0) on line 4 of 'a.mtx': value nan is neither finite nor the fill 0",
        ),
        (
            "1 1 inf",
            ", entry (0, 0) on line 4 of 'a.mtx': value inf is neither finite nor the fill 0",
        ),
        (
            "1 1 3e9",
            ", entry (0, 0) on line 4 of 'a.mtx': value 3000000000.0 does not fit int32; scale the "
            "data, or use a wider type (--type)",
        ),
    ],
)
def test_bad_entries_are_named_by_line(tmp_path: Path, entry: str, message: str) -> None:
    path = write(tmp_path / "a.mtx", f"{MTX} coordinate real general\n2 2 2\n2 1 5\n{entry}\n")
    assert refused(path) == f"tensor 'a'{message}"


def test_both_triangles_of_a_symmetric_matrix(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mtx", f"{MTX} coordinate real symmetric\n2 2 2\n2 1 5\n1 2 5\n")
    assert " occurs twice; " in refused(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1 x\n", ", line 1: 'x' is not a number"),
        ("1 1 1\n\n# note\n1 1\n", ", line 4: 2 numbers, wanted 3"),
        ("1 1 1\n1 1 1 1\n", ", line 2: 4 numbers, wanted 3"),
        ("1 1 1\n0 1 1\n", ", line 2: coordinate 0 of mode 0 is below 1"),
        ("1 1 1\n1 -1 1\n", ", line 2: coordinate -1 of mode 1 is below 1"),
        ("1.5 1 1\n", ", line 1: coordinate 1.5 of mode 0 is not an integer"),
        ("nan 1 1\n", ", line 1: coordinate nan of mode 0 is not an integer"),
        (
            "1000000000000 1 1\n",
            ", line 1: coordinate 1000000000000 of mode 0 is above the supported 2147483647",
        ),
        ("# shape 3 3\n1 4 1\n", ", line 2: coordinate 4 of mode 1 is outside shape (3, 3)"),
        ("# shape 3 3 3\n1 2 1\n", ", line 2: an entry of rank 2, but the shape is (3, 3, 3)"),
        ("# shape 3 x\n1 2 1\n", ", line 1: no tensor has the shape '3 x'"),
        (
            "# shape 1000000000000 1\n1 1 1\n",
            ", line 1: no tensor has the shape '1000000000000 1'",
        ),
        ("# fill many\n1 1 1\n", ", line 1: the fill is not a number"),
        ("# nothing\n", ": no entries and no comment '# shape 3 4'"),
        ("", ": it is empty"),
        (b"\xff\xfe\x00", ": it is not text"),
    ],
)
def test_bad_frostt(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert refused(write(tmp_path / "a.tns", text)) == f"cannot read 'a.tns'{message}"


def test_bad_values_of_frostt(tmp_path: Path) -> None:
    assert refused(write(tmp_path / "a.tns", "1 1\n# note\n2 nan\n")) == (
        "tensor 'a', entry (1) on line 3 of 'a.tns': value nan is neither finite nor the fill 0"
    )
    assert refused(write(tmp_path / "a.tns", "1 1 1 1 1 1 1 2\n")) == (
        "tensor 'a': rank 7 is above the supported 6"
    )
    assert refused(write(tmp_path / "a.tns", "2 2 1\n"), shape=(4,)) == (
        "cannot read 'a.tns', line 1: an entry of rank 2, but the shape is (4,)"
    )


ARRAYS: dict[str, dict[str, object]] = {
    "pickle": {"array": np.array([{}], object)},
    "names": {"weights": [1], "bias": [2]},
    "complex": {"array": [1j]},
    "coords": {"coords": [[0.5]], "vals": [1], "shape": [3]},
    "rows": {"coords": [[0, 1]], "vals": [1, 2], "shape": [3, 3]},
    "shape": {"coords": [[0]], "vals": [1], "shape": [3.0]},
    "outside": {"coords": [[7]], "vals": [1], "shape": [3]},
    "huge": {"coords": [[0, 0]], "vals": [1], "shape": [10**12, 10**12]},
    "falling": {"indptr": [0, 2, 1], "indices": [0, 1], "data": [1, 2], "shape": [2, 3]},
    "column": {"indptr": [0, 1, 2], "indices": [0, 3], "data": [1, 2], "shape": [2, 3]},
    "short": {"indptr": [0, 1, 2], "indices": [0, 1], "data": [1], "shape": [2, 3]},
    "rank": {"indptr": [0, 1], "indices": [0], "data": [1], "shape": [3]},
    "nan": {"indptr": [0, 1, 2], "indices": [0, 1], "data": [1, np.nan]},
    "twice": {"indptr": [0, 2], "indices": [1, 1], "data": [1, 2]},
    "fill": {"array": [1], "fill": 0.5},
    "text": {"array": [1], "fill": "many"},
    "fills": {"array": [1], "fill": [1, 2]},
    "no rows": {"indptr": np.array([], int), "indices": [0], "data": [1]},
    "words": {"indptr": [0, 1], "indices": ["a"], "data": [1]},
    "scipy": {"format": 3, "shape": [1, 1], "indptr": [0, 0], "indices": [], "data": []},
}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ("pickle", "cannot read 'a.npz': array 'array' holds pickled Python objects: save numbers"),
        (
            "names",
            "cannot read 'a.npz': it holds no SciPy matrix, 'array', 'coords vals shape' or "
            "'indptr indices data', only ['bias', 'weights']",
        ),
        ("complex", "tensor 'a': values of type complex128 are not real numbers"),
        ("coords", "cannot read 'a.npz': coords must be integers"),
        (
            "rows",
            "cannot read 'a.npz': coords of shape (1, 2) and vals of shape (2,) for rank 2: wanted "
            "one row of coordinates per value",
        ),
        ("shape", "cannot read 'a.npz': shape must be a row of integers"),
        ("outside", "tensor 'a': entry (7) is outside shape (3,)"),
        ("huge", "tensor 'a': size 1000000000000 of mode 0 is outside 0..2147483647"),
        ("falling", "cannot read 'a.npz', level 1, position 2: seg falls from 2 to 1"),
        ("column", "cannot read 'a.npz', level 1, position 1: coordinate 3 is outside size 3"),
        ("short", "cannot read 'a.npz': 1 values for 2 positions"),
        ("rank", "cannot read 'a.npz': CSR arrays of shape (3,), wanted rank 2"),
        ("nan", "tensor 'a', entry (1, 1): value nan is neither finite nor the fill 0"),
        (
            "twice",
            "tensor 'a': entry (0, 1) occurs twice; pass sum_duplicates=True (--sum-duplicates) to "
            "add them",
        ),
        ("fill", "tensor 'a': fill 0.5 is no value of int32"),
        ("fills", "cannot read 'a.npz': fill must be one real number"),
        ("text", "cannot read 'a.npz': fill must be one real number"),
        ("no rows", "cannot read 'a.npz': indptr must be a row of integers"),
        ("words", "cannot read 'a.npz': indices must be a row of integers"),
        (
            "scipy",
            "cannot read 'a.npz': it is damaged, write it anew ('int' object has no attribute "
            "'decode')",
        ),
    ],
)
def test_bad_archives(tmp_path: Path, arrays: str, message: str) -> None:
    np.savez(tmp_path / "a.npz", **ARRAYS[arrays])
    assert refused(tmp_path / "a.npz") == message


def npy(shape: tuple[int, ...], data: bytes) -> bytes:
    """Return an array file whose header declares any shape."""
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}".encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def test_a_header_that_is_no_header(tmp_path: Path) -> None:
    header = b"(" * 9000
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        size = struct.pack("<H", len(header))
        archive.writestr("array.npy", b"\x93NUMPY\x01\x00" + size + header)
    assert refused(tmp_path / "a.npz").startswith("cannot read 'a.npz': it is damaged, write it")


def test_a_dense_array_of_many_places(tmp_path: Path) -> None:
    shape = (2**13 + 1, 2**13)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        header = npy(shape, b"").replace(b"<i8", b"|i1")
        archive.writestr("array.npy", header + bytes(shape[0] * shape[1]))
    started = time.perf_counter()
    assert refused(tmp_path / "a.npz") == (
        "cannot read 'a.npz': array 'array' of shape (8193, 8192) has more than 67108864 places: "
        "save a SciPy sparse matrix, or coords, vals and shape"
    )
    assert time.perf_counter() - started < 1


def test_archives_that_declare_more_than_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    tracemalloc.start()
    for shape in ((2, 1), (0,), (10**6, 10**6)):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("array.npy", npy(shape, b"\0" * 8))
        assert refused(path) == (
            f"cannot read 'a.npz': array 'array' is damaged: int64 of shape {shape} does not fit "
            "the file"
        )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("array.npy", npy((10**6, 10**6), b"\0" * 8))
        (info,) = archive.infolist()
        size = info.file_size
        info.file_size += 8 * 10**12 - 8  # the directory lies as the header does
    assert refused(path).startswith("cannot read 'a.npz': ")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert size < 200


@pytest.mark.parametrize("kind", ["csr", "coo", "bsr"])
def test_scipy_archives_of_absurd_shape(tmp_path: Path, kind: str) -> None:
    scipy.sparse.save_npz(tmp_path / "s.npz", scipy.sparse.eye_array(4, format=kind))
    with np.load(tmp_path / "s.npz") as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "a.npz", **{**arrays, "shape": np.array([10**12, 10**12])})
    started = time.perf_counter()
    assert "10000000000" in refused(tmp_path / "a.npz")
    assert time.perf_counter() - started < 1


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_damaged_files_are_refused_or_read(tmp_path: Path, data: st.DataObject) -> None:
    suffix = data.draw(st.sampled_from([".npz", ".mtx", ".tns"]))
    form = data.draw(st.sampled_from(["CSR", "ss", "dd"]))
    good = tmp_path / f"good{suffix}"
    Tensor.from_numpy("T", [[0, 1, 2], [3, 0, 4]], form).write(good)
    contents = bytearray(good.read_bytes())
    if data.draw(st.booleans()):
        contents = contents[: data.draw(st.integers(0, len(contents)))]
    for _ in range(data.draw(st.integers(0, 3))):
        if contents:
            contents[data.draw(st.integers(0, len(contents) - 1))] = data.draw(st.integers(0, 255))
    path = write(tmp_path / f"T{suffix}", bytes(contents))
    with contextlib.suppress(TensorError):
        Tensor.read(path)


@pytest.mark.parametrize("suffix", [".mtx", ".tns", ".npz"])
def test_what_is_no_file(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"a{suffix}"
    assert refused(path) == f"cannot read 'a{suffix}': No such file or directory"
    path.touch()
    assert refused(path) == f"cannot read 'a{suffix}': it is empty"

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    path.write_text("1 1\n")
    with monkeypatch.context() as patch:
        patch.setattr(io, "open", denied)
        patch.setattr(Path, "open", denied)
        patch.setattr("fuseflow.tensor.npz.zipfile.ZipFile", denied)
        assert refused(path) == f"cannot read 'a{suffix}': Permission denied"
    path.unlink()
    path.mkdir()
    assert refused(path) == f"cannot read 'a{suffix}': it is a folder"


def test_other_suffixes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    assert refused(path) == "'a.txt': unknown suffix '.txt', use one of .mtx, .tns, .npz"
    with pytest.raises(TensorError, match=r"unknown suffix '\.csv'"):
        Tensor.from_numpy("x", [1]).write(tmp_path / "x.csv")


def test_a_shape_can_be_enlarged(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mtx", f"{MTX} coordinate real general\n2 1 1\n2 1 5\n")
    assert Tensor.read(path, "s", shape=(4,)).to_numpy().tolist() == [0, 5, 0, 0]
    assert refused(path, shape=(4,)) == "cannot read 'a.mtx': shape (2, 1) does not read as (4,)"
    assert refused(path, shape=(1, 1)) == (
        "tensor 'a': entry (1, 0) on line 3 of 'a.mtx' is outside shape (1, 1)"
    )
    square = write(tmp_path / "b.mtx", f"{MTX} coordinate real general\n2 2 1\n2 1 5\n")
    assert refused(square, format="s") == (
        "cannot read 'b.mtx': shape (2, 2) does not read as rank 1"
    )


def unwritten(tensor: Tensor, path: Path) -> str:
    """Return the one line that writing is refused with, and see that nothing was left."""
    before = sorted(path.parent.iterdir()) if path.parent.exists() else None
    with pytest.raises(FuseFlowError) as caught:
        tensor.write(path)
    after = sorted(path.parent.iterdir()) if path.parent.exists() else None
    assert before == after
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{path.parent}{os.sep}", "")


def test_refuses_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled = Tensor.from_numpy("T", [[7, 1], [7, 7]], "ss", fill=7)
    assert unwritten(filled, tmp_path / "T.mtx") == (
        "tensor 'T': fill 7 does not go into a .mtx file; use .tns or .npz"
    )
    cube = Tensor.from_numpy("T", np.zeros((1, 1, 1)))
    assert unwritten(cube, tmp_path / "T.mtx") == (
        "tensor 'T': rank 3 does not go into a .mtx file; use .tns or .npz"
    )
    missing = tmp_path / "missing"
    assert unwritten(cube, missing / "T.tns") == (
        f"cannot write 'T.tns': there is no folder '{missing}'"
    )
    (tmp_path / "T.npz").mkdir()
    assert unwritten(cube, tmp_path / "T.npz") == "cannot write 'T.npz': it is a folder"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert unwritten(cube, tmp_path / "T.tns") == (
        f"cannot write 'T.tns': the folder '{tmp_path}' is not writable"
    )
    with pytest.raises(TensorError, match="is not writable"):
        check_target(tmp_path / "T.tns")


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = Tensor.from_numpy("T", [[0, 1]])
    path = write(tmp_path / "T.npz", "earlier")
    with monkeypatch.context() as patch:

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        patch.setattr("fuseflow.samml.files.os.replace", full)
        assert unwritten(tensor, path) == (
            "cannot write 'T.npz': No space left on device; choose another place or make room"
        )
    assert path.read_text() == "earlier"
    if Path("/dev/full").exists():
        (tmp_path / "full.mtx").symlink_to("/dev/full")
        assert unwritten(tensor, tmp_path / "full.mtx") == (
            "cannot write 'full.mtx': No space left on device; choose another place or make room"
        )


@pytest.mark.skipif(not PEERS.exists(), reason="the peers' inputs are not beside the repository")
def test_reads_every_peer_input() -> None:
    paths = sorted(PEERS.iterdir())
    assert paths
    for path in paths:
        tensor = Tensor.read(path, value=FP32)
        assert tensor.nnz > 0
        assert tensor.rank in (2, 3)
