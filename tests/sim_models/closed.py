"""Comparing closed forms with the token level."""

from dataclasses import replace

import numpy as np

import fuseflow
from fuseflow.kernel import Kernel, Shelf
from fuseflow.samml.graph import Graph
from fuseflow.samml.image import TensorImage
from fuseflow.samml.units import flatten
from sim_models import golden, sliced
from sim_models.cycle.result import CycleResult
from sim_models.cycle.simulate import simulate
from sim_models.periods.skip import ClosedForm
from sim_models.storage import Flags

IDEALS = (None, "banks", "unlimited")


def same_image(left: TensorImage, right: TensorImage) -> None:
    np.testing.assert_array_equal(left.vals, right.vals)
    for one, other in zip((*left.segs, *left.crds), (*right.segs, *right.crds), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other)


def compare_values(
    graph: Graph, images: dict[str, TensorImage], shapes: dict[str, tuple[int, ...]], room: int
) -> sliced.SlicedResult:
    """Check that slices give what the golden meaning gives, in every bit and flag."""
    whole = golden.evaluate(graph, images, shapes)
    found = sliced.evaluate(graph, images, shapes, room)
    for name, image in whole.outputs.items():
        same_image(found.outputs[name], image)
    assert found.flags == whole.flags
    return found


def plain(result: CycleResult) -> CycleResult:
    """Return a result without what a closed form leaves to the golden meaning."""
    return replace(result, outputs={}, flags=Flags(), skipped=(), right={})


def compare(
    program: fuseflow.Program, *, cheap: int = 0, room: int = 1 << 24, ideals: tuple = IDEALS
) -> dict[str, int]:
    """Check every figure of every graph of a program; return what was skipped, by scan."""
    shelf = Shelf(dict(program.tensors))
    skipped: dict[str, int] = {}
    for kernel in program.kernels:
        for name, count in _compare(kernel, shelf, cheap, room, ideals).items():
            skipped[f"{kernel.targets[-1]}.{name}"] = count
    return skipped


def _compare(kernel: Kernel, shelf: Shelf, cheap: int, room: int, ideals: tuple) -> dict[str, int]:
    operands = kernel._operands(shelf)
    shapes = kernel._shapes(operands)
    graph = kernel._with_room(kernel._volumes(operands), kernel._needs(operands))
    found = compare_values(graph, operands.images, shapes, room)
    units = flatten(graph)
    form = ClosedForm(0, cheap, found.dropped)
    skipped: dict[str, int] = {}
    for ideal in ideals:
        token = simulate(units, operands.images, shapes, digests=False, ideal=ideal)
        closed = simulate(units, operands.images, shapes, digests=False, ideal=ideal, closed=form)
        assert plain(closed) == plain(token), (kernel.name, ideal)
        for name, image in closed.outputs.items():
            assert len(image.vals) == len(token.outputs[name].vals)
        if ideal is None:
            skipped = {each.loop: each.iterations for each in closed.skipped}
    results = kernel._tensors(found.outputs)
    shelf.tensors |= kernel._wanted(results, shelf)[0]
    return skipped
