"""A model becomes linalg with the user's names, and sparse layouts become encodings."""

import re
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch.nn.utils.prune import random_unstructured
from torch_mlir import fx

from fuseflow.torch import Exported, export
from fuseflow.torch.quiet import quiet
from fuseflow.torch.sparse import DenseMeaning
from tests.torch.models import Function, quietly, sparse


def signature(module: Any) -> str:
    """Return a function's type with its encodings spelt out."""
    return str(module.body.operations[0].attributes["function_type"])


def operations(exported: Exported) -> list[str]:
    """Return the names of the operations of linalg, in their order."""
    return re.findall(r"= (linalg\.(?!yield|fill)\w+)", str(exported.module))


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(6, 3)

    def forward(self, adj: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(torch.sparse.mm(adj, x)))


class TestNames:
    def test_parameters_then_inputs_each_by_the_users_name(self) -> None:
        model = Layer()
        adj, x = sparse("CSR"), torch.randn(6, 6)
        exported = export(model, (adj, x))
        assert [(a.name, a.kind, a.layout) for a in exported.arguments] == [
            ("linear.weight", "parameter", "strided"),
            ("linear.bias", "parameter", "strided"),
            ("adj", "input", "CSR"),
            ("x", "input", "strided"),
        ]
        assert exported.arguments[0].data is model.linear.weight
        assert exported.arguments[2].data is adj
        assert exported.results == ("result",)
        assert "dense_resource" not in str(exported.module)

    def test_inputs_by_name_in_the_order_of_forward(self) -> None:
        named = export(Layer(), {"x": torch.ones(6, 6), "adj": sparse("COO")})
        assert [a.name for a in named.arguments[2:]] == ["x", "adj"]
        types = signature(named.module).split("->")[0].split("tensor<6x6xf32")
        assert "sparse_tensor" not in types[1]
        assert "sparse_tensor" in types[2]

    def test_nested_inputs_and_results(self) -> None:
        class Nested(torch.nn.Module):
            def forward(self, pair: Any, *, scale: float, **named: Any) -> Any:
                total = pair[0] + pair[1]["a"] + named["b"]
                return {"sum": total * scale, "parts": [total, pair[0] * 2]}

        x = torch.ones(2)
        exported = export(Nested(), {"pair": (x, {"a": x}), "scale": 3.0, "b": x})
        assert [a.name for a in exported.arguments] == ["pair.0", "pair.1.a", "b"]
        assert exported.results == ("sum", "parts.0", "parts.1")
        assert exported.nest([1, 2, 3]) == {"sum": 1, "parts": [2, 3]}
        assert "3.000000e+00" in str(exported.module)

    def test_positional_inputs_in_a_variable_number(self) -> None:
        exported = export(Function(lambda *tensors: sum(tensors)), (torch.ones(2),) * 3)
        assert [a.name for a in exported.arguments] == ["tensors.0", "tensors.1", "tensors.2"]

    def test_a_tied_parameter_is_one_argument(self) -> None:
        model = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 4))
        model[1].weight = model[0].weight
        exported = export(model, torch.ones(2, 4))
        assert [a.name for a in exported.arguments] == ["0.weight", "1.bias", "input"]
        assert operations(exported).count("linalg.matmul") == 2

    def test_what_nobody_reads_is_no_argument_unless_it_is_an_input(self) -> None:
        model = Function(lambda x, y: x + 1, unread=torch.ones(3))
        assert [a.name for a in export(model, (torch.ones(2),) * 2).arguments] == [
            "tensors.0", "tensors.1",
        ]  # fmt: skip

    def test_a_pruned_weight_is_its_weight_and_its_mask(self) -> None:
        model = torch.nn.Linear(4, 4, bias=False)
        random_unstructured(model, "weight", 0.5)
        before = model.weight
        exported = export(model, torch.ones(2, 4))
        assert [a.name for a in exported.arguments] == ["weight_orig", "weight_mask", "input"]
        assert model.weight is before

    def test_a_plain_attribute_is_a_buffer(self) -> None:
        class Fixed(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.adj = sparse("CSC")

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.adj @ x

        model = Fixed()
        adj = model.adj
        exported = export(model, torch.ones(6, 2))
        assert [(a.name, a.kind) for a in exported.arguments] == [("adj", "buffer"), ("x", "input")]
        assert exported.arguments[0].data is adj is model.adj

    def test_names_that_stand_twice(self) -> None:
        class Twice(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.x = torch.nn.Parameter(torch.ones(2))

            def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
                return {"x": self.x + x, "y": x}

        exported = export(Twice(), torch.ones(2))
        assert [a.name for a in exported.arguments] == ["x", "forward.x"]
        assert exported.results == ("result.x", "y")

    # torch.compile imports what PyTorch itself calls old.
    @pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
    def test_a_compiled_model_has_the_names_of_its_own(self) -> None:
        exported = export(torch.compile(torch.nn.Linear(4, 4)), torch.ones(2, 4))
        assert [a.name for a in exported.arguments] == ["weight", "bias", "input"]


class TestSparse:
    @pytest.mark.parametrize("layout", ["COO", "CSR", "CSC"])
    def test_encodings_are_those_of_torch_mlir(self, layout: str) -> None:
        model = Function(lambda a, x: (a @ x) @ x)
        inputs = sparse(layout), torch.ones(6, 6)
        with quiet():
            native = fx.export_and_import(model, *inputs, output_type="linalg-on-tensors")
        exported = export(model, inputs)
        assert signature(exported.module) == signature(native)
        assert exported.arguments[0].layout == layout

    def test_the_encoding_of_blocks(self) -> None:
        exported = export(Function(lambda a, x: a @ x), (sparse("BSR"), torch.ones(6, 6)))
        assert (
            "d0 floordiv 2 : dense, d1 floordiv 3 : compressed, d0 mod 2 : dense, d1 mod 3 : dense"
        ) in signature(exported.module)

    @pytest.mark.parametrize(
        ("layout", "function"),
        [
            ("COO", lambda a, x: torch.sparse.mm(a, x)),
            ("CSR", lambda a, x: torch.mm(a, x)),
            ("CSC", lambda a, x: a.matmul(x)),
            ("BSR", lambda a, x: a.to_dense() @ x),
            ("CSC", lambda a, x: a.to_sparse_csr() @ x),
            ("BSR", lambda a, x: a.to_sparse().coalesce() @ x),
            ("COO", lambda a, x: torch.spmm(a, x)),
            ("COO", lambda a, x: torch.smm(a, x)),
            ("CSR", lambda a, x: torch.sparse.mm(a, x, "sum")),
        ],
    )
    def test_every_product_is_one_matmul(self, layout: str, function: Any) -> None:
        exported = export(Function(function), (sparse(layout), torch.ones(6, 2)))
        assert operations(exported) == ["linalg.matmul"]
        assert signature(exported.module).count("sparse_tensor.encoding") == 1

    def test_functions_of_sparse_layouts_mean_what_pytorch_computes(self) -> None:
        pattern, x = sparse("CSR"), torch.randn(6, 6)
        cases = {
            "sampled": (lambda a, x: torch.sparse.sampled_addmm(a, x, x), pattern),
            "scaled": (
                lambda a, x: torch.sparse.sampled_addmm(a, x, x, alpha=2.0, beta=0.0), pattern,
            ),
            "softmax": (lambda a, x: torch.sparse.softmax(a, 1), sparse("COO")),
            "sum": (lambda a, x: torch.sparse.sum(a, 1), sparse("COO")),
            "addmm": (lambda a, x: torch.sparse.addmm(x, a, x), sparse("COO")),
            "mask": (lambda a, x: x.sparse_mask(a), sparse("COO")),
        }  # fmt: skip
        for name, (function, a) in cases.items():
            expected = function(a, x).to_dense()
            dense = a.to_dense()
            with DenseMeaning():
                got = function(dense, x)
            stored = expected != 0 if name == "softmax" else torch.ones_like(got, dtype=torch.bool)
            torch.testing.assert_close(got[stored], expected[stored], msg=name)
            exported = export(Function(function), (a, x))
            assert signature(exported.module).count("sparse_tensor.encoding") == 1

    def test_a_slice_that_torch_mlir_cannot_lower_on_an_encoding(self) -> None:
        exported = export(Function(lambda a: a[:3] * 2), (sparse("COO"),))
        text = str(exported.module)
        assert "tensor.cast" in text
        assert "extract_slice" in text
        assert "compressed(nonunique)" in signature(exported.module)

    def test_a_tensor_of_three_modes_and_a_batch_of_matrices(self) -> None:
        cube = torch.randn(2, 3, 3).relu().to_sparse()
        batch = quietly(torch.ones(2, 3, 3).to_sparse_csr)
        exported = export(Function(lambda a, b: a.to_dense() * b.to_dense()), (cube, batch))
        kinds = signature(exported.module)
        assert "d1 : singleton(nonunique, soa)" in kinds
        assert "d0 : batch, d1 : dense, d2 : compressed" in kinds

    def test_a_large_adjacency_takes_no_dense_memory(self) -> None:
        size = 200_000
        corner = torch.zeros(2, 1, dtype=torch.int64)
        adj = torch.sparse_coo_tensor(corner, [1.0], (size, size), check_invariants=True)
        exported = export(Layer(), (adj, torch.ones(size, 6)))
        assert f"tensor<{size}x{size}xf32, #sparse_tensor" in signature(exported.module)


class TestModules:
    def test_locations_are_lines_of_the_model(self) -> None:
        exported = export(Layer(), (sparse("CSR"), torch.ones(6, 6)))
        text = exported.module.operation.get_asm(enable_debug_info=True)
        places = set(re.findall(r'loc\("([^"]+)":([0-9]+)', text))
        first = Layer.forward.__code__.co_firstlineno
        assert places == {(__file__, str(first + 1)), ("scope:linear", "1")}

    def test_what_depends_on_no_argument_is_a_constant(self) -> None:
        mask = export(
            Function(lambda x: x @ torch.tril(torch.ones(4, 4)) + torch.arange(4.0)), torch.ones(4)
        )
        text = str(mask.module)
        assert text.count("arith.constant dense_resource") == 2
        assert "linalg.index" not in text

    def test_batchnorm_and_dropout_in_evaluation_mode(self) -> None:
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Dropout()).eval()
        exported = export(model, torch.ones(2, 3))
        assert [a.name for a in exported.arguments] == [
            "0.weight", "0.bias", "0.running_mean", "0.running_var", "input",
        ]  # fmt: skip

    def test_a_result_may_be_an_argument_or_stand_twice(self) -> None:
        exported = export(Function(lambda x: (x, x + 1, x)), torch.ones(2))
        assert exported.results == ("result.0", "result.1", "result.2")

    def test_gradients_may_be_switched_off_inside(self) -> None:
        def function(x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                return x + 1

        assert operations(export(Function(function), torch.ones(2))) == ["linalg.generic"]

    def test_nothing_is_printed(self, capfd: pytest.CaptureFixture[str]) -> None:
        export(Layer(), (sparse("CSR"), torch.ones(6, 6)))
        assert capfd.readouterr() == ("", "")

    def test_the_package_is_imported_without_pytorch(self) -> None:
        code = "import fuseflow.api, sys; raise SystemExit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
