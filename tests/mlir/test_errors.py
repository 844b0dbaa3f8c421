"""What a module can be refused for: one line that says where, what, and the way out."""

import sys

import pytest

from fuseflow.mlir.errors import MlirError
from fuseflow.mlir.read import read_mlir, read_module, read_text

torch_mlir = pytest.importorskip("torch_mlir", reason="needs torch-mlir")

ELEMENTWISE = """#id = affine_map<(i) -> (i)>
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
    ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    BODY
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""
REDUCTION = """#id = affine_map<(i) -> (i)>
func.func @main(%x: tensor<4xf32>, %y: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {
      indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
    ins(%x : tensor<4xf32>) outs(%y : tensor<f32>) {
  ^bb0(%p: f32, %acc: f32):
    BODY
    linalg.yield %v : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
"""


def message(text, **options):
    """Return what a module is refused for."""
    with pytest.raises(MlirError) as caught:
        read_text(text, "model.mlir", **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def identity(kind, alias=""):
    """Return a function that gives its argument back."""
    return f"{alias}func.func @f(%x: {kind}) -> {kind} {{\n  return %x : {kind}\n}}\n"


def encoded(levels):
    """Return a function of a tensor with an encoding."""
    alias = f"#E = #sparse_tensor.encoding<{{ map = (i, j) -> ({levels}) }}>\n"
    return identity("tensor<4x4xf32, #E>", alias)


ERF = "8:10: 'math.erf' is computed as a part of gelu only: 0.5 * x * (1 + erf(x / sqrt(2)))"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("%v = math.sin %p : f32",
         "8:10: 'math.sin' is computed of constants only: there is no hardware for it"),
        ("%v = math.powf %p, %q : f32",
         "8:10: the power 'arg1(i0)' has no hardware: use multiples of 0.5 up to 8"),
        ("%v = math.erf %p : f32", ERF),
        ("%h = arith.cmpf uno, %p, %p : f32\n    %v = arith.select %h, %c, %p : f32",
         "8:10: 'arith.cmpf' asks for NaN: what is computed is a number"),
        ("%h = arith.fptosi %p : f32 to i64\n    %v = arith.sitofp %h : i64 to f32",
         "8:10: 'arith.fptosi' is computed of constants only: it rounds"),
        ("%v = arith.addf %out, %p : f32",
         "5:8: reads what 'tensor.empty' leaves undefined: fill it first"),
    ],
)  # fmt: skip
def test_bodies(body, wanted):
    assert message(ELEMENTWISE.replace("BODY", body)) == f"model.mlir:{wanted}"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("%v = arith.mulf %p, %acc : f32", "'arith.mulf'"),
        ("%v = arith.divf %acc, %p : f32", "'arith.divf'"),
        ("%v = math.exp %p : f32", "'math.exp'"),
        ("%m = arith.maximumf %acc, %p : f32\n    %v = arith.addf %m, %p : f32",
         "'arith.addf' of another fold"),
    ],
)  # fmt: skip
def test_folds(body, what):
    assert message(REDUCTION.replace("BODY", body)) == (
        f"model.mlir:3:8: a reduction by {what}: "
        "only sums, maxima and minima of the previous result are folds"
    )


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("tensor<?x4xf32>", "the size of a mode is not known: export with fixed shapes"),
        ("tensor<*xf32>", "its rank is not known: export the model with shapes"),
        ("memref<4xf32>", "it is a buffer: keep the module on tensors"),
        ("tensor<4xcomplex<f32>>", "elements of type complex<f32> have no value type here"),
        ("!torch.vtensor<[4],f32>", "export with output_type='linalg-on-tensors'"),
        ("vector<4xf32>", "there are no such values: use tensors of numbers"),
    ],
)
def test_types(kind, why):
    assert message(identity(kind)) == f"model.mlir:1:1: a value of type {kind}: {why}"


@pytest.mark.parametrize(
    ("levels", "why"),
    [
        ("i : dense, j : loose_compressed",
         "a level is 'loose_compressed': use dense, compressed or singleton"),
        ("i : dense, j : compressed(nonordered)",
         "a level is 'nonordered': store its coordinates ascending"),
        ("i floordiv 3 : dense, j : compressed, i mod 3 : dense",
         "blocks of 3 do not divide mode 0 of size 4"),
    ],
)  # fmt: skip
def test_encodings(levels, why):
    found = message(encoded(levels))
    assert found.startswith("model.mlir:2:1: a value of type tensor<4x4xf32, #sparse_tensor.")
    assert found.endswith(f">: {why}")


CONDITION = """func.func @f(%x: tensor<4xf32>, %n: i1) -> tensor<4xf32> {
  %r = scf.if %n -> tensor<4xf32> {
    scf.yield %x : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
"""
GATHER = """func.func @f(%x: tensor<4xf32>, %at: tensor<2xi64>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%at : tensor<2xi64>) outs(%e : tensor<2xf32>) {
  ^bb0(%p: i64, %out: f32):
    %i = arith.index_cast %p : i64 to index
    %v = tensor.extract %x[%i] : tensor<4xf32>
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}
"""
BLOCKS = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^a
^a:
  return %x : tensor<4xf32>
}
"""
SHORT = """func.func @f() -> tensor<4xf32> {
  %r = arith.constant dense_resource<four> : tensor<4xf32>
  return %r : tensor<4xf32>
}
{-#
  dialect_resources: {
    builtin: {
      four: "0x040000000000803F"
    }
  }
#-}
"""
DIVISION = """func.func @f(%n: tensor<4xi32>) -> tensor<4xi32> {
  %c = arith.constant dense<3> : tensor<4xi32>
  %r = arith.divsi %n, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}
"""


def function(body, result="tensor<4xf32>"):
    """Return a function of two tensors."""
    given = "%x: tensor<4xf32>, %n: tensor<4xi32>"
    return f"func.func @f({given}) -> {result} {{\n  {body}\n  return %r : {result}\n}}\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (CONDITION, ":2:8: 'scf.if' is control flow, which has no meaning here"),
        (BLOCKS, ":1:1: a function of several blocks: control flow has no meaning"),
        (GATHER, ":8:10: 'tensor.extract' reads elements at computed places: multiply by a "
                 "matrix that selects them"),
        (function("%r = tensor.empty() : tensor<4xf32>"),
         ":3:3: reads what 'tensor.empty' leaves undefined: fill it first"),
        (DIVISION,
         ":3:8: 'arith.divsi' is computed of constants only: there is no hardware for it"),
        (SHORT, ":2:8: dense_resource<four>: 4 bytes for 4 elements of f32"),
        (function("%r = arith.constant dense_resource<gone> : tensor<4xf32>"),
         ":2:8: the module has no data for dense_resource<gone>"),
        (function("%r = arith.constant sparse<[[0]], [1.0]> : tensor<4xf32>"),
         ":2:8: the constant 'sparse<0, 1.000000e+00> : tensor<4xf32>' is no dense array"),
        (identity("tensor<4xindex>"),
         ":1:1: an argument has elements of type index: use f32 or i32"),
        ("func.func @f(%x: tensor<4xf32>) {\n  return\n}",
         ":2:3: the function returns no tensor"),
        (function("%r = foo.bar %x : tensor<4xf32>"),
         ":2:8: Dialect `foo' not found for custom op 'foo.bar'"),
        (function("%y = arith.negf %x : tensor<4xf32>"),
         ":3:10: use of undeclared SSA value name"),
        ("func.func @f(%x: tensor<4xf32> -> {", ":1:31: expected ')'"),
        ("", " has no public function: add a func.func"),
        (identity("tensor<4xf32>") + identity("tensor<4xf32>").replace("@f", "@g"),
         " has several public functions: name one of f, g"),
    ],
)  # fmt: skip
def test_modules(text, wanted):
    assert message(text) == f"model.mlir{wanted}"


def test_a_function_is_chosen_by_its_name():
    text = identity("tensor<4xf32>") + identity("tensor<3xf32>").replace("@f", "@g")
    assert read_text(text, function="g").types["arg0"].shape == (3,)
    assert message(text, function="h") == "model.mlir has no public function 'h': it has f, g"


def test_private_functions_are_no_programs():
    text = identity("tensor<4xf32>") + identity("tensor<3xf32>").replace("@f", "private @g")
    assert read_text(text).name == "f"


def test_missing_file(tmp_path):
    with pytest.raises(MlirError, match=r"cannot read .*no\.mlir: .*No such file"):
        read_mlir(tmp_path / "no.mlir")


def test_missing_bindings(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_mlir.ir", None)
    wanted = "reading MLIR needs torch-mlir: pip install 'fuseflow[torch]'"
    assert message(identity("tensor<4xf32>")) == wanted
    with pytest.raises(MlirError, match="needs torch-mlir"):
        read_module(object())


TRANSPOSE = """func.func @f(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %e = tensor.empty() : tensor<3x2xf32>
  %r = linalg.transpose ins(%x : tensor<2x3xf32>) outs(%e : tensor<3x2xf32>) permutation = [1, ?]
  return %r : tensor<3x2xf32>
}
"""
PLAIN = "#E = #sparse_tensor.encoding<{ posWidth = 32 }>\n" + identity("tensor<4x4xf32, #E>")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (TRANSPOSE, "3:78: 'permutation' is no list of integers"),
        (TRANSPOSE.replace("?", "0.5"), "3:78: 'permutation' is no list of integers"),
        (PLAIN, "1:7: 'sparse_tensor.encoding' has no map"),
    ],
)
def test_what_ends_the_parser_of_mlir(text, wanted):
    assert message(text) == f"model.mlir:{wanted}"


OUTSIDE = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %e = tensor.empty() : tensor<2xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>,
                                        affine_map<(i) -> (9223372036854775807, i)>,
                                        affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%x, %c : tensor<2xf32>, tensor<1x2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %v = arith.addf %p, %q : f32
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}
"""


def test_a_constant_is_read_outside_of_its_shape():
    assert message(OUTSIDE).endswith("reads mode 0, of size 1, outside of it")


def test_a_long_message_of_mlir_is_cut():
    text = ELEMENTWISE.replace("BODY", "%v = arith.addf %p, %q : f32").replace("linalg.yield", "//")
    assert len(message(text)) < 400
