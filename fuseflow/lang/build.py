"""From values to the program that computes them."""

from collections.abc import Iterable, Sequence
from itertools import count, groupby

from fuseflow.compiler.expr import Access, Expr, Fold, Statement, with_children
from fuseflow.compiler.groups import fresh
from fuseflow.compiler.parse import FUNCTIONS, NAME
from fuseflow.compiler.program import Program, Region
from fuseflow.lang.recording import Schedule
from fuseflow.lang.values import Computed, Tensor, is_given
from fuseflow.samml.errors import ParseError, TensorError
from fuseflow.tensor import Tensor as Stored


def program(*results: Computed, **named: Computed) -> Program:
    """Return the program that computes some values.

    It has the statements that they need, in the order in which they were made, with the regions,
    orders, formats and fills that were declared.  Tensors without a name are called T0, T1, ...,
    index variables i0, i1, ...

    Parameters
    ----------
    *results : Computed
    **named : Computed
        Results with the names that they get, after the others.

    Raises
    ------
    TensorError
        There is no result, or one is an operand or of another recording.
    ParseError
        Two operands have one name, the statements of a region are not consecutive, or an order
        names an index variable that no statement has.
    """
    wanted = [*results, *named.values()]
    _check(wanted)
    steps = _steps(wanted)
    names = _Names(operands(*wanted), {value.key: name for name, value in named.items()})
    inputs = _inputs(steps)
    names.tensors |= {each.key: each.name for each in inputs}
    for step in steps:
        names.tensor(step.key)
    statements = tuple(names.statement(step.statement) for step in steps)
    return Program(
        statements,
        tuple(names.tensors[value.key] for value in wanted),
        tuple(_regions(steps, statements)),
        _order(wanted[0].scope.recording, statements),
        {each.name: each.format for each in inputs if each.format is not None},
        {each.name: each.fill for each in inputs if each.fill != 0},
    )


def operands(*results: Computed) -> dict[str, Tensor | Stored]:
    """Return the tensors that values are computed from, by name, in order of appearance.

    Parameters
    ----------
    *results : Computed

    Returns
    -------
    dict
        Stored tensors are those that were given; declared ones have a shape, but no contents.

    Raises
    ------
    ParseError
        Two of them have one name.
    """
    found: dict[str, Tensor | Stored] = {}
    for each in _inputs(_steps(results)):
        tensor = each.stored or each
        if found.setdefault(each.name, tensor) is not tensor:
            raise ParseError(f"two operands are named '{each.name}': rename one")
    return found


class _Names:
    """The final names of tensors and index variables."""

    def __init__(self, inputs: Iterable[str], named: dict[str, str]) -> None:
        for name in named.values():
            if NAME.fullmatch(name) is None or name in FUNCTIONS:
                raise ParseError(
                    f"'{name}' cannot name a result: use ASCII letters, digits and _, and no "
                    "function's name"
                )
            if name in inputs:
                raise ParseError(f"result '{name}' is also an operand: give it its own name")
        self.tensors = dict(named)
        self._taken = {*inputs, *named.values()}
        self._indices: dict[str, str] = {}
        self._count = count()

    def tensor(self, key: str) -> str:
        """Return the name of a tensor; a part of a group is named after its result."""
        if key not in self.tensors:
            whole, _, suffix = key.partition("_")
            if suffix:
                self.tensors[key] = fresh(f"{self.tensor(whole)}_{suffix}", self._taken)
            else:
                free = (f"T{k}" for k in self._count)
                name = next(name for name in free if name not in self._taken)
                self.tensors[key] = fresh(name, self._taken)
        return self.tensors[key]

    def index(self, key: str) -> str:
        """Return the name of an index variable; `einsum` gives single letters alone."""
        return key if is_given(key) else self._indices.setdefault(key, f"i{len(self._indices)}")

    def statement(self, statement: Statement) -> Statement:
        """Return a statement with the final names."""
        target = self._access(statement.target)
        return Statement(target, self._expr(statement.value))

    def _access(self, access: Access) -> Access:
        return Access(self.tensor(access.tensor), tuple(map(self.index, access.indices)))

    def _expr(self, expr: Expr) -> Expr:
        match expr:
            case Access():
                return self._access(expr)
            case Fold(op, indices, body):
                return Fold(op, tuple(map(self.index, indices)), self._expr(body))
            case _:
                return with_children(expr, self._expr)


def _check(wanted: Sequence[Computed]) -> None:
    if not wanted:
        raise TensorError("a program needs a result: give one or more values")
    for value in wanted:
        if not isinstance(value, Computed):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TensorError(
                f"a program computes values, not {type(value).__name__}: give what operations made"
            )
        if value.scope.recording is not wanted[0].scope.recording:
            raise TensorError(
                f"{wanted[0]} and {value} belong to two recordings: make a program of each"
            )


def _steps(wanted: Iterable[Computed]) -> list[Computed]:
    """Return what must be computed, in the order in which it was made."""
    found: dict[str, Computed] = {}
    waiting = list(wanted)
    while waiting:
        step = waiting.pop()
        if step.key not in found:
            found[step.key] = step
            waiting += [each for each in step.operands if isinstance(each, Computed)]
    return sorted(found.values(), key=lambda step: step.serial)


def _inputs(steps: Iterable[Computed]) -> list[Tensor]:
    values = (value for step in steps for value in step.operands)
    return list(dict.fromkeys(value for value in values if isinstance(value, Tensor)))


def _regions(steps: Sequence[Computed], statements: Sequence[Statement]) -> list[Region]:
    regions: list[Region] = []
    seen: set[Schedule] = set()
    start = 0
    for region, members in groupby(steps, key=lambda step: step.scope.region):
        stop = start + len(list(members))
        if region is not None:
            if region in seen:
                raise ParseError(
                    f"statements stand between those of region '{region.name}': make each region "
                    "in one task, or in a recording of its own"
                )
            seen.add(region)
            regions.append(Region(start, stop, _order(region, statements[start:stop]), region.name))
        start = stop
    return regions


def _order(schedule: Schedule, statements: Iterable[Statement]) -> tuple[str, ...]:
    """Return the order without what only other statements of the recording have."""
    used = {index for statement in statements for index in statement.indices}
    return tuple(i for i in schedule.order if i in used or i not in schedule.indices)
