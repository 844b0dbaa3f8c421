"""The Python API: one statement compiled once, then run, generated and verified."""

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from amaranth import Module

import fuseflow
from fuseflow import FuseFlowError, Program, Tensor
from fuseflow.samml.errors import (
    CapacityError,
    LoweringError,
    ParseError,
    TensorError,
    VerificationError,
)
from fuseflow.samml.image import TensorImage
from gen.bundle import Bundle
from gen.tile import Tile
from hw.primitives import reduce
from sim_models import golden
from tests import test_cli

MATMUL = "X(i,j) = B(i,k) * C(k,j)"


def matrix(name: str, rows: int, columns: int, seed: int = 1, form: str = "CSR") -> Tensor:
    rng = np.random.default_rng(seed)
    array = rng.integers(-9, 10, (rows, columns)) * (rng.random((rows, columns)) < 0.3)
    return Tensor.from_numpy(name, array, form)


def product(form: str = "CSR") -> tuple[Program, np.ndarray]:
    b, c = matrix("B", 6, 8, form=form), matrix("C", 8, 5, seed=2)
    return fuseflow.compile(MATMUL, b, c), b.to_numpy() @ c.to_numpy()


def test_run_gives_values_and_figures() -> None:
    program, expected = product()
    run = program.run()
    np.testing.assert_array_equal(run.result.to_numpy(), expected)
    assert run.cycles >= run.ideal_banks >= run.ideal >= run.bottleneck > 0
    assert run.bottleneck == run.model.unit(run.bottleneck_unit).firings
    assert run.tokens > run.bottleneck
    assert run.max_error == run.error_bound == 0
    assert not run.overflow
    assert run.seconds.model > 0
    assert run.seconds.build == 0


def test_order_and_formats_are_the_users() -> None:
    b, c = matrix("B", 6, 8), matrix("C", 8, 5, seed=2)
    formats = {"B": "ds:1,0", "C": fuseflow.Format.parse("dd"), "X": "sparse"}
    program = fuseflow.compile(MATMUL, b, c, formats=formats, order=["k", "i", "j"])
    assert program.order == ("k", "i", "j")
    assert {tensor.name: str(tensor.format) for tensor in program.graph.tensors} == {
        "B": "ds:1,0",
        "C": "dd:0,1",
        "X": "ss:0,1",
    }
    steps = program.run().conversions
    assert [str(step.conversion) for step in steps] == [
        "B = B converted from ds:0,1 to ds:1,0",
        "C = C converted from ds:0,1 to dd:0,1",
    ]
    assert all(step.cost.cycles > 0 for step in steps)
    expected = b.to_numpy() @ c.to_numpy()
    np.testing.assert_array_equal(program.run().result.to_numpy(), expected)


def test_einsum_is_the_same_statement() -> None:
    b, c = matrix("B", 6, 8), matrix("C", 8, 5, seed=2)
    statement = fuseflow.einsum("ik,kj->ij", b, c)
    assert str(statement) == MATMUL
    assert fuseflow.compile(statement, b, c).graph == fuseflow.compile(MATMUL, b, c).graph


def test_one_program_runs_other_operands() -> None:
    program, _ = product()
    other = matrix("B", 4, 8, seed=7, form="dense")
    run = program.run({"B": other})
    expected = other.to_numpy() @ program.tensors["C"].to_numpy()
    np.testing.assert_array_equal(run.result.to_numpy(), expected)


def test_operands_must_fit_the_tile() -> None:
    program, _ = product()
    with pytest.raises(CapacityError, match="operand 'B' has shape"):
        program.run({"B": matrix("B", 7, 8)})
    full = Tensor.from_numpy("B", np.ones((6, 8), int), "CSR")
    with pytest.raises(CapacityError, match="operand 'B' has positions"):
        program.run({"B": full})
    with pytest.raises(TensorError, match="index k has size 7 in B"):
        program.run({"B": matrix("B", 6, 7)})
    with pytest.raises(TensorError, match="no operand 'Z'"):
        program.run({"Z": full})
    roomy = fuseflow.compile(MATMUL, dims={"i": 6, "k": 8, "j": 5}, capacities={"B": 48})
    run = roomy.run({"B": full, "C": program.tensors["C"]})
    assert run.result.shape == (6, 5)


def test_operands_must_belong_to_the_statement() -> None:
    b, c = matrix("B", 6, 8), matrix("C", 8, 5)
    with pytest.raises(LoweringError, match="no tensor 'D'"):
        fuseflow.compile(MATMUL, b, c, c.rename("D"))
    with pytest.raises(LoweringError, match="no tensor 'D'"):
        fuseflow.compile(MATMUL, b, c, formats={"D": "CSR"})
    with pytest.raises(TensorError, match="two operands are named 'B'"):
        fuseflow.compile(MATMUL, b, c.rename("B"))
    with pytest.raises(TensorError, match="operand 'C' has no tensor"):
        fuseflow.compile(MATMUL, b).run()
    with pytest.raises(ParseError):
        fuseflow.compile("X(i,j) = ", b, c)


def outer(size: int, **options: object) -> Program:
    """Return an outer product, whose result is larger than any default of its size."""
    ones = np.ones(size, int)
    operands = (Tensor.from_numpy("b", ones, "sparse"), Tensor.from_numpy("c", ones, "sparse"))
    formats = {"X": "DCSR"}
    return fuseflow.compile("X(i,j) = b(i) * c(j)", *operands, formats=formats, **options)  # type: ignore[arg-type]


def test_the_results_capacity_grows() -> None:
    program = outer(260)
    assert program.graph.tensor("X").words < 260 * 260
    assert program.fitted().tensor("X").words == 260 * 260
    run = program.run()
    assert run.result.nnz == 260 * 260
    assert not run.model.flags.capacity


def test_a_capacity_that_was_asked_for_stays() -> None:
    program = outer(10, capacities={"X": 99})
    for action in (program.run, program.fitted, lambda: program.generate("never")):
        with pytest.raises(CapacityError, match="raise its capacity"):
            action()
    assert outer(10, capacities={"X": 100}).run().result.nnz == 100
    assert not Path("never").exists()


def test_integers_wrap_and_say_so() -> None:
    values = np.array([2**31 - 1, -(2**31), 3])
    b, c = Tensor.from_numpy("b", values, "sparse"), Tensor.from_numpy("c", values, "sparse")
    run = fuseflow.compile("x(i) = b(i) * c(i)", b, c).run()
    assert run.overflow
    np.testing.assert_array_equal(run.result.to_numpy(), [1, 0, 9])


def test_huge_operands_are_judged_by_the_golden_meaning_alone() -> None:
    big = sp.coo_array(([2, 3], ([0, 99_999], [99_999, 0])), shape=(100_000, 100_000))
    run = fuseflow.compile("X(i,j) = B(i,j)", Tensor.from_scipy("B", big, "DCSR"),
                           formats={"X": "DCSR"}).run()  # fmt: skip
    assert run.result.nnz == 2
    assert run.max_error is None


def test_disagreement_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    program, _ = product()
    evaluate = golden.evaluate

    def wrong(*arguments: object) -> golden.GoldenResult:
        result = evaluate(*arguments)  # type: ignore[arg-type]
        image = result.outputs["X"]
        vals = [value + 1 for value in image.vals]
        outputs = {"X": TensorImage(image.shape, image.segs, image.crds, vals)}
        return replace(result, outputs=outputs)

    monkeypatch.setattr(golden, "evaluate", wrong)
    with pytest.raises(VerificationError, match="disagree about 'X'"):
        program.run()


def test_generate_leaves_a_bundle(tmp_path: Path) -> None:
    program, _ = product()
    bundle = program.generate(tmp_path / "rtl")
    assert bundle == Bundle.load(tmp_path / "rtl")
    assert bundle.verilog.read_text().count("module ") > len(program.graph.nodes)


@pytest.mark.rtl
def test_verify_compares_and_keeps_the_build() -> None:
    """The tile is that of the command line's test, so the two cost one build."""
    b, c = Tensor.from_numpy("B", test_cli.B), Tensor.from_numpy("C", test_cli.C)
    program = fuseflow.compile(MATMUL, b, c)
    first = program.verify()
    assert first.bit_exact, first.differences
    assert first.rtl_cycles == first.run.cycles
    np.testing.assert_array_equal(first.run.result.to_numpy(), test_cli.PRODUCT)
    assert first.seconds.generate > 0
    again = program.verify({"B": Tensor.from_numpy("B", test_cli.B[1:])})
    assert again.bit_exact, again.differences
    assert again.rtl_cycles != first.rtl_cycles
    assert again.seconds.build == 0


def test_public_names() -> None:
    assert set(dir(fuseflow)) == set(fuseflow.__all__)
    for name in fuseflow.__all__:
        assert getattr(fuseflow, name).__doc__
    assert issubclass(TensorError, FuseFlowError)
    with pytest.raises(AttributeError):
        fuseflow.nothing  # noqa: B018


def seconds_of(code: str) -> float:
    """Return what a new process takes, in seconds of its own that no other process can stretch."""
    done = subprocess.run(
        [sys.executable, "-c", f"import time\n{code}\n"
         "print(time.process_time())"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def test_importing_is_fast() -> None:
    assert seconds_of("import fuseflow") < 1


def test_a_second_process_does_not_compile_the_model_again() -> None:
    product()[0].run()
    assert seconds_of("from tests.test_api import product; product()[0].run()") < 5


@pytest.mark.rtl
def test_verify_names_the_earliest_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(reduce.COMPONENTS[""]):
        def elaborate(self, platform: object) -> Module:
            m = super().elaborate(platform)
            m.d.comb += self.w_out.token.data.val.eq(7)
            return m

    b = Tensor.from_numpy("B", np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3]]), "CSR")
    x = Tensor.from_numpy("x", np.array([1, 2, 3]), "dense")
    program = fuseflow.compile("y(i) = B(i,j) * x(j)", b, x, order="i,j", formats={"y": "dense"})
    (name,) = [node.name for node in program.graph.nodes if node.primitive == "reduce"]
    monkeypatch.setattr("gen.tile.Tile", partial(Tile, components={name: Wrong}))
    verified = program.verify()
    assert not verified.bit_exact
    assert verified.differences == (
        "edge write_y.val, pop 0: model cycle 12 ((4,), 0, 0), RTL cycle 12 ((7,), 0, 0)",
        "edge write_y.val: pops differ",
        "result y: values differ",
    )


def test_conflicting_modes_are_converted_and_counted() -> None:
    a = matrix("A", 7, 7)
    text = "X(i,j) = A(i,j) + A(j,i)"
    with pytest.raises(LoweringError, match=r"Fusion constraint violation at axis .*auto-convert"):
        fuseflow.compile(text, a, formats={"A": "ss", "X": "ss"})
    run = fuseflow.compile(text, a, formats={"A": "ss", "X": "ss:1,0"}, auto_convert=True).run()
    np.testing.assert_array_equal(run.result.to_numpy(), a.to_numpy() + a.to_numpy().T)
    assert str(run.result.format) == "ss:1,0"
    names = {step.conversion.name for step in run.conversions}
    assert "A_10" in names or "X" in names
    again = fuseflow.compile("X(i,j) = A(i,k) * A(j,k)", a, formats={"X": "ss"}).run()
    np.testing.assert_array_equal(again.result.to_numpy(), a.to_numpy() @ a.to_numpy().T)
    assert not again.conversions


@pytest.mark.parametrize("value", ["int8", "int16", "bf16", "fp16", "fp32"])
def test_value_types(value: str) -> None:
    rng = np.random.default_rng(3)
    kind = fuseflow.value_type(value)
    numbers = rng.uniform(-2, 2, (2, 6, 6)) * (rng.random((2, 6, 6)) < 0.5)
    if not kind.is_float:
        numbers = np.rint(numbers)
    b, c = (
        Tensor.from_numpy(name, array, "ss", value=kind)
        for name, array in zip("BC", numbers, strict=True)
    )
    run = fuseflow.compile(MATMUL, b, c).run()
    assert run.result.value is kind
    assert run.max_error is not None
    assert run.error_bound is not None
    assert run.max_error <= run.error_bound
    assert (run.max_error > 0) == kind.is_float
    with pytest.raises(TensorError, match="give all operands one value type"):
        fuseflow.compile(MATMUL, b, matrix("C", 6, 6))


def test_a_masked_maximum() -> None:
    """Where nothing is stored the scores are -inf; a row without an entry stays so."""
    scores = np.array([[1.0, -np.inf, 3.0], [-np.inf] * 3, [-5.0, -7.0, -np.inf]])
    tensor = Tensor.from_numpy("S", scores, "ss", fill=-np.inf, value=fuseflow.value_type("fp32"))
    run = fuseflow.compile("m(i) = max[j](S(i,j))", tensor).run()
    np.testing.assert_array_equal(run.result.to_numpy(), [3, -np.inf, -5])
    assert run.result.fill == -np.inf
    assert run.result.nnz == 2
    assert run.model.unit("reduce_j").firings == 4


def test_explicit_entries_are_kept_where_asked() -> None:
    b = Tensor.from_numpy("b", [1, 2, 3], "s")
    text = "x(i) = b(i) - b(i)"
    assert fuseflow.compile(text, b).run().result.positions == (0,)
    assert fuseflow.compile(text, b, keep_explicit=True).run().result.positions == (3,)
