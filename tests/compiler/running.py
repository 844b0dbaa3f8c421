"""Compiling a statement and evaluating its graph with the golden meaning."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuseflow.compiler import (
    Access,
    Binary,
    Constant,
    Fold,
    Lowered,
    Statement,
    Truth,
    Unary,
    compile_statement,
    evaluate,
    parse,
)
from fuseflow.compiler.expr import Expr, accesses, chain, free
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.values import INT32, VALUE_TYPES, Number, ValueType
from fuseflow.tensor import Tensor
from sim_models.golden import GoldenResult
from sim_models.golden import evaluate as run_golden


@dataclass(frozen=True)
class Outcome:
    lowered: Lowered
    golden: GoldenResult
    result: Tensor
    truth: Truth


def run(
    text: str | Statement,
    formats: Mapping[str, Format | str],
    tensors: Mapping[str, Tensor],
    value: ValueType = INT32,
    **options: Any,
) -> Outcome:
    """Compile for the given operands, evaluate, and check the result against the truth."""
    statement = parse(text) if isinstance(text, str) else text
    lowered = compile_statement(statement, formats, tensors=tensors, value=value, **options)
    target = statement.target
    arrays = {name: each.to_numpy() for name, each in tensors.items()}
    arrays |= {copy.name: arrays[copy.tensor] for copy in lowered.copies}
    truth = evaluate(lowered.results[0], arrays, value)
    assert truth is not None
    images = {name: each.image() for name, each in tensors.items()}
    for copy in lowered.copies:
        images[copy.name] = tensors[copy.tensor].convert(copy.format).image()
    golden = run_golden(lowered.graph, images, {target.tensor: truth.value.shape})
    form = lowered.formats[target.tensor]
    fill = lowered.graph.tensor(target.tensor).fill
    result = Tensor.from_image(
        target.tensor, golden.outputs[target.tensor], form, fill=fill, value=value, computed=True
    )
    assert not golden.flags.range
    assert not golden.flags.capacity
    if not golden.flags.overflow:
        check(result, truth)
    if all(kind is LevelKind.COMPRESSED for kind in form.levels):
        stored = result.entries()[1].astype(np.float64)
        assert not (stored == fill).any() or not form.rank, "an entry equal to the fill is stored"
    return Outcome(lowered, golden, result, truth)


def check(result: Tensor, truth: Truth) -> None:
    """Check a result against the truth, within its bound.

    Where the truth is NaN, it met 0 * inf or inf - inf, which sparsity may leave out.
    """
    found = result.to_numpy().astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = (np.abs(found - truth.value) <= truth.bound) | np.isinf(truth.bound)
    same = (found == truth.value) | np.isnan(truth.value)
    assert (near | same).all(), (found, truth)


MOST_OPERANDS = 7


@st.composite
def statements(draw: st.DrawFn, *functions: str) -> Statement:
    """Terms of factors, under functions and folds, of up to seven tensors, which may repeat."""
    indices = "ijkl"[: draw(st.integers(1, 4))]
    ranks: dict[str, int] = {}
    private = iter("mnop")

    def access(known: str) -> Expr:
        old = sorted(name for name, rank in ranks.items() if rank <= len(known))
        if len(ranks) == MOST_OPERANDS or (old and draw(st.integers(0, 6)) == 0):
            if not old:
                return Constant(1)
            name = draw(st.sampled_from(old))
        else:
            name = "ABCDEFG"[len(ranks)]
            choice = [rank for rank in (0, 1, 1, 2, 2, 3, 4) if rank <= len(known)]
            ranks[name] = draw(st.sampled_from(choice))
        return Access(name, tuple(draw(st.permutations(known))[: ranks[name]]))

    def factor(known: str, depth: int) -> Expr:
        kind = draw(st.sampled_from(KINDS)) if depth else "access"
        match kind:
            case "constant":
                return Constant(draw(st.sampled_from([2, -1, 3, 0, 1])))
            case "unary":
                op = draw(st.sampled_from(["neg", "abs", "relu", *functions]))
                return Unary(op, expression(known, depth - 1))
            case "max" | "min":
                return Binary(kind, expression(known, depth - 1), expression(known, depth - 1))
            case "fold":
                index = next(private, "")
                body = expression(known[-2:] + index, depth - 1)
                if not index or index not in free(body):
                    return body
                return Fold(draw(st.sampled_from(["sum", "max", "min"])), (index,), body)
            case "terms":
                return expression(known, depth - 1)
            case _:
                return access(known)

    def expression(known: str, depth: int) -> Expr:
        terms: list[Expr] = []
        for _ in range(draw(st.sampled_from([1, 1, 2, 3])) if depth else 1):
            factors = draw(st.sampled_from([1, 1, 2, 3]) if depth else st.just(1))
            terms.append(chain("mul", [factor(known, depth) for _ in range(factors)]))
        value, *rest = terms
        for term in rest:
            value = Binary(draw(st.sampled_from(["add", "sub"])), value, term)
        return value

    value = expression(indices, 2)
    if not list(accesses(value)):
        value = Binary("add", value, Access("A", tuple(indices)))
    used = sorted(set(free(value)))
    kept = draw(st.permutations(used))[: draw(st.integers(0, min(4, len(used))))] if used else []
    return Statement(Access("Z", tuple(kept)), value)


KINDS = ("access",) * 8 + ("constant", "unary", "max", "min", "fold", "fold", "terms")


@st.composite
def formats(draw: st.DrawFn, rank: int) -> Format:
    kinds = draw(st.tuples(*[st.sampled_from("sssd")] * rank))
    order = draw(st.permutations(range(rank))) if draw(st.integers(0, 3)) == 0 else range(rank)
    return Format(tuple(map(LevelKind, kinds)), tuple(order))


def value_types() -> st.SearchStrategy[ValueType]:
    return st.sampled_from(list(VALUE_TYPES.values()))


@st.composite
def fills(draw: st.DrawFn, kind: ValueType) -> Number:
    if draw(st.integers(0, 2)):
        return 0
    return draw(st.sampled_from([1, -2, 3, *((math.inf, -math.inf) if kind.is_float else ())]))


@st.composite
def operands(
    draw: st.DrawFn,
    statement: Statement,
    forms: Mapping[str, Format],
    kind: ValueType = INT32,
    chosen: Mapping[str, Number] | None = None,
) -> dict[str, Tensor]:
    """Small random tensors, from empty to full; all sizes are equal where a tensor repeats."""
    names = {access.tensor for access in statement.operands}
    size = st.integers(0, 4)
    if len(names) < len(statement.operands):
        sizes = dict.fromkeys(statement.indices, draw(size))
    else:
        sizes = {index: draw(size) for index in statement.indices}
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tensors: dict[str, Tensor] = {}
    for access in statement.operands:
        shape = tuple(sizes[index] for index in access.indices)
        share = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))
        fill = draw(fills(kind)) if chosen is None else chosen[access.tensor]
        numbers = values(rng, kind, shape)
        array = np.where(rng.random(shape) < share, numbers, float(fill))
        tensors[access.tensor] = Tensor.from_numpy(
            access.tensor, array, forms[access.tensor], fill=fill, value=kind
        )
    return tensors


def values(rng: np.random.Generator, kind: ValueType, shape: tuple[int, ...]) -> np.ndarray:
    """Small integers; for floating point, full mantissas over a spread of exponents."""
    if not kind.is_float:
        return rng.integers(-4, 5, shape).astype(np.float64)
    spread = 30 if kind.exponent == 8 else 4
    return rng.uniform(-2, 2, shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)
