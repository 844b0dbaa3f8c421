"""Which coordinates of a loop variable an expression visits: sets, before any node is built.

An operand's compressed level gives the set of its stored coordinates; a dense level or an operand
that lacks the variable gives every coordinate.  Operations meet or join the sets of their
operands, as the fill algebra says (`fuseflow.compiler.fills`); a constant is its own background
and adds none.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from fuseflow.compiler.builder import Stream, Wire
from fuseflow.compiler.expr import Access, Constant
from fuseflow.compiler.plan import Section
from fuseflow.compiler.problem import Problem
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


@dataclass
class Cursor(Carrier):
    """The reference of one access, as deep as its levels have been iterated."""

    access: Access = field(default_factory=lambda: Access(""))
    level: int = 0


@dataclass
class Applied:
    """An operation; `annihilated` tells which operands' fills decide its result."""

    op: str
    operands: tuple["Node", ...]
    annihilated: tuple[bool, ...]


@dataclass
class Running:
    """A section before, while, and after it runs.

    Attributes
    ----------
    section : Section
    body : Node
    background : number
        Its value where it delivers none.
    value : Carrier
        Its value, once the section has run.
    done : bool
    arriving : list of Stream
        Accumulated coordinate streams that the next joint levels take, outermost first.
    total : bool
        Whether they have every coordinate.
    """

    section: Section
    body: "Node"
    background: Number
    value: Carrier
    done: bool = False
    arriving: list[Stream] = field(default_factory=list[Stream])
    total: bool = False


Node: TypeAlias = Cursor | Constant | Applied | Running


@dataclass(frozen=True)
class Leaf:
    """The coordinates of one operand's level, or those that arrive from a section."""

    source: Cursor | Running


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


Coordinates: TypeAlias = Leaf | Meet | Join


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
    """Return the coordinates of one loop variable that a node visits."""
    match node:
        case Cursor():
            if following(problem, node) != index:
                return EVERYWHERE
            if problem.kind(node.access, node.level) is LevelKind.DENSE:
                return Visit(None, (node,))
            return Visit(Leaf(node))
        case Applied(_, (operand,)) | Applied(_, (operand, Constant())):
            return visit(problem, operand, index)
        case Applied(_, (Constant(), operand)):
            return visit(problem, operand, index)
        case Applied(_, (left, right), annihilated):
            return _combine(visit(problem, left, index), visit(problem, right, index), *annihilated)
        case Running():
            return _running(problem, node, index)
        case _:
            raise AssertionError(f"{node} visits nothing by itself")


def _running(problem: Problem, node: Running, index: str) -> Visit:
    if node.done:
        return Visit(Leaf(node)) if node.arriving else EVERYWHERE
    found = visit(problem, node.body, index)
    if not node.section.complete or found == EVERYWHERE:
        return found
    core = () if found.core is None else (found.core,)
    return Visit(None, (*found.causes, None), (*core, *found.extras))


def _combine(left: Visit, right: Visit, left_decides: bool, right_decides: bool) -> Visit:
    extras = (*left.extras, *right.extras)
    cores = tuple(core for core in (left.core, right.core) if core is not None)
    if not (left_decides or right_decides):
        if len(cores) == 2:
            return Visit(Join(*cores), (), extras)
        return Visit(None, (*left.causes, *right.causes), (*extras, *cores))
    if not cores:
        # Dense levels whose parents may be null have fewer than all coordinates. That is enough
        # where they decide the result, and only there.
        sides = ((left_decides, left.causes), (right_decides, right.causes))
        enough = [causes for decides, causes in sides if decides and None not in causes]
        fewest = sorted(enough, key=_certain)[:1] or [(*left.causes, *right.causes)]
        return Visit(None, fewest[0], extras)
    if left_decides and right_decides:
        return Visit(Meet(*cores) if len(cores) == 2 else cores[0], (), extras)
    decides, other = (left, right) if left_decides else (right, left)
    more = () if other.core is None else (other.core,)
    return Visit(decides.core, decides.causes, (*extras, *more))


def _certain(causes: tuple[Cursor | None, ...]) -> bool:
    """Whether some dense level is there for every coordinate."""
    return any(cause is not None and not cause.nullable for cause in causes)
