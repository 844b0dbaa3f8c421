"""Compiling programs: which statements are fused, and how what crosses regions is stored.

A program is cut into regions of consecutive statements; every region becomes one graph, and the
graphs run in order over shared arrays.  Where statements meet in one region nothing is stored.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, pairwise, permutations
from math import ceil, isinf, prod
from typing import Any, TypeAlias, TypeVar

from fuseflow.compiler.declare import DEFAULT_POSITIONS, Stored
from fuseflow.compiler.expr import Where, walk
from fuseflow.compiler.fills import Background
from fuseflow.compiler.forecast import expected_positions
from fuseflow.compiler.pipeline import Lowered, compile_region
from fuseflow.compiler.program import Program
from fuseflow.compiler.sums import with_sums
from fuseflow.samml.errors import CapacityError, LoweringError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.values import INT32, Number, ValueType

Cut: TypeAlias = tuple[tuple[int, int], ...]
"""A program's regions: positions of their first statements, and behind their last ones."""

FUSIONS = ("none", "regions", "full", "auto")
"""How a program is cut: a graph a statement, as its regions say, one graph, or by cost."""


MOST_EXPLORED = 720
"""How many loop orders are tried one by one: all of six variables."""

LONGEST = 16
"""Most statements of a region that `auto` looks at."""

HOPELESS = 4.0
"""A region that costs so many times what its statements cost alone is not made longer."""

MOST_REFUSED = 3
"""After so many regions that cannot be one graph no longer one is looked at."""

QUICK = 0.25
"""Effort with which regions are compiled that are only compared."""

FREE_RANK = 3
"""Largest rank at which every mode order is a candidate for what crosses regions."""


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

    @property
    def spread(self) -> tuple[float, ...]:
        """Take the fibers to be of equal lengths."""
        return (1.0,) * self.format.rank


@dataclass(frozen=True)
class Scheduled:
    """A compiled program.

    Attributes
    ----------
    program : Program
    cut : Cut
    regions : tuple of Lowered
        In the order in which they run.
    arranged : mapping of str to Format
        How operands are stored whose mode order was to be chosen.
    """

    program: Program
    cut: Cut
    regions: tuple[Lowered, ...]
    arranged: Mapping[str, Format] = field(default_factory=dict[str, Format])


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
        Of `compile_region`: ``auto_convert``, ``keep_explicit``, ``passes``, ``budget``, ``floor``,
        ``iteration``, ``densities``.
    unordered : frozenset of str
        Dense operands that are stored before anything runs, in the mode order that costs least.
    split : bool
        Make several graphs of a region that cannot be one, as few as it takes.
    """

    program: Program
    tensors: Mapping[str, Stored] = field(default_factory=dict[str, Stored])
    formats: Mapping[str, Format] = field(default_factory=dict[str, Format])
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    capacities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fills: Mapping[str, Number] = field(default_factory=dict[str, Number])
    value: ValueType = INT32
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    unordered: frozenset[str] = frozenset()
    split: bool = False

    def compile(self, fusion: str = "regions") -> Scheduled:
        """Compile the program at a fusion granularity.

        Raises
        ------
        LoweringError, CapacityError
            A region cannot be compiled; names the way out.
        """
        if fusion == "auto":
            return self.candidates(1)[0]
        return self._alone if fusion == "none" else self._cut(self.cut(fusion))

    def candidates(self, count: int) -> list[Scheduled]:
        """Return the best cuts by their forecasts, the best first.

        The cuts of the other granularities are among those that are compared. What crosses
        regions is stored as for single statements while cuts are ranked, and as suits the cut
        when it is compiled.

        Raises
        ------
        LoweringError, CapacityError
            No cut can be compiled; names the reason of the finest.
        """
        alone = self._alone
        quick = {**self.options, "effort": QUICK} | ({"auto_convert": False} if self.split else {})
        spans = _Spans(replace(self, options=quick), alone)
        chosen = dict.fromkeys([spans.best(), *spans.cuts(count)])
        chosen |= dict.fromkeys(self.cut(fusion) for fusion in ("regions", "full"))
        found = [alone]
        for cut in chosen:
            try:
                found.append(self._cut(cut))
            except (LoweringError, CapacityError):
                continue
        ranked = {each.cut: each for each in sorted(found, key=_merit)}
        return list(ranked.values())[:count]

    def in_orders(self) -> Iterator[Scheduled]:
        """Yield the program as one graph in each of its loop orders that can be compiled.

        Raises
        ------
        LoweringError, CapacityError
            There is none.
        """
        whole = (0, len(self.program.statements))
        first = self.compile("full")
        (lowered,) = first.regions
        for order in islice(permutations(lowered.order), MOST_EXPLORED):
            options = {**self.options, "order": order}
            alone = replace(self, options=options)
            try:
                yield alone._cut((whole,))
            except (LoweringError, CapacityError):
                continue

    def cut(self, fusion: str) -> Cut:
        """Return the regions of a granularity that does not depend on cost."""
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
                raise LoweringError(
                    f"unknown fusion '{fusion}': choose {', '.join(FUSIONS)} or tune"
                )

    def _cut(self, cut: Cut) -> Scheduled:
        """Compile the regions of a cut; what crosses them is stored as costs least in all."""
        known: dict[str, Expected] = {}
        chosen: dict[str, Format] = {**self._formats(), **self.formats}
        if cut != self.cut("none"):
            chosen |= self.arranged
        regions: list[Lowered] = []
        made: list[tuple[int, int]] = []
        rest = cut
        while rest:
            lowered, chosen, rest = self._first(rest, known, chosen)
            start, stop = made[-1][1] if made else 0, rest[0][0] if rest else cut[-1][1]
            made.append((start, stop))
            regions.append(lowered)
            known |= _expected(lowered)
        return Scheduled(self.program, tuple(made), tuple(regions), _only(chosen, self.unordered))

    def _first(
        self, cut: Cut, known: Mapping[str, Expected], chosen: Mapping[str, Format]
    ) -> tuple[Lowered, dict[str, Format], Cut]:
        """Compile a cut's first region, or as much of it as can be one graph.

        Returns the graph, how tensors are stored, and the cut of what is left.
        """
        (start, stop), *_ = cut
        try:
            return self._up_to(stop, cut, known, chosen)
        except (LoweringError, CapacityError):
            if not self.split or stop == start + 1:
                raise
        quick = replace(self, options={**self.options, "effort": QUICK})
        # What is part of a region that can be one graph is taken for one that can, too.
        low, high = start + 1, stop - 1
        while low < high:
            middle = (low + high + 1) // 2
            try:
                quick._up_to(middle, cut, known, chosen)
                low = middle
            except (LoweringError, CapacityError):
                high = middle - 1
        return self._up_to(low, cut, known, chosen)

    def _up_to(
        self, end: int, cut: Cut, known: Mapping[str, Expected], chosen: Mapping[str, Format]
    ) -> tuple[Lowered, dict[str, Format], Cut]:
        """Compile the statements of a cut's first region up to one; see `_first`."""
        (start, stop), *later = cut
        scheduler = self
        if self.split and end > start + 1:
            # Rather two graphs than operands that are converted between the loops of one.
            scheduler = replace(self, options={**self.options, "auto_convert": False})
        rest = (*(((end, stop),) if end < stop else ()), *later)
        formats = dict(chosen)
        lowered = scheduler._stored_best(((start, end), *rest), known, formats)
        return lowered, formats, rest

    def _stored_best(
        self, cut: Cut, known: Mapping[str, Expected], chosen: dict[str, Format]
    ) -> Lowered:
        """Compile a cut's first region; choose how its weights and results are stored, too."""
        (start, stop), *_ = cut
        for name in self._arrangeable(start, stop, chosen):
            chosen[name] = self._best_format(((start, stop),), name, known, chosen)
        for name in self._stored(start, stop):
            if name not in chosen and self._is_read(name, stop):
                chosen[name] = self._best_format(cut, name, known, chosen)
        return self.region(start, stop, known, chosen)

    @cached_property
    def arranged(self) -> dict[str, Format]:
        """How the operands are stored whose mode order may be chosen: best for single graphs."""
        return dict(self._alone.arranged) if self.unordered else {}

    @cached_property
    def _alone(self) -> Scheduled:
        """The program as a graph a statement."""
        return self._cut(self.cut("none"))

    def _arrangeable(self, start: int, stop: int, chosen: Collection[str]) -> list[str]:
        """Return the operands of a region whose mode order is still to be chosen."""
        read = (each for part in self.program.statements[start:stop] for each in part.operands)
        names = dict.fromkeys(access.tensor for access in read if len(access.indices) > 1)
        return [name for name in names if name in self.unordered and name not in chosen]

    def _best_format(
        self, cut: Cut, name: str, known: Mapping[str, Expected], chosen: Mapping[str, Format]
    ) -> Format:
        """Return how an operand or a result of a cut's first region is stored best for all."""
        (start, stop), *later = cut
        readers = [span for span in later if self._is_read(name, *span)]
        quick = replace(self, options={**self.options, "effort": QUICK, "budget": None})
        best: tuple[tuple[int, float, float], Format] | None = None
        reason: LoweringError | None = None
        rank = self.program.ranks[name]
        for form in arrangements(rank) if name in self.unordered else candidates(rank):
            if name in self._masked and form.levels[-1:] == (LevelKind.DENSE,):
                continue
            if name in self._masks and LevelKind.COMPRESSED not in form.levels:
                continue
            formats = {**chosen, name: form}
            try:
                made = quick.region(start, stop, known, formats)
            except LoweringError as error:
                reason = reason or error
                continue
            told = {**known, **_expected(made)}
            costs = [made.forecast]
            refused = 0
            for span in readers:
                try:
                    costs.append(quick.region(*span, told, formats).forecast)
                except LoweringError as error:
                    reason = reason or error
                    refused += 1
            if refused and not self.split:
                continue
            cycles, moved = (sum(each) for each in zip(
                *((each.cycles, each.bytes) for each in costs), strict=True))  # fmt: skip
            cost = refused, cycles, moved
            if best is None or cost < best[0]:
                best = cost, form
        if best is None:
            raise reason or LoweringError(
                f"'{name}' is a mask and a single number: give it the modes of what it selects"
            )
        return best[1]

    @cached_property
    def _masks(self) -> set[str]:
        """Return the tensors that others are selected by: they must store a part only."""
        parts = walk(*(statement.value for statement in self.program.statements))
        return {part.mask.tensor for part in parts if isinstance(part, Where)}

    @cached_property
    def _masked(self) -> set[str]:
        """Return the tensors that may have rows which are masked out.

        What is masked out is no value: stored as one, -inf - -inf or 0 / 0 would be met there.
        A result that has a value at every point, such as a sum with a dense tensor, has no such
        rows.
        """
        fills = self._fills()
        found = {name for name, fill in fills.items() if fill is not None and isinf(fill)}
        for statement in self.program.statements:
            target = statement.target.tensor
            lacking = {name: fill for name, fill in fills.items() if fill is not None}
            try:
                fill = Background(lacking, self.value)(with_sums(statement).value)
            except LoweringError:
                fill = 0
            fills[target] = fill
            masks = (part for part in walk(statement.value) if isinstance(part, Where))
            read = {access.tensor for access in statement.operands}
            if fill is not None and (read & found or any(isinf(part.fill) for part in masks)):
                found.add(target)
        return found

    def _fills(self) -> dict[str, Number | None]:
        """Return the fills of operands; None of those that store every point."""
        read = {access.tensor for each in self.program.statements for access in each.operands}
        found: dict[str, Number | None] = {**dict.fromkeys(read, 0), **self.program.fills}
        found |= self.fills
        for name, tensor in self.tensors.items():
            whole = LevelKind.COMPRESSED not in tensor.format.levels
            found[name] = None if whole else tensor.fill
        return found

    def _stored(self, start: int, stop: int) -> list[str]:
        """Return the targets of a region that outlive it."""
        targets = (each.target.tensor for each in self.program.statements[start:stop])
        return [n for n in targets if self.program.is_result(n) or self._is_read(n, stop)]

    def _is_read(self, name: str, start: int, stop: int | None = None) -> bool:
        """Whether a statement of a region, or any from its start on, reads a tensor."""
        end = len(self.program.statements) if stop is None else stop
        return any(start <= position < end for position in self.program.consumers(name))

    def region(
        self,
        start: int,
        stop: int,
        known: Mapping[str, Expected],
        chosen: Mapping[str, Format],
        *,
        convert: bool = True,
    ) -> Lowered:
        """Compile a region, given what earlier ones store and how tensors are stored.

        What crosses regions may be converted, where no order suits how it is stored.
        """
        program = self.program
        statements = program.statements[start:stop]
        stored = self._stored(start, stop)
        targets = {each.target.tensor for each in statements}
        read = {access.tensor for each in statements for access in each.operands} - targets
        tensors = {
            **self.tensors,
            **{name: _arranged(self.tensors[name], chosen[name])
               for name in self.unordered if name in self.tensors and name in chosen},
            **{name: self._within(each) for name, each in known.items()},
        }  # fmt: skip
        # Where cuts are free, regions are compared as if their results could be stored otherwise.
        crossing = {*stored} - {*program.results} if self.split else set[str]()
        settled = program.inputs.keys() - (self.unordered - chosen.keys())
        marked = next((r for r in program.regions if (r.start, r.stop) == (start, stop)), None)
        # An expected size is no bound: the capacity is that of an input of which nothing is known.
        capacities = {
            name: max((DEFAULT_POSITIONS, *each.positions)) for name, each in known.items()
        } | {**self.capacities}
        fills = {**program.fills, **self.fills}
        indices = {index for each in statements for index in each.indices}
        return compile_region(
            statements,
            stored,
            _only(chosen, {*stored, *(name for name in read if name not in tensors)}),
            tensors=_only(tensors, read),
            convertible=(read | crossing) - settled if convert else (),
            dims=_only(self.dims, indices),
            priority=(marked.order if marked else ()) or program.order,
            capacities=_only(capacities, {*read, *stored}),
            fills=_only(fills, read),
            value=self.value,
            **self.options,
        )

    def _within(self, expected: Expected) -> Expected:
        """Return what is expected, but not more than the capacity that was asked for."""
        most = self.capacities.get(expected.name)
        if most is None:
            return expected
        limits = [most] * len(expected.positions) if isinstance(most, int) else most
        return replace(expected, positions=tuple(map(min, expected.positions, limits)))

    def _formats(self) -> dict[str, Format]:
        ranks = self.program.ranks
        return {n: Format.parse(form, ranks[n]) for n, form in self.program.formats.items()}


class _Spans:
    """What spans of statements cost as regions, given how single statements store what crosses.

    Attributes
    ----------
    costs : dict
        Forecast cycles by first statement and the one behind the last.
    """

    def __init__(self, scheduler: Scheduler, alone: Scheduled) -> None:
        self.count = len(scheduler.program.statements)
        known: dict[str, Expected] = {}
        chosen = {**alone.arranged}
        for lowered in alone.regions:
            known |= _expected(lowered)
            chosen |= lowered.wanted
        self.costs = {
            (at, at + 1): lowered.forecast.cycles for at, lowered in enumerate(alone.regions)
        }
        for start in range(self.count):
            apart = self.costs[start, start + 1]
            refused = 0
            for stop in range(start + 2, min(self.count, start + LONGEST) + 1):
                apart += self.costs[stop - 1, stop]
                try:
                    lowered = scheduler.region(start, stop, known, chosen, convert=scheduler.split)
                except (LoweringError, CapacityError):
                    refused += 1
                    if refused == MOST_REFUSED:
                        break
                    continue
                refused = 0
                self.costs[start, stop] = lowered.forecast.cycles
                if lowered.forecast.cycles > HOPELESS * apart:
                    break

    def best(self) -> Cut:
        """Return the cut of the least cost: shortest paths over the places between statements."""
        reached: list[tuple[float, Cut]] = [(0.0, ())]
        for stop in range(1, self.count + 1):
            reached.append(
                min(
                    (reached[start][0] + cost, (*reached[start][1], (start, stop)))
                    for (start, end), cost in self.costs.items()
                    if end == stop
                )
            )
        return reached[-1][1]

    def cuts(self, count: int) -> list[Cut]:
        """Return the cheapest cuts that differ from the best by one place where it is cut."""
        best = self.best()
        places = {start for start, _ in best} - {0}
        found: list[tuple[float, Cut]] = []
        for place in range(1, self.count):
            ends = [0, *sorted(places ^ {place}), self.count]
            cut = tuple(pairwise(ends))
            if all(span in self.costs for span in cut):
                found.append((sum(self.costs[span] for span in cut), cut))
        return [cut for _, cut in sorted(found)][: max(0, count - 1)]


def _merit(scheduled: Scheduled) -> tuple[float, float]:
    """Return what a cut is expected to cost: cycles, then bytes."""
    forecasts = [region.forecast for region in scheduled.regions]
    return sum(each.cycles for each in forecasts), sum(each.bytes for each in forecasts)


V = TypeVar("V")


def _only(mapping: Mapping[str, V], names: Collection[str]) -> dict[str, V]:
    return {name: value for name, value in mapping.items() if name in names}


def candidates(rank: int) -> Iterator[Format]:
    """Yield the formats in which a tensor between regions may be stored, the usual one first."""
    kinds = {
        (LevelKind.DENSE,) * dense + (LevelKind.COMPRESSED,) * (rank - dense)
        for dense in {0, min(rank, 1), rank}
    }
    usual = Format.default(rank)
    yield usual
    for levels in sorted(kinds, key=lambda each: [kind.value for kind in each]):
        orders = permutations(range(rank)) if rank <= FREE_RANK else [tuple(range(rank))]
        for order in orders:
            if (levels, order) != (usual.levels, usual.order):
                yield Format(levels, order)


def arrangements(rank: int) -> Iterator[Format]:
    """Yield dense formats in mode orders: all of a small rank, else those that move one mode in."""
    modes = tuple(range(rank))
    orders = (
        permutations(modes)
        if rank <= FREE_RANK
        else dict.fromkeys((*modes[:at], *modes[at + 1 :], at) for at in reversed(modes))
    )
    for order in orders:
        yield Format((LevelKind.DENSE,) * rank, order)


def _arranged(tensor: Stored, form: Format) -> Expected:
    """Return what a dense tensor is in another mode order."""
    return Expected(tensor.name, form, tensor.shape, form.volume(tensor.shape), tensor.fill)


def _expected(lowered: Lowered) -> dict[str, Expected]:
    """Return what is expected of the results of a region."""
    found: dict[str, Expected] = {}
    for target in lowered.targets:
        name = target.tensor
        declared, form = lowered.graph.tensor(name), lowered.wanted[name]
        positions = lowered.forecast.results[name]
        if form != declared.format:
            entries = positions[-1] if positions else 1.0
            positions = expected_positions(form, declared.dims, entries / prod(declared.dims))
        whole = tuple(ceil(each) for each in positions)
        found[name] = Expected(name, form, declared.dims, whole, declared.fill)
    return found
