"""Compiling programs: which statements are fused, and how what crosses regions is stored.

A program is cut into regions of consecutive statements; every region becomes one graph, and the
graphs run in order over shared arrays.  Where statements meet in one region nothing is stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fuseflow.compiler.declare import Stored
from fuseflow.compiler.pipeline import Lowered, compile_region
from fuseflow.compiler.program import Program
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import Format
from fuseflow.samml.values import INT32, Number, ValueType

Cut: TypeAlias = tuple[tuple[int, int], ...]
"""A program's regions: positions of their first statements, and behind their last ones."""

FUSIONS = ("none", "regions", "full", "auto")
"""How a program is cut: a graph a statement, as its regions say, one graph, or by cost."""


@dataclass(frozen=True)
class Expected:
    """A tensor that an earlier region stores, before it is there.

    Attributes
    ----------
    name : str
    format : Format
    shape : tuple of int
        Capacities of its modes.
    positions : tuple of int
        Expected stored positions of every level.
    fill : number
    """

    name: str
    format: Format
    shape: tuple[int, ...]
    positions: tuple[int, ...]
    fill: Number


@dataclass(frozen=True)
class Scheduled:
    """A compiled program.

    Attributes
    ----------
    program : Program
    cut : Cut
    regions : tuple of Lowered
        In the order in which they run.
    """

    program: Program
    cut: Cut
    regions: tuple[Lowered, ...]


@dataclass(frozen=True)
class Scheduler:
    """What a program is compiled with.

    Attributes
    ----------
    program : Program
    tensors : mapping of str to Stored
        Real operands.
    formats : mapping of str to Format
        They override those of the program.
    dims, capacities, fills
        See `fuseflow.compiler.compile_statement`.
    value : ValueType
    options : mapping
        Of `compile_region`: ``auto_convert``, ``keep_explicit``, ``budget``, ``floor``,
        ``iteration``.
    """

    program: Program
    tensors: Mapping[str, Stored] = field(default_factory=dict[str, Stored])
    formats: Mapping[str, Format] = field(default_factory=dict[str, Format])
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    capacities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fills: Mapping[str, Number] = field(default_factory=dict[str, Number])
    value: ValueType = INT32
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def compile(self, fusion: str = "regions") -> Scheduled:
        """Compile the program at a fusion granularity.

        Raises
        ------
        LoweringError, CapacityError
            A region cannot be compiled; names the way out.
        """
        cut = self.cut(fusion)
        regions: list[Lowered] = []
        expected: dict[str, Stored] = {}
        for start, stop in cut:
            lowered = self._region(start, stop, expected)
            regions.append(lowered)
            expected |= {each.name: each for each in _expected(lowered)}
        return Scheduled(self.program, cut, tuple(regions))

    def cut(self, fusion: str) -> Cut:
        """Return the regions of a granularity."""
        count = len(self.program.statements)
        match fusion:
            case "none":
                return tuple((at, at + 1) for at in range(count))
            case "full":
                return ((0, count),)
            case "regions":
                marked = [(region.start, region.stop) for region in self.program.regions]
                inside = {at for start, stop in marked for at in range(start, stop)}
                alone = [(at, at + 1) for at in range(count) if at not in inside]
                return tuple(sorted([*marked, *alone]))
            case _:
                raise LoweringError(f"unknown fusion '{fusion}': choose {', '.join(FUSIONS)}")

    def _region(self, start: int, stop: int, expected: Mapping[str, Stored]) -> Lowered:
        program = self.program
        statements = program.statements[start:stop]
        names = {each.tensor for s in statements for each in (s.target, *s.operands)}
        indices = {index for each in statements for index in each.indices}
        later = [name for name in program.ranks
                 if any(position >= stop for position in program.consumers(name))]  # fmt: skip
        stored = [s.target.tensor for s in statements
                  if s.target.tensor in later or program.is_result(s.target.tensor)]  # fmt: skip
        known = {**self.tensors, **expected}
        given = {**self._formats(), **self.formats}
        marked = next((r for r in program.regions if (r.start, r.stop) == (start, stop)), None)
        made = {s.target.tensor for s in statements} - {*stored}
        return compile_region(
            statements,
            stored,
            {name: form for name, form in given.items()
             if name in names and name not in known and name not in made},
            tensors={name: each for name, each in known.items() if name in names - made},
            dims={index: size for index, size in self.dims.items() if index in indices},
            priority=(marked.order if marked else ()) or program.order,
            capacities={n: c for n, c in self.capacities.items() if n in names - made},
            fills={n: f for n, f in {**program.fills, **self.fills}.items() if n in names - made},
            value=self.value,
            **self.options,
        )  # fmt: skip

    def _formats(self) -> dict[str, Format]:
        ranks = self.program.ranks
        return {n: Format.parse(form, ranks[n]) for n, form in self.program.formats.items()}


def _expected(lowered: Lowered) -> Sequence[Expected]:
    found: list[Expected] = []
    for target in lowered.targets:
        declared = lowered.graph.tensor(target.tensor)
        form = lowered.wanted[target.tensor]
        found.append(
            Expected(target.tensor, form, declared.dims, form.volume(declared.dims), declared.fill)
        )
    return found
