"""Files of models in the place of expressions: what commands make of them, and mistakes."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import fuseflow
from fuseflow import Tensor
from fuseflow.samml.errors import LoweringError, ParseError
from tests.test_cli import call, fail, succeed

pytest.importorskip("torch_mlir", reason="needs torch-mlir")

LAYER = """\
#csr = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>
func.func @layer(%A: tensor<4x4xf32, #csr>, %X: tensor<4x3xf32>, %W: tensor<3x2xf32>)
    -> tensor<4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %XW = linalg.matmul ins(%X, %W : tensor<4x3xf32>, tensor<3x2xf32>)
      outs(%f : tensor<4x2xf32>) -> tensor<4x2xf32> loc("projection")
  %AXW = linalg.matmul ins(%A, %XW : tensor<4x4xf32, #csr>, tensor<4x2xf32>)
      outs(%f : tensor<4x2xf32>) -> tensor<4x2xf32> loc("propagation")
  return %AXW : tensor<4x2xf32>
}
"""
"""A layer of a graph network; its two products are parts of the model."""

GRID = """\
func.func @outer(%x: tensor<3xi32>, %s: tensor<i32>) -> tensor<3x1x3xi32> {
  %e = tensor.empty() : tensor<3x3xi32>
  %p = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x, %x, %s : tensor<3xi32>, tensor<3xi32>, tensor<i32>)
    outs(%e : tensor<3x3xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32, %o: i32):
    %m = arith.muli %a, %b : i32
    %n = arith.muli %m, %c : i32
    linalg.yield %n : i32
  } -> tensor<3x3xi32>
  %q = tensor.expand_shape %p [[0], [1, 2]] output_shape [3, 1, 3]
      : tensor<3x3xi32> into tensor<3x1x3xi32>
  return %q : tensor<3x1x3xi32>
}
"""
"""A product whose result has another shape than the tensor that the hardware stores."""

A = np.array([[0, 2, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)
X = np.arange(12, dtype=np.float32).reshape(4, 3)
W = np.array([[1, 0], [0.5, -2], [0, 3]], np.float32)
DATA = ("--tensor", "arg0=a.npz", "--tensor", "arg1=x.npz", "--tensor", "arg2=w.npz")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two models and data for the first."""
    monkeypatch.chdir(tmp_path)
    Path("layer.mlir").write_text(LAYER)
    Path("grid.mlir").write_text(GRID)
    sp.save_npz("a.npz", sp.csr_array(A))
    np.savez("x.npz", array=X)
    np.savez("w.npz", array=W)
    return tmp_path


# --- what commands do --------------------------------------------------------------------


def test_a_model_runs_on_the_data_of_its_arguments(folder: Path) -> None:
    figures = json.loads(succeed("run", "layer.mlir", *DATA, "--result", "y.npz", "--json", "-"))
    assert figures["value"] == "fp32"
    assert figures["max_error"] <= figures["error_bound"]
    assert figures["formats"]["arg0"] == "ds:0,1"
    with np.load("y.npz") as archive:
        np.testing.assert_allclose(archive["array"], A @ X @ W)


def test_results_have_the_shape_and_the_type_of_the_function(folder: Path) -> None:
    Path("x.tns").write_text("1 2\n3 -5\n")
    text = succeed(
        "run", "grid.mlir", "--tensor", "arg0=x.tns", "--tensor", "arg1=7", "--result", "p.npz"
    )
    assert "int32" in text
    assert "(2,0,2) = 175" in text
    x = np.array([2, 0, -5])
    with np.load("p.npz") as archive:
        np.testing.assert_array_equal(archive["array"], 7 * np.outer(x, x).reshape(3, 1, 3))


def test_a_result_is_written_in_the_format_that_was_asked_for(folder: Path) -> None:
    (name,) = fuseflow.open_model("layer.mlir").prepare().compile().results
    succeed("run", "layer.mlir", *DATA, "--format", f"{name}=CSR", "--result", f"{name}=y.npz")
    np.testing.assert_allclose(sp.load_npz("y.npz").toarray(), A @ X @ W)


def test_hardware_needs_shapes_alone(folder: Path) -> None:
    succeed("compile", "layer.mlir", "-o", "graph", "--fusion", "full")
    assert (folder / "graph" / "graph.samml").exists()
    succeed("generate", "layer.mlir", "-o", "rtl", "--fusion", "full")
    assert list((folder / "rtl").glob("*.v"))
    assert "scan_arg0" in succeed("table", "layer.mlir")
    assert "predicted" in succeed("explore", "layer.mlir", "--density", "arg0=0.3")


def test_a_bare_format_is_that_of_all_sparse_arguments(folder: Path) -> None:
    text = succeed("compile", "layer.mlir", "-o", "graph", "--format", "DCSR", "--fusion", "full")
    assert "arg0 ss:0,1" in text
    assert "arg1 dd" in text


def test_regions_are_parts_of_the_model(folder: Path) -> None:
    def regions(*options: str) -> list[str]:
        figures = json.loads(succeed("compile", "layer.mlir", *options, "-o", "g", "--json", "-"))
        return [region["region"] for region in figures["regions"]]

    assert len(regions()) == 2
    assert len(regions("--region", "projection", "--region", "propagation")) == 2
    assert len(regions("--fusion", "full")) == 1


def test_the_value_type_can_be_chosen(folder: Path) -> None:
    assert "bf16" in succeed("run", "layer.mlir", *DATA, "--type", "bf16")


@pytest.mark.rtl
def test_models_and_rtl_of_a_module_agree(folder: Path) -> None:
    figures = json.loads(
        succeed("verify", "layer.mlir", *DATA, "--fusion", "full", "--result", "y.npz",
                "--json", "-")
    )  # fmt: skip
    assert figures["bit_exact"]
    assert figures["rtl_cycles"] == figures["model_cycles"]
    with np.load("y.npz") as archive:
        np.testing.assert_allclose(archive["array"], A @ X @ W)


# --- what PyTorch wrote ------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """A folder with a model as `.pt2` and as `.pt`, which give this on their inputs."""
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    from fuseflow.torch.quiet import quiet
    from tests.torch.models import Propagation

    monkeypatch.chdir(tmp_path)
    torch.manual_seed(1)
    model = Propagation(4, 2).eval()
    with torch.no_grad():
        model.fc.weight.abs_()  # no output is left 0 by its relu
        model.fc.bias.zero_()
    inputs = torch.as_tensor(np.kron(np.eye(2), np.ones((3, 3)))).float(), torch.rand(6, 4)
    with quiet(), torch.no_grad():
        torch.export.save(torch.export.export(model, inputs), "layer.pt2")
        result = model(*inputs)
    torch.save(model, "layer.pt")
    sp.save_npz("adj.npz", sp.csr_array(inputs[0].numpy()))
    np.savez("x.npz", array=inputs[1].numpy())
    return result.numpy()


def test_a_saved_program_brings_its_data(saved: np.ndarray) -> None:
    text = succeed("run", "layer.pt2", "--format", "adj=CSR", "--result", "result=y.npz")
    assert "adj ds:0,1" in text
    with np.load("y.npz") as archive:
        np.testing.assert_allclose(archive["array"], saved, rtol=1e-5)
    doubled = 2 * np.load("x.npz")["array"]
    np.savez("x2.npz", array=doubled)
    succeed("run", "layer.pt2", "--tensor", "x=x2.npz", "--result", "y2.npz")
    np.testing.assert_allclose(np.load("y2.npz")["array"], 2 * saved, rtol=1e-5)


def test_a_pickled_module_takes_inputs_from_files(saved: np.ndarray) -> None:
    assert "--trust-pickle" in fail("run", "layer.pt")
    assert "no example inputs" in fail("run", "layer.pt", "--trust-pickle")
    inputs = ("--tensor", "adj=adj.npz", "--tensor", "x=x.npz")
    text = succeed("run", "layer.pt", "--trust-pickle", *inputs, "--result", "y.npz",
                   "--format", "DCSR")  # fmt: skip
    assert "adj ss:0,1" in text
    with np.load("y.npz") as archive:
        np.testing.assert_allclose(archive["array"], saved, rtol=1e-5)
    wrong = fail("run", "layer.pt", "--trust-pickle", "--tensor", "edges=adj.npz")
    assert "do not fit Propagation.forward" in wrong


def test_the_analysis_of_a_saved_program(saved: np.ndarray) -> None:
    text = succeed("analyze", "--model", "layer.pt2", "--metric", "memory_bandwidth", "--format",
                   "adj=CSR", "--fusion", "full")  # fmt: skip
    assert "measured" in text
    assert "bytes per cycle, bound by" in text.splitlines()[-1]


def test_damaged_and_foreign_files_are_refused(saved: np.ndarray) -> None:
    whole = Path("layer.pt2").read_bytes()
    Path("cut.pt2").write_bytes(whole[: len(whole) // 2])
    Path("text.pt2").write_text("no archive")
    for name in ("cut.pt2", "text.pt2"):
        assert f"cannot read '{name}'" in fail("generate", name, "-o", "rtl")
    assert "no such file" in fail("generate", "gone.pt2", "-o", "rtl")
    assert "name one, such as --format adj=CSR" in fail("run", "layer.pt2", "--format", "CSR")
    assert not Path("rtl").exists()


# --- Python ------------------------------------------------------------------------------


def test_an_opened_model_is_prepared_and_compiled(folder: Path) -> None:
    function = fuseflow.open_model(Path("layer.mlir"))
    assert function.encoded == ("arg0",)
    data = {"arg0": sp.csr_array(A), "arg1": X, "arg2": Tensor.from_numpy("W", W, value="fp32")}
    model = function.prepare(data, formats={"arg0": "CSR"}).compile("full")
    np.testing.assert_allclose(model.run().output, A @ X @ W)
    bare = function.prepare()
    assert bare.missing == ("arg0", "arg1", "arg2")


def test_a_model_is_no_program() -> None:
    for source in ("layer.mlir", Path("layer.pt2")):
        with pytest.raises(ParseError, match="open_model"):
            fuseflow.compile(source)
    with pytest.raises(ParseError, match="no model"):
        fuseflow.open_model("layer.onnx")


@pytest.mark.parametrize(
    ("elements", "value"),
    [
        (("f32", "f32"), "fp32"), (("bf16", "bf16"), "bf16"), (("f16", "f16"), "fp16"),
        (("f64", "f64"), "fp32"), (("f32", "bf16"), "fp32"),
    ],
)  # fmt: skip
def test_the_value_type_is_that_of_the_elements(
    elements: tuple[str, str], value: str, tmp_path: Path
) -> None:
    first, second = elements
    path = tmp_path / "add.mlir"
    path.write_text(
        f"func.func @f(%x: tensor<3x{first}>, %y: tensor<3x{second}>) -> tensor<3x{first}> {{\n"
        f"  return %x : tensor<3x{first}>\n}}\n"
    )
    assert fuseflow.open_model(path).value.name == value


def test_what_a_model_does_not_have_is_refused(folder: Path) -> None:
    function = fuseflow.open_model("layer.mlir")
    with pytest.raises(LoweringError, match="no part 'decoder'"):
        function.prepare(regions=["decoder"])
    with pytest.raises(LoweringError, match="no argument 'A'"):
        function.prepare(densities={"A": 0.1})


# --- mistakes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("layer.mlir",), "argument 'arg0' has no tensor"),
        (("layer.mlir", "--tensor", "A=a.npz"), "no such argument, only arg0, arg1, arg2"),
        (("layer.mlir", "--tensor", "arg0=x.npz"), "the model was exported for (4, 4)"),
        (("layer.mlir", "--tensor", "arg0=gone.npz"), "cannot read 'gone.npz'"),
        (("layer.mlir", "--format", "A=CSR"), "no tensor 'A', only arg0, arg1, arg2"),
        (("layer.mlir", "--format", "arg0=XYZ"), "XYZ"),
        (("layer.mlir", "--format", "CSR", "--format", "CSC"), "a second format"),
        (("grid.mlir", "--format", "CSR"), "none of its arguments that it is sparse"),
        (("layer.mlir", "--density", "arg0=2"), "a share from 0 to 1"),
        (("layer.mlir", "--density", "A=0.2"), "no argument 'A'"),
        (("layer.mlir", "--region", "decoder"), "no part 'decoder'"),
        (("layer.mlir", "--fill", "arg0=1"), "--fill is for statements"),
        (("layer.mlir", "--round"), "--round is for statements"),
        (("layer.mlir", "--type", "fp64"), "unknown value type 'fp64'"),
        (("gone.mlir",), "cannot read gone.mlir"),
        (("layer.mlir", *DATA, "--result", "z=z.npz"), "no such result"),
        (("y(i) = x(i)", "--region", "decoder"), "--region is for models"),
        (("y(i) = x(i)", "--trust-pickle"), "--trust-pickle is for models"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert said in fail("run", *arguments)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_malformed_module_is_reported_with_its_place(folder: Path) -> None:
    Path("bad.mlir").write_text(LAYER.replace("%W: tensor<3x2xf32>)", "%W: tensor<3xZf32>)"))
    assert "bad.mlir:2:" in fail("compile", "bad.mlir", "-o", "graph")
    assert not Path("graph").exists()


def test_nothing_is_written_where_a_model_cannot_be_compiled(folder: Path) -> None:
    assert "error" in fail("generate", "layer.mlir", "-o", "rtl", "--order", "j,j")
    assert not Path("rtl").exists()


def test_models_need_an_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_mlir.ir", None)
    assert "pip install 'fuseflow[torch]'" in fail("compile", "layer.mlir", "-o", "graph")


def test_help_tells_of_models() -> None:
    assert "MODEL" in call("run", "--help").stdout
