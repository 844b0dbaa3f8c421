"""What random models found: small models, each of which was wrong, or refused, once."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from fuseflow.mlir.errors import MlirError
from fuseflow.mlir.link import link
from fuseflow.samml.errors import TensorError
from fuseflow.torch import compile, export, function_of
from tests.torch.models import Function, quietly, sparse

INF = float("inf")
X = torch.randn(6, 6, generator=torch.Generator().manual_seed(3))
WHOLE = torch.arange(12, dtype=torch.int32).reshape(3, 4)
ONE = torch.tensor([[2.0]])


def same(function: Callable[..., Any], *inputs: torch.Tensor, **options: Any) -> None:
    """Check that what a model computes is what PyTorch does."""
    found = compile(Function(function), inputs, **options).run().outputs
    wanted = function(*(each.to_dense() for each in inputs))
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for got, want in zip(found.values(), wanted, strict=True):
        assert got.shape == tuple(want.shape)
        np.testing.assert_allclose(got.astype(float), want.double(), rtol=1e-5, atol=1e-6)


CONDITIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "above a negative number": lambda a: a > -0.5,
    "below a positive number": lambda a: a < 0.5,
    "not 1": lambda a: (1 - a) != 0,
    "a selection with another fill": lambda a: torch.where(a != 0, a, -1) != 0,
    "an exponential": lambda a: a.exp() > 0.5,
    "what is stored": lambda a: a != 0,
    "what is not stored": lambda a: a == 0,
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("layout", ["CSR", "strided"])
def test_a_condition_that_holds_where_nothing_is_stored(name: str, layout: str) -> None:
    same(lambda a, x: torch.where(CONDITIONS[name](a), x, 2.0), sparse(layout), X, fusion="none")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: -x.roll(1, 0),
        lambda x: x.roll(6, 1) + 1,
        lambda x: x.roll((1, -1), (0, 1)) * 2,
        lambda x: x.roll(4) - 1,
    ],
)
def test_rolled_and_negated_integers(function: Callable[..., Any]) -> None:
    same(function, WHOLE)


def test_integers_are_negated_without_rounding() -> None:
    same(lambda x: -x, torch.tensor([2**24 + 1, -(2**31) + 1], dtype=torch.int32))


def test_a_sum_of_all_parts() -> None:
    same(lambda x, y: torch.cat([x, y], 1).sum(), X, X)


def test_results_that_are_parts_of_inputs_beside_those_that_are_not() -> None:
    same(lambda x, y: (y.T, x + 1, y), X, X)
    same(lambda x, y: (torch.stack([y, x * 2], 1), x[0]), X, X, fusion="full")
    model = compile(Function(lambda x, y: (y, x + 1)), (X, X))
    np.testing.assert_array_equal(model.run(X, 2 * X).outputs["result.0"], 2 * X)
    assert model.results == ("result.0", "result.1")


def test_parts_that_are_constants() -> None:
    same(lambda x: 1 - functional.pad(x, (1, 2), value=1), X)
    same(lambda x: torch.exp(functional.pad(x, (0, 2), value=1)), X)


def test_constant_parts_of_a_narrow_type() -> None:
    same(lambda x: functional.pad(x, (1, 0), value=2) * 2, WHOLE.to(torch.bfloat16))


def test_masks_of_one_element() -> None:
    with pytest.raises(MlirError, match=r"models\.py:\d+: a condition on a single number: choose"):
        same(lambda c, x: torch.where(c != 0, x, 2.0), torch.tensor(1.0), X)
    with pytest.raises(MlirError, match="a condition on a single number"):
        same(lambda a: torch.where(a > 1, a, 2.0), ONE)


@pytest.mark.parametrize("blocks", [(1, 3), (3, 1), (1, 1), (2, 3)])
def test_blocks_of_one(blocks: tuple[int, int]) -> None:
    same(lambda a, x: a @ x, quietly(lambda: sparse("strided").to_sparse_bsr(blocks)), X)


def test_blocks_that_a_view_takes_apart() -> None:
    blocks = quietly(lambda: sparse("strided", 3, 3).to_sparse_bsr((3, 3)))
    with pytest.raises(TensorError, match=r"blocks of 3, and a view takes them apart: store it"):
        same(lambda a: a[0] * 2, blocks)


def test_a_sparse_tensor_is_reduced_to_fewer_modes() -> None:
    same(lambda a: a.amin((0, 1), keepdim=True).softmax(1) + a.sum(), sparse("CSC"))


def test_a_long_chain() -> None:
    def chain(x: torch.Tensor) -> torch.Tensor:
        for number in range(100):
            x = torch.relu(x - number / 64).T
        return x

    function = function_of(export(Function(chain), X))
    assert link(function.module).program.statements


def test_a_module_with_two_names_stays_as_it_is() -> None:
    inner = torch.nn.Sequential(torch.nn.Linear(6, 6))
    model = torch.nn.Sequential(inner, torch.nn.Sequential(inner))
    before = inner[0].weight
    export(model, X)
    assert inner[0].weight is before


@pytest.mark.parametrize("fusion", ["none", "full"])
def test_scores_hidden_by_a_condition_on_data(fusion: str) -> None:
    low = X.amin(1, keepdim=True) + 0.5
    same(lambda x, y: (x + y).masked_fill(x < y, -INF).softmax(1), X, low, fusion=fusion)
    same(lambda x, y: x.masked_fill(x < y, -INF), X, low, fusion=fusion)


def test_a_part_of_which_nothing_is_selected() -> None:
    hidden = torch.arange(6) == 0
    same(lambda x: x.roll(1, 1).masked_fill(hidden, -INF).softmax(1), X)


def test_a_part_that_a_constant_hides_is_not_computed() -> None:
    hidden = torch.arange(12) >= 6
    same(lambda x: torch.cat([x + 1, x @ x], 1).masked_fill(hidden, 2), X)


def test_masks_whose_source_stores_every_element() -> None:
    block = quietly(lambda: sparse("strided").to_sparse_bsr((6, 6)))
    same(lambda a, x: torch.where(a != 0, x, 2), block, X)
    same(lambda a, x: torch.where(a[:, -1:] != 0, x, 2), sparse("CSR"), X)


class Network(torch.nn.Module):
    """Layers with something between them, and behind them."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = torch.nn.Linear(6, 4), torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.other(torch.relu(self.one(x)) * 2), 1)


def test_a_model_without_a_file_has_the_regions_of_one_with_a_file() -> None:
    names: dict[str, Any] = {"torch": torch, "__name__": "nowhere"}
    exec(inspect.getsource(Network), names)
    regions, others = (
        function_of(export(model(), X)).prepare().prepared.scheduler.program.regions
        for model in (Network, names["Network"])
    )
    assert regions
    assert regions == others


def test_what_data_puts_in_order_is_refused_by_its_name_in_pytorch() -> None:
    for function, name in ((lambda x: x.sort(1)[0], "sort"), (lambda x: x.cumsum(1), "cumsum")):
        with pytest.raises(MlirError, match=rf"models\.py:\d+: 'tm_tensor\.\w+' \({name}"):
            same(function, X)


def test_infinite_results_are_tensors() -> None:
    x = torch.tensor([[1.0, 0.0], [2.0, -0.0]])
    model = compile(Function(lambda x: 1 / x), (x,))
    found = model.tensors(model.run().run)["result"]
    np.testing.assert_array_equal(found.to_numpy(), (1 / x).numpy())
