"""What cannot be exported is said in one line, with its place in the model and the way out."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from fuseflow.samml.errors import ParseError
from fuseflow.torch import ExportError, export
from tests.torch.models import Function, quietly, sparse

X = torch.eye(6)
HERE = rf" at {re.escape(str(Path(__file__).parent))}/(models|test_errors)\.py:\d+"
"""A line of `forward` where an operator is at fault, the innermost where Python is."""


def refused(model: Any, inputs: Any, match: str, formats: Any = None) -> None:
    with pytest.raises(ExportError, match=match) as caught:
        export(model, inputs, formats)
    assert isinstance(caught.value, ParseError)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def branch(x: torch.Tensor) -> torch.Tensor:
    return x if x.sum() > 0 else -x


def assign(x: torch.Tensor) -> torch.Tensor:
    x[0, 0] = 1.0
    return x * 2


OPERATORS: dict[str, tuple[Callable[..., Any], str]] = {
    "a branch on data": (branch, "a branch or a shape depends on data; write it with torch.where"),
    "a number of data": (lambda x: x * x.sum().item(), "a number or a shape is taken"),
    "a shape of data": (lambda x: x.nonzero(), "a number or a shape is taken"),
    "a choice of data": (lambda x: x[x > 0], "a number or a shape is taken"),
    "random numbers": (lambda x: x + torch.randn(6, 6), r"aten\.randn\.default draws random"),
    "dropout by hand": (functional.dropout, r"draws random numbers: call model\.eval\(\)"),
    "complex numbers": (lambda x: torch.fft.fft(x).real, "computes complex numbers"),
    "an unknown operator": (lambda x: torch.linalg.svd(x)[1], r"aten\._linalg_svd has no linalg"),
    "places of indices": (
        lambda x: x[:, torch.tensor([0, 2])],
        r"aten\.index\.Tensor reads or writes where a tensor of indices says: multiply with",
    ),
    "wrong shapes": (lambda x: x @ torch.ones(5, 2), "must have same reduction dim"),
    "a mistake in Python": (lambda x: x.no_such_thing, "no attribute 'no_such_thing'"),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_named_with_their_place(name: str) -> None:
    function, message = OPERATORS[name]
    with pytest.raises(ExportError) as caught:
        export(Function(function), X)
    text = str(caught.value)
    assert re.search(HERE, text), text
    assert re.search(message, re.sub(HERE, "", text)), text
    assert "\n" not in text


def test_the_place_is_a_line_inside_of_modules_too() -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 6), Function(OPERATORS["an unknown operator"][0])
    )
    refused(model, X, rf"aten\._linalg_svd{HERE} has no linalg form")


def test_control_flow() -> None:
    function = Function(lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)))
    refused(function, X, "control flow.*: write the model as one expression of tensors")


def test_what_is_changed_in_place() -> None:
    refused(Function(lambda x: x.add_(1)), X, r"changes its input 'tensors\.0' in place")
    refused(Function(assign), X, r"changes its input 'tensors\.0' in place")

    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            return x * self.count

    model = Counter()
    refused(model, X, "changes its buffer 'count' in place: compute a new tensor")
    assert model.count.item() == 0


@pytest.mark.parametrize("layer", [torch.nn.Dropout(), torch.nn.BatchNorm1d(6)])
def test_training_mode(layer: torch.nn.Module) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(6, 6), layer)
    kind = type(layer).__name__
    refused(model, X, rf"'1' \({kind}\) is in training mode: call model\.eval\(\) before")
    assert export(model.eval(), X).results == ("result",)


def nested() -> torch.Tensor:
    return torch.nested.nested_tensor([X, X[:2]], layout=torch.jagged)


TENSORS: dict[str, tuple[Callable[[], torch.Tensor], str]] = {
    "jagged": (nested, "has layout jagged: convert it to one of strided, COO, CSR, CSC, BSR"),
    "mkldnn": (lambda: X.to_mkldnn(), "has layout _mkldnn"),
    "BSC": (lambda: X.to_sparse_bsc((2, 3)), "has layout sparse_bsc"),
    "hybrid": (
        lambda: torch.ones(3, 3, 3).to_sparse(2), "has 1 dense dimensions inside a sparse tensor",
    ),
    "a sparse vector": (lambda: torch.ones(3).to_sparse(), "is a sparse vector"),
    "complex": (lambda: X.to(torch.complex64), "has type complex64: convert it to one of"),
    "8-bit floats": (lambda: X.to(torch.float8_e4m3fn), "has type float8_e4m3fn"),
}  # fmt: skip


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_that_have_no_encoding(name: str) -> None:
    make, message = TENSORS[name]
    tensor = quietly(make)
    refused(Function(lambda x: x), tensor, rf"input 'tensors\.0' {message}")
    refused(Function(lambda x: x, odd=tensor), X, f"buffer 'odd' {message}")


def test_products_of_bytes() -> None:
    refused(Function(torch.mm), (X.to(torch.int8),) * 2, r"aten\.mm\.default.* give int32")


def test_products_of_different_types() -> None:
    refused(Function(torch.mm), (X.half(), X), "multiplies float16 and float32, which PyTorch")


def test_an_operator_that_torch_mlir_cannot_lower() -> None:
    bag = torch.nn.EmbeddingBag(4, 4)
    refused(bag, torch.tensor([[0, 1]]), r"cannot lower aten\.embedding_bag\.padding_idx \(")


class TestInputs:
    model = torch.nn.Linear(6, 2)

    def test_their_number(self) -> None:
        refused(self.model, (X, X), r"do not fit Linear\.forward: too many positional arguments")
        refused(self.model, (), r"do not fit Linear\.forward: missing a required argument: 'input'")

    def test_their_names(self) -> None:
        refused(self.model, {"x": X}, r"do not fit Linear\.forward")

    def test_their_shapes(self) -> None:
        refused(self.model, torch.ones(6, 5), "Linear: .*reduction dim")

    def test_their_kinds(self) -> None:
        refused(self.model, object(), "example inputs are a object: give a tensor")
        refused(self.model, (object(),), "input 'input' is a object: give tensors, numbers")

    def test_what_is_no_model(self) -> None:
        refused(lambda x: x, X, r"a model is a torch\.nn\.Module, got a function")
        refused(torch.nn.DataParallel(self.model), X, "DataParallel cannot be exported: give the")

    def test_tensors_without_data(self) -> None:
        refused(self.model, X.to("meta"), "input 'input' has no data yet: initialise the model")
        refused(torch.nn.LazyLinear(4), X, "parameter 'weight' has no data yet")


class TestResults:
    def test_what_is_no_tensor(self) -> None:
        refused(Function(lambda x: "text"), X, "returns a str as 'result'")
        refused(Function(lambda x: (x, None)), X, r"returns a NoneType as 'result\.1'")
        refused(Function(lambda x: {"n": 3}), X, "returns a int as 'n': return tensors")


class TestSparse:
    def test_the_storage_is_not_taken_apart(self) -> None:
        for name in ("values", "crow_indices", "_nnz"):
            function = Function(lambda a, name=name: getattr(a, name)())
            refused(function, sparse("CSR"), rf"Tensor\.{name} takes the storage{''}")

    def test_functions_without_a_dense_meaning(self) -> None:
        log = Function(lambda a: torch.sparse.log_softmax(a, 1))
        refused(log, sparse("COO"), r"torch\.sparse\.log_softmax has no dense meaning")
        largest = Function(lambda a: torch.sparse.mm(a, X, "amax"))
        refused(largest, sparse("CSR"), "reduce='amax' has no linalg form: use a sum")

    def test_a_tensor_from_outside_of_the_model(self) -> None:
        adj = sparse("CSR")
        refused(Function(lambda x: adj @ x), X, "made inside forward, or comes from outside")


def test_a_format_for_nothing() -> None:
    model = torch.nn.Linear(6, 2)
    refused(
        model, X, "given for 'wieght', which the model does not have: its tensors are weight, bias",
        {"wieght": "CSR"},
    )  # fmt: skip


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("a branch on data", "an unknown operator", "wrong shapes"):
        with pytest.raises(ExportError):
            export(Function(OPERATORS[name][0]), X)
    assert capfd.readouterr() == ("", "")
