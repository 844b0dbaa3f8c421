"""Capacities: what the tile reserves for every index and tensor."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from fuseflow.compiler.expr import Access
from fuseflow.compiler.problem import Problem
from fuseflow.samml.errors import CapacityError, LoweringError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.graph import LARGEST_SIZE, Role, TensorDecl
from fuseflow.samml.values import Number

DEFAULT_DIM = 1024
DEFAULT_POSITIONS = 65536

Capacity: TypeAlias = "int | Sequence[int]"
"""Positions of the innermost level, or of every level."""


class Stored(Protocol):
    """What the compiler reads of a stored tensor."""

    @property
    def name(self) -> str:
        """Its name in the statement."""
        ...

    @property
    def format(self) -> Format:
        """How it is stored."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode."""
        ...

    @property
    def positions(self) -> tuple[int, ...]:
        """Stored positions of every level."""
        ...

    @property
    def spread(self) -> tuple[float, ...]:
        """Mean square over squared mean of the fiber lengths of every level."""
        ...

    @property
    def fill(self) -> Number:
        """The value of entries that are not stored."""
        ...


@dataclass(frozen=True)
class Renamed:
    """A stored tensor's copy in another format, before it is made.

    Its positions bound those that the copy will have: every level at most the entries that the
    original stores, or the product of its sizes.
    """

    tensor: Stored
    name: str
    format: Format

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode."""
        return self.tensor.shape

    @property
    def spread(self) -> tuple[float, ...]:
        """Take the fibers to be of equal lengths."""
        return (1.0,) * self.format.rank

    @property
    def fill(self) -> Number:
        """The value of entries that are not stored."""
        return self.tensor.fill

    @property
    def positions(self) -> tuple[int, ...]:
        """Bound the stored positions of every level."""
        entries = max(self.tensor.positions[-1:], default=1)
        return _default_positions(self.format, [max(size, 1) for size in self.shape], entries)


@dataclass(frozen=True)
class Sizes:
    """Everything that is known about sizes at compile time.

    Attributes
    ----------
    tensors : mapping of str to Stored
        Real operands, by name.
    dims : mapping of str to int
        Capacity of index variables.
    capacities : mapping of str to Capacity
        Positions of tensors.
    densities : mapping of str to float
        Stored share of operands of which nothing else is known.
    """

    tensors: Mapping[str, Stored] = field(default_factory=dict[str, Stored])
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    capacities: Mapping[str, Capacity] = field(default_factory=dict[str, Capacity])
    densities: Mapping[str, float] = field(default_factory=dict[str, float])


def index_sizes(problem: Problem, sizes: Sizes) -> dict[str, int]:
    """Return the capacity of every index variable.

    Raises
    ------
    LoweringError
        Two operands disagree about the size of an index, or a name is unknown.
    CapacityError
        An operand exceeds a capacity that was asked for.
    """
    _check_names(problem, sizes)
    names = {index: problem.origin.get(index, index) for index in problem.indices}
    dims = {index: sizes.dims[name] for index, name in names.items() if name in sizes.dims}
    found: dict[str, tuple[int, Access]] = {}
    for access in problem.operands:
        tensor = sizes.tensors.get(access.tensor)
        if tensor is None:
            continue
        for index, size in zip(access.indices, tensor.shape, strict=True):
            other, first = found.setdefault(index, (size, access))
            # What an earlier region stores is known by its capacity, which is never 0.
            if max(other, 1) != max(size, 1):
                raise LoweringError(
                    f"index {index} has size {other} in {first} but {size} in {access}"
                )
            if size > dims.get(index, size):
                raise CapacityError(
                    f"index {index}: capacity {dims[index]} is below its size {size} in "
                    f"{access}; raise dims['{index}'] (--dim)"
                )
    for index, size in dims.items():
        if not 1 <= size <= LARGEST_SIZE:
            raise CapacityError(f"index {index}: capacity {size} is not in 1..{LARGEST_SIZE}")
    known = {index: max(size, 1) for index, (size, _) in found.items()}
    return {index: dims.get(index, known.get(index, DEFAULT_DIM)) for index in problem.indices}


def _check_names(problem: Problem, sizes: Sizes) -> None:
    for what, names, known in (
        # Statements that are fused do not keep all of their variables.
        ("index", () if problem.origin else sizes.dims, problem.indices),
        ("tensor", [*sizes.tensors, *sizes.capacities], problem.formats),
    ):
        unknown = [name for name in names if name not in known]
        if unknown:
            raise LoweringError(f"'{problem}' has no {what} '{unknown[0]}'")


def declare(problem: Problem, sizes: Sizes, indices: Mapping[str, int]) -> tuple[TensorDecl, ...]:
    """Declare every operand in order of appearance, then the results.

    A tensor that is given has exactly the capacity that it needs; otherwise a compressed level has
    as many positions as its dims allow, at most `DEFAULT_POSITIONS` or the capacity given.
    """
    unique = {access.tensor: access for access in problem.operands}
    inputs = [
        _declare(problem, access, Role.INPUT, problem.fills.get(name, 0), sizes, indices)
        for name, access in unique.items()
    ]
    results = [
        _declare(problem, each.target, Role.RESULT, problem.result_fill(each), sizes, indices)
        for each in problem.results
    ]
    return (*inputs, *results)


def _declare(
    problem: Problem,
    access: Access,
    role: str,
    fill: Number,
    sizes: Sizes,
    indices: Mapping[str, int],
) -> TensorDecl:
    name = access.tensor
    form = problem.formats[name]
    # One tensor may be accessed under several index names: the largest capacity holds for all.
    uses = [other for other in problem.operands if other.tensor == name] or [access]
    dims = tuple(max(indices[use.indices[mode]] for use in uses) for mode in range(form.rank))
    given = sizes.capacities.get(name)
    tensor = sizes.tensors.get(name)
    if given is not None and not isinstance(given, int):
        positions = tuple(given)
        if len(positions) != form.rank:
            raise CapacityError(
                f"tensor '{name}': {len(positions)} capacities for {form.rank} levels; give one "
                "for every level, or one for the last"
            )
    elif tensor is not None and given is None:
        positions = tuple(max(count, 1) for count in tensor.positions)
    else:
        positions = _default_positions(form, dims, given or DEFAULT_POSITIONS)
    if tensor is not None:
        _check_fit(name, tensor.positions, positions)
    return TensorDecl(name, role, form, dims, positions, fill)


def _default_positions(form: Format, dims: Sequence[int], limit: int) -> tuple[int, ...]:
    """Bound every level by its dims; compressed ones by `limit` too."""
    positions: list[int] = []
    above = 1
    for mode, kind in zip(form.order, form.levels, strict=True):
        above *= dims[mode]
        if kind is LevelKind.COMPRESSED:
            above = min(above, limit)
        positions.append(above)
    return tuple(positions)


def _check_fit(name: str, needed: Iterable[int], positions: Iterable[int]) -> None:
    for level, (need, have) in enumerate(zip(needed, positions, strict=True)):
        if need > have:
            raise CapacityError(
                f"tensor '{name}': level {level} needs {need} positions, capacity is {have}; raise "
                f"capacities['{name}'] (--capacity)"
            )
