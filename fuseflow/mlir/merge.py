"""Which Einsums become one statement: as few graphs as one would write by hand.

An operation on elements goes to the contraction or the operation whose elements it takes, if nobody
else reads those: ``relu(X * W + b)`` is one statement.  What is folded afterwards stays a
statement of its own.  Equal ones are computed once.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from fuseflow.compiler.expr import (
    Access,
    Expr,
    Fold,
    Rewriter,
    Where,
    children,
    folds,
    free,
    walk,
)
from fuseflow.mlir.definitions import Definition
from fuseflow.mlir.modes import Mode
from fuseflow.mlir.renaming import renamed


def merged(
    definitions: Collection[Definition], results: Collection[str], modes: Mapping[str, Mode]
) -> tuple[list[Definition], dict[str, str]]:
    """Merge definitions.

    Parameters
    ----------
    definitions : collection of Definition
        Each behind those that it reads.
    results : collection of str
        Targets that are read from outside.
    modes : mapping of str to Mode
        Of every index variable.

    Returns
    -------
    list of Definition
        Ordered by the places of their steps, and each behind those that it reads.
    dict of str to str
        For targets that equal an earlier one, its name.
    """
    found, same = _without_copies(definitions, modes)
    needed = [same.get(name, name) for name in results]
    while True:
        uses = Counter(needed)
        uses.update(access.tensor for each in found.values() for access in _reads(each.value))
        pair = _next(found, uses)
        if pair is None:
            break
        producer, consumer = pair
        found[consumer.target] = replace(consumer, value=_inlined(consumer.value, producer))
        del found[producer.target]
    return sorted(found.values(), key=lambda each: each.place), same


def _without_copies(
    definitions: Collection[Definition], modes: Mapping[str, Mode]
) -> tuple[dict[str, Definition], dict[str, str]]:
    found: dict[str, Definition] = {}
    first: dict[str, str] = {}
    same: dict[str, str] = {}
    for each in sorted(definitions, key=lambda each: each.place):
        each = replace(each, value=renamed(each.value, tensors=same))
        known = first.setdefault(_canonical(each, modes), each.target)
        if known == each.target:
            found[each.target] = each
        else:
            same[each.target] = known
    return found, same


def _canonical(definition: Definition, modes: Mapping[str, Mode]) -> str:
    """Print a definition so that equal ones read alike."""
    names = dict.fromkeys(definition.indices)
    for part in walk(definition.value):
        names |= dict.fromkeys(part.indices if isinstance(part, Access) else ())
    numbers = {name: f"i{number}" for number, name in enumerate(names)}
    sizes = ",".join(str(modes[name].size) for name in names)
    return f"{len(definition.indices)} of {sizes}: {renamed(definition.value, numbers)}"


def _reads(expr: Expr) -> list[Access]:
    """Return every access as often as it is written."""
    if isinstance(expr, Access):
        return [expr]
    return [access for child in children(expr) for access in _reads(child)]


def _next(
    found: Mapping[str, Definition], uses: Mapping[str, int]
) -> tuple[Definition, Definition] | None:
    """Return a definition that can go to its only reader, and that."""
    for consumer in found.values():
        for access in _outside(consumer.value):
            producer = found.get(access.tensor)
            if producer is None or uses[access.tensor] > 1 or _selects(producer):
                continue
            if not any(folds(producer.value)) or {*access.indices} == {*free(consumer.value)}:
                return producer, consumer
    return None


def _selects(definition: Definition) -> bool:
    """Whether something is selected: where it is not, what reads it may go on."""
    return any(isinstance(part, Where) for part in walk(definition.value))


def _outside(expr: Expr) -> list[Access]:
    """Return the accesses that no fold is around, and that are no masks."""
    match expr:
        case Access():
            return [expr]
        case Fold():
            inner: tuple[Expr, ...] = ()
        case Where(_, body):
            inner = (body,)
        case _:
            inner = children(expr)
    return [access for child in inner for access in _outside(child)]


def _inlined(expr: Expr, producer: Definition) -> Expr:
    def change(part: Expr) -> Expr:
        if isinstance(part, Access) and part.tensor == producer.target:
            return renamed(producer.value, dict(zip(producer.indices, part.indices, strict=True)))
        return part

    return Rewriter(change)(expr)
