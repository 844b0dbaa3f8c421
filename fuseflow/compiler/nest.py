"""The single global nest: nested sums of products as one sum over all of their variables.

Factored iteration gives every sum the loops that it needs (`fuseflow.compiler.plan`), and is the
default.  The global nest runs all loops around one product, as compilers without factoring do.  It
serves orders in which a sum cannot be placed by itself, and comparisons.  What is no sum of
products keeps its place.
"""

from fuseflow.compiler.expr import Expr, Fold, Rewriter, chain, factors, free, walk


def global_nest(expr: Expr) -> Expr:
    """Merge the sums among a sum's factors into it, as products distribute over sums."""
    return Rewriter(_merge)(expr)


def _merge(part: Expr) -> Expr:
    if not (isinstance(part, Fold) and part.op == "sum"):
        return part
    indices = list(part.indices)
    body: list[Expr] = []
    parts = factors(part.body)
    for position, factor in enumerate(parts):
        others = (*parts[:position], *parts[position + 1 :])
        outside = {*indices, *free(part.body), *_bound(*others)}
        if isinstance(factor, Fold) and factor.op == "sum" and not outside & {*factor.indices}:
            indices += factor.indices
            body += factors(factor.body)
        else:
            body.append(factor)
    return Fold("sum", tuple(indices), chain("mul", body), part.owner)


def _bound(*exprs: Expr) -> set[str]:
    """Return the index variables that folds within expressions are over."""
    return {index for part in walk(*exprs) if isinstance(part, Fold) for index in part.indices}
