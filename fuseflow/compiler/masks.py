"""Mask pushing: a sampled product computes only sampled entries (DESIGN section 5.5).

``M(i,j) * sum[k](B(i,k) * C(k,j))`` visits the coordinates of M alone while k is innermost.  An
order that has k outside of j accumulates whole rows first; there the factor goes into the sum,
which it may as products distribute over sums, and masks it from inside.
"""

from collections.abc import Iterable, Sequence

from fuseflow.compiler.expr import Binary, Expr, Fold, Rewriter, chain, factors, free


def push_masks(expr: Expr, order: Sequence[str]) -> Expr:
    """Take factors into the sums beside them where a loop order asks for it.

    Parameters
    ----------
    expr : Expr
        With every sum written as a fold.
    order : sequence of str
        The loop order.
    """
    rank = {index: position for position, index in enumerate(order)}

    def push(part: Expr) -> Expr:
        if not (isinstance(part, Binary) and part.op == "mul"):
            return part
        parts = list(factors(part))
        pushed = _push(parts, rank)
        return part if pushed is None else chain("mul", pushed)

    return Rewriter(push)(expr)


def _push(parts: list[Expr], rank: dict[str, int]) -> list[Expr] | None:
    """Push every mask of a product; None where there is none."""
    changed = False
    number = 0
    while number < len(parts):
        fold = parts[number]
        masks = list(_masks(parts, number, rank))
        if isinstance(fold, Fold) and masks:
            changed = True
            merged = _into(fold, number, parts, masks)
            first = min(number, *masks)
            parts = [part for k, part in enumerate(parts) if k not in (number, *masks)]
            parts.insert(first, merged)
            number = 0
        else:
            number += 1
    return parts if changed else None


def _masks(parts: Sequence[Expr], number: int, rank: dict[str, int]) -> Iterable[int]:
    """Yield the factors that have kept variables of a sum alone, one below its outermost own."""
    fold = parts[number]
    if not (isinstance(fold, Fold) and fold.op == "sum"):
        return
    outermost = min(rank[index] for index in fold.indices)
    kept = {index for index in free(fold) if rank[index] > outermost}
    for k, part in enumerate(parts):
        inside = {*free(part)} <= {*free(fold)} and kept & {*free(part)}
        if k != number and inside and not _captures(fold, part):
            yield k


def _captures(fold: Fold, part: Expr) -> bool:
    """Whether a variable of one of the two would be taken for one of the other."""
    bound = {*fold.indices, *(part.indices if isinstance(part, Fold) else ())}
    return bool(
        bound & {*free(part), *free(fold)}
        or (isinstance(part, Fold) and {*fold.indices} & {*part.indices})
    )


def _into(fold: Fold, number: int, parts: Sequence[Expr], masks: Sequence[int]) -> Fold:
    """Return a sum with masks among its factors, in their order; sums among them join it."""
    indices: list[str] = []
    body: list[Expr] = []
    for k in sorted((number, *masks)):
        part = parts[k]
        if isinstance(part, Fold) and part.op == "sum":
            indices += part.indices
            body += factors(part.body)
        else:
            body.append(part)
    return Fold("sum", tuple(dict.fromkeys(indices)), chain("mul", body), fold.owner)
