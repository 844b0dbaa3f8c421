"""The compiled kernel reads and writes through a bare pointer: here it runs with checks."""

from collections.abc import Callable
from typing import Any

import pytest

from sim_models.cycle import simulate as simulate_module
from tests.primitives import (
    test_accumulate,
    test_alu,
    test_drop_empty,
    test_drop_value,
    test_intersect,
    test_reduce,
    test_scan_compressed,
    test_unary,
    test_union,
    test_write_crd,
)
from tests.sim_models.test_simulate import shifted_by_sum


class Checked:
    """Memory that refuses offsets outside of it, and the record that 0 means."""

    def __init__(self, words: Any) -> None:
        self.words = words

    def __getitem__(self, index: int) -> int:
        assert 0 < index < len(self.words)
        return int(self.words[index])

    def __setitem__(self, index: int, value: int) -> None:
        assert 0 < index < len(self.words)
        self.words[index] = (int(value) + 2**63) % 2**64 - 2**63


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the kernel as plain Python, on memory without spare words at its end."""
    run = simulate_module._run

    def trimmed(build: Any, *more: Any) -> None:
        build.heap.words = build.heap.words[: build.heap.used].copy()
        run(build, *more)

    def link(entry: Callable[..., Any]) -> Callable[..., Any]:
        return lambda words: entry(Checked(words))

    monkeypatch.setattr(simulate_module, "_run", trimmed)
    monkeypatch.setattr(simulate_module, "link", link)


def test_growing_rings() -> None:
    assert shifted_by_sum(150, depth=4).run(ideal="unlimited").edge("minus.a").high_water >= 150


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "module",
    [
        test_accumulate,
        test_alu,
        test_drop_empty,
        test_drop_value,
        test_intersect,
        test_reduce,
        test_scan_compressed,
        test_unary,
        test_union,
        test_write_crd,
    ],
    ids=lambda module: module.__name__.rpartition(".")[2],
)
def test_random_benches(module: Any, seed: int) -> None:
    module.test_random.hypothesis.inner_test(seed)
    if module is test_accumulate:
        module.test_random_of_two_kept.hypothesis.inner_test(seed)
    if module is test_reduce:
        module.test_random_products.hypothesis.inner_test(seed)
