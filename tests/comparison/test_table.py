"""The table of kernels: what it holds, and how rows are chosen."""

import math

import pytest

import fuseflow
from fuseflow.comparison.table import Kernel, kernels, select
from fuseflow.compiler import compile_statement
from fuseflow.samml.errors import ParseError
from fuseflow.samml.values import FP32, INT8


@pytest.mark.parametrize("kernel", kernels(), ids=lambda kernel: kernel.name)
def test_every_kernel_compiles_in_its_order(kernel: Kernel) -> None:
    lowered = compile_statement(
        kernel.program,
        kernel.formats,
        order=kernel.order,
        fills={name: kernel.fill(name, FP32) for name in kernel.operands},
        value=FP32,
        auto_convert=kernel.auto_convert,
    )
    assert lowered.order == kernel.order
    assert set(kernel.formats) == {kernel.statement.target.tensor, *kernel.operands}
    assert bool(lowered.copies) == kernel.auto_convert


def test_names_are_unique() -> None:
    names = [kernel.name for kernel in kernels()]
    assert len(names) == len(set(names))
    assert {kernel.group for kernel in kernels()} == {"single", "extra"}


def test_names_globs_and_classes_choose_in_table_order() -> None:
    names = [kernel.name for kernel in select(["vec_elemadd", "matmul_k*", "vec_elemadd"])]
    assert names == ["matmul_kij", "matmul_kji", "vec_elemadd"]
    assert len(select(["single"])) == 36
    assert select(["single", "extra"]) == list(kernels())


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(ParseError, match=r"no kernel is named 'matmull'.*single, extra"):
        select(["vec_*", "matmull"])


def test_infinite_fills_are_the_bounds_of_integers() -> None:
    (kernel,) = select(["mat_row_max_masked"])
    assert kernel.fill("B", FP32) == -math.inf
    assert kernel.fill("B", INT8) == -128
    (kernel,) = select(["mat_column_min"])
    assert kernel.fill("B", INT8) == 127


def test_formats_are_shown_without_natural_orders() -> None:
    (kernel,) = select(["matmul_kij"])
    assert kernel.stored == "X=ss B=ss:1,0 C=ss"
    assert fuseflow.compile(kernel.program, formats=kernel.formats).graph
