"""Compiling a statement and evaluating its graph with the golden meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuseflow.compiler import Lowered, Statement, compile_statement, evaluate, parse
from fuseflow.compiler.expr import Access, Add, Expr, Mul, Sub
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.tensor import Tensor
from sim_models.golden import GoldenResult
from sim_models.golden import evaluate as run_golden


@dataclass(frozen=True)
class Outcome:
    lowered: Lowered
    golden: GoldenResult
    result: Tensor
    truth: np.ndarray


def run(
    text: str | Statement,
    formats: Mapping[str, Format | str],
    tensors: Mapping[str, Tensor],
    **options: Any,
) -> Outcome:
    """Compile for the given operands, evaluate, and check the result against the truth."""
    statement = parse(text) if isinstance(text, str) else text
    lowered = compile_statement(statement, formats, tensors=tensors, **options)
    target = statement.target
    truth = evaluate(statement, {name: each.to_numpy() for name, each in tensors.items()})
    images = {name: each.image() for name, each in tensors.items()}
    golden = run_golden(lowered.graph, images, {target.tensor: truth.shape})
    form = lowered.formats[target.tensor]
    result = Tensor.from_image(target.tensor, golden.outputs[target.tensor], form)
    np.testing.assert_array_equal(result.to_numpy(), truth)
    assert not golden.flags.range
    assert not golden.flags.capacity
    if all(kind is LevelKind.COMPRESSED for kind in form.levels):
        exact = Tensor.from_numpy(target.tensor, truth.astype(np.int64), form)
        assert result.positions == exact.positions, "an entry equal to the fill is stored"
    return Outcome(lowered, golden, result, truth)


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    """A sum of up to three products of up to three accesses; tensors may repeat."""
    indices = "ijkl"[: draw(st.integers(1, 4))]
    ranks: dict[str, int] = {}

    def access() -> Access:
        known = sorted(ranks)
        if known and draw(st.integers(0, 6)) == 0:
            name = draw(st.sampled_from(known))
        else:
            name = "ABCDEFGHIJ"[len(ranks)]
            ranks[name] = draw(
                st.sampled_from([r for r in (0, 1, 1, 2, 2, 3) if r <= len(indices)])
            )
        return Access(name, tuple(draw(st.permutations(indices))[: ranks[name]]))

    def term() -> Expr:
        value: Expr = access()
        for _ in range(draw(st.integers(0, 2))):
            value = Mul(value, access())
        return value

    value = term()
    for _ in range(draw(st.integers(0, 2))):
        value = draw(st.sampled_from([Add, Sub]))(value, term())
    used = Statement(Access("Z"), value).indices
    kept = draw(st.permutations(used))[: draw(st.integers(0, min(3, len(used))))] if used else []
    return Statement(Access("Z", tuple(kept)), value)


@st.composite
def formats(draw: st.DrawFn, rank: int) -> Format:
    kinds = draw(st.tuples(*[st.sampled_from("sssd")] * rank))
    order = draw(st.permutations(range(rank))) if draw(st.integers(0, 3)) == 0 else range(rank)
    return Format(tuple(map(LevelKind, kinds)), tuple(order))


@st.composite
def operands(
    draw: st.DrawFn, statement: Statement, forms: Mapping[str, Format]
) -> dict[str, Tensor]:
    """Small random tensors, from empty to full; all sizes are equal where a tensor repeats."""
    accesses = statement.operands
    names = {access.tensor for access in accesses}
    size = st.integers(0, 4)
    if len(names) < len(accesses):
        sizes = dict.fromkeys(statement.indices, draw(size))
    else:
        sizes = {index: draw(size) for index in statement.indices}
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tensors: dict[str, Tensor] = {}
    for access in accesses:
        shape = tuple(sizes[index] for index in access.indices)
        share = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))
        array = rng.integers(-4, 5, shape) * (rng.random(shape) < share)
        tensors[access.tensor] = Tensor.from_numpy(access.tensor, array, forms[access.tensor])
    return tensors
