"""Closed-form runs give every figure of the token level, and slices every golden word."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fuseflow
from fuseflow.data import bigbird_mask
from fuseflow.kernel import Shelf
from fuseflow.samml.parts import parts
from fuseflow.samml.values import VALUE_TYPES, ValueType, value_type
from fuseflow.tensor import Tensor
from sim_models import sliced
from tests.sim_models.closed import compare

FP32 = value_type("fp32")
NORM_LINEAR = """
format N = dense, Y = dense
fuse both {
  N(i,m) = layernorm[m](X(i,m), 6, 1e-3)
  Y(i,f) = N(i,m) * W(m,f)
}
"""
FFN = """
format F = dense, Y = dense
F(i,f) = relu(X(i,m) * W(m,f) + b(f))
Y(i,m) = F(i,f) * V(f,m) + c(m) + X(i,m)
"""
BESIDE = """
format Y = dense, Z = dense
fuse both {
  Y(i,f) = X(i,m) * W(m,f)
  Z(j,g) = relu(V(j,n) * U(n,g))
}
"""
ATTENTION = """
format O = dense, M = CSR
fuse attention {
  S(h,i,j) = Q(h,i,d) * K(h,j,d) * 0.5
  P(h,i,j) = softmax[j](where(M(i,j), S(h,i,j), -inf))
  O(h,i,d) = P(h,i,j) * V(h,j,d)
}
"""
DECODER = """
format N = dense, Q = dense, K = dense, V = dense, O = dense, R = dense, L = dense, F = dense
format Y = dense, M = CSR
fuse norm {
  N(i,m) = layernorm[m](X(i,m), 12, 1e-5)
}
Q(h,i,d) = N(i,m) * Wq(h,m,d)
K(h,j,d) = N(j,m) * Wk(h,m,d)
V(h,j,d) = N(j,m) * Wv(h,m,d)
fuse attention {
  S(h,i,j) = Q(h,i,d) * K(h,j,d) * 0.5
  P(h,i,j) = softmax[j](where(M(i,j), S(h,i,j), -inf))
  O(h,i,d) = P(h,i,j) * V(h,j,d)
}
R(i,m) = O(h,i,d) * Wo(h,d,m) + X(i,m)
fuse norm_2 {
  L(i,m) = layernorm[m](R(i,m), 12, 1e-5)
}
F(i,f) = relu(L(i,m) * W1(m,f) + b1(f))
Y(i,m) = F(i,f) * W2(f,m) + b2(m) + R(i,m)
result Y
"""


def dense(name: str, *shape: int, value: ValueType = FP32, form: str = "dense") -> Tensor:
    rng = np.random.default_rng(len(name) + sum(shape))
    if value.is_float:
        numbers = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    else:
        numbers = rng.integers(-90, 90, shape)
    return Tensor.from_numpy(name, numbers, form, value=value)


def sparse(name: str, *shape: int, share: float, value: ValueType = FP32) -> Tensor:
    rng = np.random.default_rng(1)
    kept = rng.random(shape) < share
    return Tensor.from_numpy(name, np.where(kept, 1 + rng.random(shape), 0), "CSR", value=value)


def mask(sequence: int, block: int) -> Tensor:
    return Tensor.from_numpy("M", bigbird_mask(sequence, block).astype(float), "CSR", value=FP32)


@pytest.mark.parametrize("name", VALUE_TYPES)
def test_a_linear_layer_in_every_value_type(name: str) -> None:
    value = value_type(name)
    operands = dense("X", 24, 10, value=value), dense("W", 10, 7, value=value)
    program = fuseflow.compile("Y(i,f) = X(i,m) * W(m,f)", *operands, formats={"Y": "dense"})
    skipped = compare(program, room=2000)
    assert skipped["Y.scan_X_i"] > 12


@pytest.mark.parametrize(("rows", "inner", "columns"), [(40, 9, 8), (20, 3, 33), (9, 40, 2)])
def test_a_sum_innermost(rows: int, inner: int, columns: int) -> None:
    operands = dense("X", rows, inner), dense("W", inner, columns, form="dd:1,0")
    program = fuseflow.compile(
        "Y(i,f) = X(i,m) * W(m,f)", *operands, formats={"Y": "dense"}, order="i,f,m"
    )
    assert any(node.primitive == "reduce" for node in program.graph.nodes)
    skipped = compare(program)
    assert sum(skipped.values()) > 0


def test_a_sum_around_two_kept_levels_is_not_sliced() -> None:
    """The outermost loop is folded: its iterations are not independent."""
    operands = dense("X", 12, 5, form="dd:1,0"), dense("W", 5, 6)
    program = fuseflow.compile(
        "Y(i,f) = X(i,m) * W(m,f)", *operands, formats={"Y": "sparse"}, order="m,i,f"
    )
    compare(program, room=1)


@pytest.mark.parametrize("rows", ["whole", "blocks", "uneven", "none"])
@pytest.mark.parametrize("name", ["fp32", "int8"])
def test_two_kept_levels_of_rows(rows: str, name: str) -> None:
    """Rows of one length need no streams of products; other ones and empty ones are spread."""
    value = value_type(name)
    stored = {
        "whole": np.ones((8, 8)), "blocks": np.kron(np.eye(2), np.ones((4, 4))),
        "uneven": np.tri(8), "none": np.diag([1, 0] * 4),
    }[rows]  # fmt: skip
    numbers = np.random.default_rng(1).integers(1, 90, (8, 8, 3)) * stored[:, :, np.newaxis]
    operands = Tensor.from_numpy("P", numbers, "dss", value=value), dense("V", 8, 3, 5, value=value)
    program = fuseflow.compile(
        "Y(i,k,m) = P(i,j,k) * V(j,k,m)", *operands, formats={"Y": "dss"}, order="i,j,k,m"
    )
    assert any(node.params.get("kept") == 2 for node in program.graph.nodes)
    for room in (200, 1 << 24):
        compare(program, room=room, ideals=(None,))


def test_fibers_of_a_scan_keep_to_the_room() -> None:
    """A slice whose scan would expand to more than the room is made thinner before it is run."""
    rows, room = 200, 1 << 14
    operands = sparse("X", rows, rows, share=0.5), dense("W", 150, rows)
    program = fuseflow.compile(
        "Y(f,i) = X(i,m) * W(f,m)", *operands, formats={"Y": "dense"}, order="f,i,m"
    )
    (kernel,) = program.kernels
    read = kernel._operands(Shelf(dict(program.tensors)))
    tracemalloc.start()
    sliced.evaluate(kernel.graph, read.images, kernel._shapes(read), room)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4e7 < 150 * 8 * len(read.images["X"].vals) * 2, most


def test_parts_of_a_graph_have_periods_of_their_own() -> None:
    operands = dense("X", 40, 5), dense("W", 5, 4), dense("V", 90, 3), dense("U", 3, 7)
    program = fuseflow.compile(BESIDE, *operands)
    one, other = parts(program.graph)
    skipped = compare(program, room=100)
    loops = {name.partition(".")[2] for name in skipped}
    assert loops & one
    assert loops & other


def test_layernorm_and_linear_as_one_graph() -> None:
    skipped = compare(fuseflow.compile(NORM_LINEAR, dense("X", 200, 6), dense("W", 6, 5)))
    assert sum(skipped.values()) > 0


def test_a_feed_forward_network() -> None:
    operands = dense("X", 30, 6), dense("W", 6, 12), dense("b", 12), dense("V", 12, 6)
    program = fuseflow.compile(FFN, *operands, dense("c", 6))
    skipped = compare(program, room=300)
    assert skipped["F.scan_X_i"] > 10
    assert skipped["Y.scan_F_i"] > 10


def test_zeros_of_a_relu_are_told_by_the_golden_meaning() -> None:
    """F is compressed: its rows differ, so that no period reaches over them."""
    operands = dense("X", 20, 6), dense("W", 6, 24), dense("b", 24), dense("V", 24, 6)
    text = FFN.replace("F = dense, Y = dense", "F = CSR, Y = dense")
    skipped = compare(fuseflow.compile(text, *operands, dense("c", 6)))
    assert "Y.scan_F_i" not in skipped
    assert skipped["Y.scan_F_f.emit"] > 0


@pytest.mark.parametrize("block", [4, 16])
def test_masked_attention_of_several_heads(block: int) -> None:
    heads = [dense(name, 14, 16, 2) for name in "QKV"]
    skipped = compare(fuseflow.compile(ATTENTION, *heads, mask(16, block)), cheap=100)
    assert skipped["O.scan_Q_h"] > 0


def test_rows_of_one_block_of_a_mask() -> None:
    heads = [dense(name, 1, 96, 2) for name in "QKV"]
    program = fuseflow.compile(ATTENTION, *heads, mask(96, 48))
    assert compare(program, cheap=500, ideals=(None,))["O.scan_M_i"] > 0


def test_rows_that_differ_are_run_token_by_token() -> None:
    operands = sparse("X", 40, 30, share=0.3), dense("W", 30, 2)
    program = fuseflow.compile("Y(i,f) = X(i,m) * W(m,f)", *operands, formats={"Y": "dense"})
    assert "Y.scan_X_i" not in compare(program)


def test_a_joined_loop_is_run_token_by_token() -> None:
    operands = sparse("A", 20, 20, share=0.5), sparse("B", 20, 20, share=0.5)
    assert compare(fuseflow.compile("X(i,j) = A(i,j) * B(i,j)", *operands)) == {}


def test_a_decoder_block() -> None:
    shapes = {
        "X": (64, 12), "Wq": (3, 12, 4), "Wk": (3, 12, 4), "Wv": (3, 12, 4), "Wo": (3, 4, 12),
        "W1": (12, 24), "b1": (24,), "W2": (24, 12), "b2": (12,),
    }  # fmt: skip
    operands = [dense(name, *shape) for name, shape in shapes.items()]
    skipped = compare(fuseflow.compile(DECODER, *operands, mask(64, 16)), cheap=2000, room=1 << 15)
    assert {"Q.scan_N_i", "F.scan_L_i", "Y.scan_F_i"} <= skipped.keys()
    assert any(name.startswith("R.scan_O") for name in skipped)


def test_a_layer_of_the_true_width() -> None:
    operands = dense("X", 64, 768), dense("W", 768, 64)
    program = fuseflow.compile("Y(i,f) = X(i,m) * W(m,f)", *operands, formats={"Y": "dense"})
    skipped = compare(program, cheap=50_000, ideals=(None,))
    assert skipped["Y.scan_X_i"] > 32


def test_overflowing_sums_are_left_to_their_meaning() -> None:
    large = np.full((6, 20), 2.0**127)
    large[::2, ::3] *= -1
    operands = [
        Tensor.from_numpy("X", large, "dense", value=FP32),
        Tensor.from_numpy("W", np.full((20, 3), 1.5), "dense", value=FP32),
    ]
    compare(fuseflow.compile("Y(i,f) = X(i,m) * W(m,f)", *operands, formats={"Y": "dense"}))


def test_products_and_sums_that_flush() -> None:
    rng = np.random.default_rng(3)
    tiny = rng.choice([-1.0, 1.0], (30, 12)) * 2.0 ** rng.uniform(-66, -60, (30, 12))
    operands = [
        Tensor.from_numpy("X", tiny, "dense", value=FP32),
        Tensor.from_numpy("W", tiny[:12, :5], "dense", value=FP32),
    ]
    compare(fuseflow.compile("Y(i,f) = X(i,m) * W(m,f)", *operands, formats={"Y": "dense"}))


STATEMENTS = (
    "Y(i,f) = X(i,m) * W(m,f)", "Y(i,f) = relu(X(i,m) * W(m,f) - 0.5)",
    "Y(i,f) = max[m](X(i,m) * W(m,f))", "Y(i,f) = X(i,m) * W(m,f) * X(i,m)",
    "Y(i,f) = X(i,m) * exp(W(m,f))", "Y(i,f) = (X(i,m) + 1) * W(m,f)",
)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    text=st.sampled_from(STATEMENTS),
    sizes=st.tuples(st.integers(1, 40), st.integers(1, 9), st.integers(1, 9)),
    forms=st.tuples(*(st.sampled_from(["dense", "CSR", "dd:1,0"]) for _ in "XWY")),
    kind=st.sampled_from(["fp32", "bf16", "fp16"]),
    share=st.sampled_from([0.5, 1.0]),
    room=st.sampled_from([40, 1 << 24]),
)
def test_random_programs(
    text: str, sizes: tuple[int, int, int], forms: tuple[str, str, str], kind: str, share: float,
    room: int,
) -> None:  # fmt: skip
    rows, inner, columns = sizes
    rng = np.random.default_rng(sum(sizes))
    value = value_type(kind)
    operands = [
        Tensor.from_numpy(
            name, np.where(rng.random(shape) < share, rng.standard_normal(shape), 0), form,
            value=value,
        )
        for name, shape, form in (("X", (rows, inner), forms[0]), ("W", (inner, columns), forms[1]))
    ]  # fmt: skip
    program = fuseflow.compile(text, *operands, formats={"Y": forms[2]}, auto_convert=True)
    compare(program, room=room, ideals=(None, "banks"))
