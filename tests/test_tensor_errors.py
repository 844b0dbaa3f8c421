"""What tensors refuse, and the exact line that says so."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse

from fuseflow.samml.errors import TensorError
from fuseflow.samml.image import TensorImage
from fuseflow.samml.values import BF16, FP16, FP32, INT8
from fuseflow.tensor import Tensor

ROUND = "pass round_values=True (--round), scale the data, or use value type fp32 (--type fp32)"
BEYOND = "; scale the data, or use a wider type (--type)"


def refused(call: Callable[[], object]) -> str:
    """Return the one line that a call is refused with."""
    with pytest.raises(TensorError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("coordinates", "values", "shape", "message"),
    [
        ([[0, 5]], [1], (2, 5), "tensor 'T': entry (0, 5) is outside shape (2, 5)"),
        ([[0, 0], [-1, 0]], [1, 2], (2, 5), "tensor 'T': entry (-1, 0) is outside shape (2, 5)"),
        (
            [[3, 4], [0, 1], [3, 4]],
            [1, 2, 3],
            (9, 9),
            "tensor 'T': entry (3, 4) occurs twice; pass sum_duplicates=True (--sum-duplicates) to "
            "add them",
        ),
        (
            [[0, 1], [0, 1]],
            [0, 0],
            (2, 5),
            "tensor 'T': entry (0, 1) occurs twice; pass sum_duplicates=True (--sum-duplicates) to "
            "add them",
        ),
        (
            np.zeros((2, 0), int),
            [1, 2],
            (),
            "tensor 'T': entry () occurs twice; pass sum_duplicates=True (--sum-duplicates) to "
            "add them",
        ),
        (
            [[0, 1], [0, 0]],
            [1.5, 2],
            (2, 5),
            f"tensor 'T', entry (0, 1): value 1.5 is not an integer as int32 needs; {ROUND}",
        ),
        (
            [[0, 1]],
            [2**31],
            (2, 5),
            "tensor 'T', entry (0, 1): value 2147483648 does not fit int32" + BEYOND,
        ),
        (
            [[0, 1]],
            np.array([2**64 - 1], np.uint64),
            (2, 5),
            "tensor 'T', entry (0, 1): value 18446744073709551615 does not fit int32" + BEYOND,
        ),
        (
            [[0, 1]],
            [-(2**31) - 1.0],
            (2, 5),
            "tensor 'T', entry (0, 1): value -2147483649.0 does not fit int32" + BEYOND,
        ),
        (
            [[0, 1]],
            [np.nan],
            (2, 5),
            "tensor 'T', entry (0, 1): value nan is neither finite nor the fill 0",
        ),
        ([[0, 1]], [1j], (2, 5), "tensor 'T': values of type complex128 are not real numbers"),
        ([[0, 1]], ["x"], (2, 5), "tensor 'T': values of type <U1 are not real numbers"),
        ([[0, 1]], [None], (2, 5), "tensor 'T': values of type object are not real numbers"),
        ([[0.5, 1]], [1], (2, 5), "tensor 'T': coordinates must be integers, got float64"),
        (
            [[0], [1]],
            [1],
            (2, 5),
            "tensor 'T': 1 values of rank 2 need as many rows of coordinates, got shape (2, 1)",
        ),
        (
            [[0], [1]],
            [1, 2],
            (),
            "tensor 'T': 2 values of rank 0 need as many rows of coordinates, got shape (2, 1)",
        ),
        ([[0] * 7], [1], (1,) * 7, "tensor 'T': rank 7 is above the supported 6"),
        ([[0]], [1], (-1,), "tensor 'T': size -1 of mode 0 is outside 0..2147483647"),
        (
            [[0, 0]],
            [1],
            (1, 10**12),
            "tensor 'T': size 1000000000000 of mode 1 is outside 0..2147483647",
        ),
    ],
)
def test_coordinates(coordinates: object, values: object, shape: object, message: str) -> None:
    assert refused(lambda: Tensor.from_coordinates("T", coordinates, values, shape)) == message


@pytest.mark.parametrize(
    ("number", "options", "message"),
    [
        (70000.0, {"value": FP16}, "value 70000.0 does not fit fp16" + BEYOND),
        (65520, {"value": FP16}, "value 65520 does not fit fp16" + BEYOND),
        (3.4e38, {"value": BF16}, "value 3.4e+38 does not fit bf16" + BEYOND),
        (-1e39, {"value": FP32}, "value -1e+39 does not fit fp32" + BEYOND),
        (128, {"value": INT8}, "value 128 does not fit int8" + BEYOND),
        (127.5, {"value": INT8, "round_values": True}, "value 127.5 does not fit int8" + BEYOND),
        (math.inf, {"value": FP32}, "value inf is neither finite nor the fill 0"),
        (
            math.inf,
            {"value": FP32, "fill": -math.inf},
            "value inf is neither finite nor the fill -inf",
        ),
        (math.inf, {}, "value inf is neither finite nor the fill 0"),
    ],
)
def test_values(number: float, options: dict[str, object], message: str) -> None:
    error = refused(lambda: Tensor.from_numpy("x", [0, number], **options))
    assert error == f"tensor 'x', entry (1): {message}"


def test_the_largest_value_is_no_overflow() -> None:
    tensor = Tensor.from_numpy("x", [65519.9], value=FP16)
    assert tensor.to_numpy().tolist() == [65504]


@pytest.mark.parametrize(
    ("fill", "value", "shown"),
    [
        (0.5, INT8, "0.5"),
        (128, INT8, "128"),
        (-math.inf, INT8, "-inf"),
        (math.nan, INT8, "nan"),
        (math.nan, FP32, "nan"),
        (0.1, FP32, "0.1"),
        (1e-40, FP32, "1e-40"),
        (70000, FP16, "70000"),
        (10**400, FP32, str(10**400)),
    ],
)
def test_fills(fill: float, value: object, shown: str) -> None:
    error = refused(lambda: Tensor.from_numpy("x", [1], fill=fill, value=value))
    assert error == f"tensor 'x': fill {shown} is no value of {value.name}"


def test_sums_of_duplicates_that_no_word_holds() -> None:
    coords = np.zeros((4, 1), int)
    error = refused(
        lambda: Tensor.from_coordinates("x", coords, [2**62] * 4, (1,), sum_duplicates=True)
    )
    assert error == "tensor 'x': a sum of duplicates is beyond 62 bits"
    error = refused(
        lambda: Tensor.from_coordinates("x", coords, [2**30] * 4, (1,), sum_duplicates=True)
    )
    assert error == "tensor 'x', entry (0): value 4294967296 does not fit int32" + BEYOND
    error = refused(
        lambda: Tensor.from_coordinates(
            "x", coords[:2], [math.inf, -math.inf], (1,), value=FP32, sum_duplicates=True
        )
    )
    assert error == "tensor 'x', entry (0): value nan is neither finite nor the fill 0"


@pytest.mark.parametrize(
    ("segs", "crds", "vals", "message"),
    [
        (((0, 2),), (None,), (1, 2), ", level 0: compressed, but has no seg and crd arrays"),
        (((0, 1, 2),), ((0, 1),), (1, 2), ", level 0: seg has 3 words, wanted 2"),
        (((),), ((0, 1),), (1, 2), ", level 0: seg has 0 words, wanted 2"),
        (((1, 2),), ((0, 1),), (1, 2), ", level 0, position 0: seg starts with 1, wanted 0"),
        (
            ((0, 1),),
            ((0, 1),),
            (1, 2),
            ", level 0, position 1: seg ends with 1, but there are 2 coordinates",
        ),
        (((0, 2),), ((0, 4),), (1, 2), ", level 0, position 1: coordinate 4 is outside size 4"),
        (((0, 2),), ((-1, 3),), (1, 2), ", level 0, position 0: coordinate -1 is outside size 4"),
        (
            ((0, 2),),
            ((1, 1),),
            (1, 2),
            ", level 0, position 1: coordinate 1 occurs twice in its fiber, where they must ascend",
        ),
        (
            ((0, 2),),
            ((3, 1),),
            (1, 2),
            ", level 0, position 1: coordinate 1 follows 3 in its fiber, where they must ascend",
        ),
        (((0, 2),), ((0, 1),), (1,), ": 1 values for 2 positions"),
        ((), (), (1,), ": arrays of 0 levels for s:0"),
        (((0, 1),), ((0.5,),), (1,), ": crd must be a row of integers, got float64"),
        (((0.0, 1),), ((0,),), (1,), ": seg must be a row of integers, got float64"),
        (((0, 1),), ((0,),), (math.nan,), ": vals must be a row of integers, got float64"),
        (
            ((0, 1),),
            ((0,),),
            (2**31,),
            ", position 0 of the values: 2147483648 is no word of int32",
        ),
    ],
)
def test_images(segs: object, crds: object, vals: object, message: str) -> None:
    image = TensorImage((4,), segs, crds, vals)
    assert refused(lambda: Tensor.from_image("x", image, "s")) == f"tensor 'x'{message}"


def test_images_name_the_inner_level() -> None:
    image = TensorImage((3, 4), (None, (0, 2, 1, 3)), (None, (0, 1, 2)), (1, 2, 3))
    assert refused(lambda: Tensor.from_image("A", image, "CSR")) == (
        "tensor 'A', level 1, position 2: seg falls from 2 to 1"
    )
    image = TensorImage((3, 4), ((0, 1), None), ((0,), None), (1, 2, 3))
    assert refused(lambda: Tensor.from_image("A", image, "ds")) == (
        "tensor 'A', level 0: dense, but has a seg or crd array"
    )


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (-1, "-1 is no word of bf16"),
        (0x10000, "65536 is no word of bf16"),
        (0x7FC0, "value nan is neither finite nor the fill -inf"),
        (0x7F80, "value inf is neither finite nor the fill -inf"),
    ],
)
def test_images_of_floats(word: int, message: str) -> None:
    image = TensorImage((2,), (None,), (None,), (0, word))
    error = refused(lambda: Tensor.from_image("x", image, "d", fill=-math.inf, value=BF16))
    assert error == f"tensor 'x', position 1 of the values: {message}"


def test_computed_images_hold_what_a_computation_yields() -> None:
    image = TensorImage((3,), (None,), (None,), (0x7FC0, 0x7F80, 0))
    tensor = Tensor.from_image("x", image, "d", fill=math.nan, value=BF16, computed=True)
    assert np.isnan(tensor.to_numpy()[0])
    assert tensor.nnz == 3
    assert tensor.convert("s").image().vals == [0x7FC0, 0x7F80, 0]
    assert (
        refused(lambda: Tensor.from_image("x", image, "d", fill=0.1, value=BF16, computed=True))
        == "tensor 'x': fill 0.1 is no value of bf16"
    )


def csr(data: object, indices: object, indptr: object, form: str = "csr") -> object:
    """Make a matrix that SciPy has not looked at."""
    matrix = getattr(scipy.sparse, f"{form}_array")((2, 3))
    matrix.data, matrix.indices, matrix.indptr = map(np.array, (data, indices, indptr))
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (csr([1, 2], [0, 9], [0, 1, 2]), ", level 1, position 1: coordinate 9 is outside size 3"),
        (
            csr([1], [2], [0, 0, 0, 1], "csc"),
            ", level 1, position 0: coordinate 2 is outside size 2",
        ),
        (csr([1, 2], [0, 1], [0, 2, 1]), ", level 1, position 2: seg falls from 2 to 1"),
        (csr([1, 2], [0, 1], [0, 2]), ", level 1: seg has 2 words, wanted 3"),
        (
            csr([1, 2], [0, 1], [0, 1, 5]),
            ", level 1, position 2: seg ends with 5, but there are 2 coordinates",
        ),
        (csr([1], [0, 1], [0, 1, 2]), ": 1 values for 2 positions"),
        (csr([1, 2], [0.0, 1], [0, 1, 2]), ": indices must be a row of integers"),
        (
            csr([1, 2], [1, 1], [0, 2, 2]),
            ": entry (0, 1) occurs twice; pass sum_duplicates=True (--sum-duplicates) to add them",
        ),
        (
            csr([1, np.nan], [1, 2], [0, 0, 2]),
            ", entry (1, 2): value nan is neither finite nor the fill 0",
        ),
    ],
)
def test_scipy_arrays(matrix: object, message: str) -> None:
    assert refused(lambda: Tensor.from_scipy("A", matrix)) == f"tensor 'A'{message}"


def test_other_scipy_forms_are_checked_too() -> None:
    matrix = scipy.sparse.bsr_array(np.eye(4), blocksize=(2, 2))
    matrix.indices[0] = 7
    assert refused(lambda: Tensor.from_scipy("A", matrix)).startswith("tensor 'A': ")
    coo = scipy.sparse.coo_array(([1], ([0], [0])), shape=(2, 2))
    coo.coords = (np.array([5]), np.array([0]))
    assert refused(lambda: Tensor.from_scipy("A", coo)) == (
        "tensor 'A': entry (5, 0) is outside shape (2, 2)"
    )


def test_formats() -> None:
    assert refused(lambda: Tensor.from_numpy("x", [1, 2], "ss")) == (
        "tensor 'x': format ss:0,1 has rank 2, wanted 1"
    )
    assert refused(lambda: Tensor.from_scipy("x", scipy.sparse.eye_array(3), "s")) == (
        "tensor 'x': shape (3, 3) does not read as rank 1"
    )
    assert refused(lambda: Tensor.from_numpy("x", np.zeros((1,) * 7), "sssssss")) == (
        "tensor 'x': rank 7 is above the supported 6"
    )
    image = TensorImage((1,) * 7, (None,) * 7, (None,) * 7, (1,))
    assert refused(lambda: Tensor.from_image("x", image, "ddddddd")) == (
        "tensor 'x': rank 7 is above the supported 6"
    )


def test_dense_levels_beyond_memory() -> None:
    big = (2 * 10**9, 2 * 10**9)
    assert refused(lambda: Tensor.from_coordinates("A", [[0, 0]], [1], big)) == (
        "tensor 'A': 2000000000 positions at level 0 of ds:0,1 are above the supported 268435456: "
        "use a compressed level (s)"
    )
    tensor = Tensor.from_coordinates("A", [[1, 1]], [1], big, "ss")
    assert refused(lambda: tensor.convert("ds")) == (
        "Unsupported format conversion of tensor 'A' from ss:0,1 to ds:0,1: 2000000000 positions "
        "at level 0 of ds:0,1 are above the supported 268435456: use a compressed level (s)"
    )


@pytest.mark.parametrize("form", ["s", "sss", "sssss", "scalar"])
def test_conversion_to_another_rank(form: str) -> None:
    tensor = Tensor.from_numpy("A", [[1, 2]])
    wanted = {"s": "s:0", "sss": "sss:0,1,2", "sssss": "sssss:0,1,2,3,4", "scalar": "scalar"}[form]
    rank = {"s": 1, "sss": 3, "sssss": 5, "scalar": 0}[form]
    assert refused(lambda: tensor.convert(form)) == (
        f"Unsupported format conversion of tensor 'A' from ds:0,1 to {wanted}: rank 2 is not rank "
        f"{rank}"
    )


def test_scipy_has_no_place_for_it() -> None:
    assert refused(Tensor.from_numpy("x", [1], fill=7).to_scipy) == (
        "tensor 'x': rank 1 and fill 7 do not go into a SciPy sparse array; use to_numpy()"
    )
    assert refused(Tensor.from_numpy("x", [[[1]]]).to_scipy) == (
        "tensor 'x': rank 3 and fill 0 do not go into a SciPy sparse array; use to_numpy()"
    )
