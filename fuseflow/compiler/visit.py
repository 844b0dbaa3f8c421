"""Which coordinates of a loop variable an expression visits: sets, before any node is built.

An operand's compressed level gives the set of its stored coordinates; a dense level or an operand
that lacks the variable gives every coordinate.  Operations meet or join the sets of their
operands, as the fill algebra says (`fuseflow.compiler.fills`); a constant is its own background
and adds none.
"""

from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from fuseflow.compiler.builder import Stream, Wire
from fuseflow.compiler.expr import Access, Constant
from fuseflow.compiler.plan import Section
from fuseflow.compiler.problem import Problem
from fuseflow.compiler.table import TensorDesc
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.values import Number


@dataclass
class Carrier:
    """Something that rides along joined streams: a reference or a value.

    Attributes
    ----------
    name : str
        Its field in joined bundles.
    wire : Wire or None
        Where it is at hand now.
    nullable : bool
        Whether a reference may be null there (a union has found nothing).
    """

    name: str
    wire: Wire | None = None
    nullable: bool = False

    @property
    def here(self) -> Wire:
        """The wire, which must exist."""
        assert self.wire is not None
        return self.wire


@dataclass(eq=False)
class Cursor(Carrier):
    """The reference of one access, as deep as its levels have been iterated.

    Attributes
    ----------
    access : Access
    column : TensorDesc
    level : int
        The next level.
    origin : Cursor or None
        The cursor of the nest around its section, while that has not begun to run.
    """

    access: Access = field(kw_only=True)
    column: TensorDesc = field(kw_only=True)
    level: int = 0
    origin: "Cursor | None" = None

    @property
    def current(self) -> "Cursor":
        """The cursor that moves for this one now."""
        return self if self.origin is None else self.origin.current

    def begin(self) -> None:
        """Go on from where the nest around has come to."""
        current = self.current
        self.wire, self.level, self.nullable = current.wire, current.level, current.nullable
        self.origin = None


@dataclass(eq=False)
class Applied:
    """An operation; `annihilated` tells which operands' fills decide its result."""

    op: str
    operands: tuple["Node", ...]
    annihilated: tuple[bool, ...]


@dataclass(eq=False)
class Masked:
    """A body at the coordinates of a mask."""

    mask: Cursor
    body: "Node"


@dataclass(eq=False)
class Running:
    """A section before, while, and after it runs, wherever it is used.

    Attributes
    ----------
    section : Section
    body : Node
    name : str
        Of its value in joined bundles.
    background : number
        Its value where it delivers none.
    done : bool
    wire : Wire or None
        Its value, once it has run.
    arriving : tuple of Stream
        Its accumulated coordinate streams, outermost first.
    total : bool
        Whether they have every coordinate.
    """

    section: Section
    body: "Node"
    name: str
    background: Number
    done: bool = False
    wire: Wire | None = None
    arriving: tuple[Stream, ...] = ()
    total: bool = False


@dataclass(eq=False)
class Use(Carrier):
    """The value of a section in one nest of loops, which takes its streams level by level."""

    running: Running = field(kw_only=True)
    taken: int = 0

    @property
    def arriving(self) -> tuple[Stream, ...]:
        """The streams that the next levels take, outermost first."""
        return self.running.arriving[self.taken :]

    @property
    def here(self) -> Wire:
        """The value where it is at hand now."""
        wire = self.wire or self.running.wire
        assert wire is not None
        return wire


Node: TypeAlias = Cursor | Constant | Applied | Masked | Use


@dataclass(frozen=True)
class Leaf:
    """The coordinates of one operand's level, or those that arrive from a section."""

    source: Cursor | Use


@dataclass(frozen=True)
class Meet:
    """The coordinates that both have."""

    left: "Coordinates"
    right: "Coordinates"


@dataclass(frozen=True)
class Join:
    """The coordinates that either has."""

    left: "Coordinates"
    right: "Coordinates"


@dataclass(frozen=True)
class Within:
    """The coordinates of one, with what the other carries there."""

    left: "Coordinates"
    right: "Coordinates"


Coordinates: TypeAlias = Leaf | Meet | Join | Within


@dataclass(frozen=True)
class Visit:
    """The coordinates that an expression visits.

    Attributes
    ----------
    core : Coordinates or None
        None for every coordinate.
    causes : tuple of (Cursor or None)
        Why every one: the dense levels; None for what lacks the variable.
    extras : tuple of Coordinates
        Sets that add no point of interest, but carry what is needed at the others.
    """

    core: Coordinates | None
    causes: tuple[Cursor | None, ...] = ()
    extras: tuple[Coordinates, ...] = ()


EVERYWHERE = Visit(None, (None,))


def following(problem: Problem, cursor: Cursor) -> str | None:
    """Return the index variable of a cursor's next level; None where it has none."""
    storage = problem.storage(cursor.access)
    return storage[cursor.level] if cursor.level < len(storage) else None


def visit(problem: Problem, node: Node, index: str) -> Visit:
    """Return the coordinates of one loop variable that a node visits, each level once."""
    return _settle(_Visiting(problem, index).of(node))


class _Visiting:
    """Visits of the parts of a node, each found once."""

    def __init__(self, problem: Problem, index: str) -> None:
        self.problem = problem
        self.index = index
        self._found: dict[int, Visit] = {}

    def of(self, node: Node) -> Visit:
        if id(node) not in self._found:
            self._found[id(node)] = _tidy(self._of(node))
        return self._found[id(node)]

    def _of(self, node: Node) -> Visit:
        match node:
            case Cursor(current=cursor):
                if following(self.problem, cursor) != self.index:
                    return EVERYWHERE
                dense = self.problem.kind(cursor.access, cursor.level) is LevelKind.DENSE
                if dense and (self.problem.passes.locate or cursor.nullable):
                    return Visit(None, (cursor,))
                return Visit(Leaf(cursor))
            case Applied(_, (operand,)) | Applied(_, (operand, Constant())):
                return self.of(operand)
            case Applied(_, (Constant(), operand)):
                return self.of(operand)
            case Applied(_, (left, right), annihilated):
                return _combine(self.of(left), self.of(right), *annihilated)
            case Masked(mask, Constant()):
                return self.of(mask)
            case Masked(mask, body):
                return _within(self.of(mask), self.of(body))
            case Use(running=running) if running.done:
                return Visit(Leaf(node)) if node.arriving else EVERYWHERE
            case Use(running=running):
                return self._running(running)
            case _:
                raise AssertionError(f"{node} visits nothing by itself")

    def _running(self, running: Running) -> Visit:
        found = self.of(running.body)
        if not running.section.complete or found == EVERYWHERE:
            return found
        core = () if found.core is None else (found.core,)
        return Visit(None, (*found.causes, None), (*core, *found.extras))


def _within(mask: Visit, body: Visit) -> Visit:
    """Visit what a mask stores alone; a body is not needed elsewhere."""
    carried = [*(() if body.core is None else (body.core,)), *body.extras]
    if mask.core is None or not carried:
        return _combine(mask, body, True, False)
    core = Within(mask.core, reduce(Join, carried))
    return Visit(core if _once(core) else _loose(core))


def _combine(left: Visit, right: Visit, left_decides: bool, right_decides: bool) -> Visit:
    extras = (*left.extras, *right.extras)
    cores = tuple(core for core in (left.core, right.core) if core is not None)
    if not (left_decides or right_decides):
        if len(cores) == 2:
            return _join(*cores, extras)
        return Visit(None, (*left.causes, *right.causes), (*extras, *cores))
    if not cores:
        # Dense levels whose parents may be null have fewer than all coordinates. That is enough
        # where they decide the result, and only there.
        sides = ((left_decides, left.causes), (right_decides, right.causes))
        enough = [causes for decides, causes in sides if decides and None not in causes]
        fewest = sorted(enough, key=_certain)[:1] or [(*left.causes, *right.causes)]
        return Visit(None, fewest[0], extras)
    if left_decides and right_decides:
        return _meet(*cores, extras) if len(cores) == 2 else Visit(cores[0], (), extras)
    decides, other = (left, right) if left_decides else (right, left)
    more = () if other.core is None else (other.core,)
    return Visit(decides.core, decides.causes, (*extras, *more))


def _meet(left: Coordinates, right: Coordinates, extras: tuple[Coordinates, ...]) -> Visit:
    """Meet two sets; what occurs in both is met once."""
    have = conjuncts(left)
    more = [each for each in conjuncts(right) if not any(_equal(each, one) for one in have)]
    core = reduce(Meet, more, left)
    return Visit(core if _once(core) else _loose(core), (), extras)


def _join(left: Coordinates, right: Coordinates, extras: tuple[Coordinates, ...]) -> Visit:
    """Join two sets; what both require is required once, outside of the union."""
    if _once(Join(left, right)):
        return Visit(Join(left, right), (), extras)
    sides = conjuncts(left), conjuncts(right)
    common = [each for each in sides[0] if any(_equal(each, one) for one in sides[1])]
    rests = [[each for each in side if not any(_equal(each, one) for one in common)]
             for side in sides]  # fmt: skip
    if not common:
        return Visit(_loose(left, right), (), extras)
    core = reduce(Meet, common)
    if not all(rests):
        return Visit(core, (), (*extras, *rests[0], *rests[1]))
    joined = _join(reduce(Meet, rests[0]), reduce(Meet, rests[1]), extras)
    assert joined.core is not None
    return _meet(core, joined.core, joined.extras)


def _tidy(found: Visit) -> Visit:
    """Keep every cause and extra once: what is shared comes again from each of its readers."""
    extras = {id(e.source) if isinstance(e, Leaf) else id(e): e for e in found.extras}
    causes = {id(cause): cause for cause in found.causes}
    return Visit(found.core, tuple(causes.values()), tuple(extras.values()))


def _settle(found: Visit) -> Visit:
    """Let every level occur once among core and extras, at hand wherever it is needed."""
    core = found.core
    everything = [each for each in (core, *found.extras) if each is not None]
    together = [leaf for each in everything for leaf in leaves(each)]
    if len(_distinct(together)) == len(together):
        return found
    if core is not None:
        shared = {id(leaf.source) for extra in found.extras for leaf in leaves(extra)}
        if any(id(leaf.source) in shared for leaf in _hidden(core)):
            core = _loose(core)
    have = {id(leaf.source) for leaf in leaves(core)} if core is not None else set[int]()
    extras = [leaf for leaf in _distinct(together) if id(leaf.source) not in have]
    return Visit(core, found.causes, tuple(extras))


def _hidden(coordinates: Coordinates, *, joined: bool = False) -> list[Leaf]:
    """Return the levels that are not at hand at some of their coordinates in a set."""
    match coordinates:
        case Leaf():
            return []
        case Meet() | Within() if joined:
            return leaves(coordinates)
        case Meet(left, right) | Within(left, right):
            return [*_hidden(left), *_hidden(right)]
        case Join(left, right):
            return [*_hidden(left, joined=True), *_hidden(right, joined=True)]


def _loose(*sets: Coordinates) -> Coordinates:
    """Return a superset in which every level occurs once and is at hand everywhere."""
    found: list[Coordinates] = [*_distinct([leaf for each in sets for leaf in leaves(each)])]
    return reduce(Join, found)


def _distinct(found: list[Leaf]) -> list[Leaf]:
    return list({id(leaf.source): leaf for leaf in found}.values())


def conjuncts(coordinates: Coordinates) -> list[Coordinates]:
    """Return the sets whose intersection a set is, left to right."""
    match coordinates:
        case Meet(left, right):
            return [*conjuncts(left), *conjuncts(right)]
        case _:
            return [coordinates]


def leaves(coordinates: Coordinates) -> list[Leaf]:
    """Return the levels that a set is made of, left to right."""
    match coordinates:
        case Leaf():
            return [coordinates]
        case Meet(left, right) | Join(left, right) | Within(left, right):
            return [*leaves(left), *leaves(right)]


def _equal(left: Coordinates, right: Coordinates) -> bool:
    match left, right:
        case Leaf(a), Leaf(b):
            return a is b
        case (Meet(a, b), Meet(c, d)) | (Join(a, b), Join(c, d)) | (Within(a, b), Within(c, d)):
            return _equal(a, c) and _equal(b, d)
        case _:
            return False


def _once(coordinates: Coordinates) -> bool:
    """Whether every level occurs once."""
    found = leaves(coordinates)
    return len(_distinct(found)) == len(found)


def _certain(causes: tuple[Cursor | None, ...]) -> bool:
    """Whether some dense level is there for every coordinate."""
    return any(cause is not None and not cause.nullable for cause in causes)
