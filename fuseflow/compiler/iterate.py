"""Co-iteration: joining the levels of all operands at one loop variable (DESIGN section 5.4).

Per term, compressed levels are scanned and intersected; dense levels are located by the
joined coordinates (iterate-locate).  Terms are combined by unions on references.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fuseflow.compiler.builder import Builder, Link, Stream, Wire
from fuseflow.compiler.expr import Access
from fuseflow.compiler.problem import Problem
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import Extent


@dataclass
class Carrier:
    """Something that rides along the joined streams of a term: a reference or a value.

    Attributes
    ----------
    name : str
        Its field in joined bundles.
    wire : Wire
        Where it is at hand now.
    nullable : bool
        Whether it may be null there (a union has found nothing).
    """

    name: str
    wire: Wire
    nullable: bool = False


@dataclass
class Cursor(Carrier):
    """The reference of one access, as deep as its levels have been iterated."""

    access: Access = field(default_factory=lambda: Access(""))
    level: int = 0


@dataclass
class Branch:
    """A stream of coordinates with what it carries.

    Attributes
    ----------
    stream : Stream
        Its first field is the coordinate.
    carried : list of (Carrier, str)
        Carriers and their fields in the stream.
    total : bool
        Whether it has every coordinate of the index universe.
    """

    stream: Stream
    carried: list[tuple[Carrier, str]]
    total: bool = False


@dataclass
class TermState:
    """A product under way.

    Attributes
    ----------
    label : str
        Names its value in joined bundles.
    cursors : list of Cursor
        Its factors, left to right.
    value : Carrier or None
        Its value, once a section has computed it.
    arriving : Branch or None
        Accumulated coordinates and values that the next joint level takes.
    """

    label: str
    cursors: list[Cursor]
    value: Carrier | None = None
    arriving: Branch | None = None


class Coiteration:
    """Builds the joined stream of one loop variable after the other."""

    def __init__(self, problem: Problem, builder: Builder, root: Stream) -> None:
        self.problem = problem
        self.builder = builder
        self.root = root

    def iterate(
        self,
        scope: list[Stream],
        terms: Sequence[TermState],
        index: str,
        *,
        complete: bool = False,
    ) -> None:
        """Iterate one more variable and append its joined stream to the scope.

        Parameters
        ----------
        scope : list of Stream
            The joined streams above, outermost first.
        terms : sequence of TermState
            The terms that take part; their cursors move one level down where they have the
            variable.
        index : str
        complete : bool
            Whether every coordinate must appear (a dense level of the result).
        """
        branches = [self._term(scope, term, index) for term in terms]
        parts = [branch for branch in branches if branch is not None]
        if (complete or None in branches) and not any(part.total for part in parts):
            strict = complete or len(terms) > 1
            parts.insert(0, self._universe(scope, terms, index, strict=strict))
        joined = parts[0]
        for part in parts[1:]:
            joined = self._join("union", joined, part, index)
        scope.append(joined.stream)
        placed: set[int] = set()
        for carrier, name in joined.carried:
            carrier.wire = Wire(joined.stream, name)
            placed.add(id(carrier))
        for term in terms:
            for cursor in self._here(term, index):
                if id(cursor) not in placed:
                    self._locate(scope, cursor, index)
                cursor.level += 1
            term.arriving = None

    def _here(self, term: TermState, index: str) -> list[Cursor]:
        return [
            cursor for cursor in term.cursors if term.value is None and self._next(cursor) == index
        ]

    def _next(self, cursor: Cursor) -> str | None:
        storage = self.problem.storage(cursor.access)
        return storage[cursor.level] if cursor.level < len(storage) else None

    def _kind(self, cursor: Cursor) -> LevelKind:
        return self.problem.kind(cursor.access, cursor.level)

    def _extent(self, cursor: Cursor) -> Extent:
        tensor = cursor.access.tensor
        return Extent(tensor, self.problem.formats[tensor].order[cursor.level])

    def _term(self, scope: list[Stream], term: TermState, index: str) -> Branch | None:
        """Intersect the compressed levels of one term; None where it has none."""
        if term.arriving is not None:
            return term.arriving
        joined: Branch | None = None
        for cursor in self._here(term, index):
            if self._kind(cursor) is LevelKind.COMPRESSED:
                part = self._scan(scope, cursor, index)
                joined = part if joined is None else self._join("intersect", joined, part, index)
        return joined

    def _scan(self, scope: list[Stream], cursor: Cursor, index: str) -> Branch:
        parent = self.builder.lift(cursor.wire, scope, cursor.name)
        outputs = self.builder.add(
            "scan_compressed",
            f"scan_{cursor.name}_{index}",
            {"ref": self.builder.role(parent, "ref")},
            {"index": index, "tensor": cursor.access.tensor, "level": cursor.level},
        )
        return Branch(outputs["out"], [(cursor, "ref")])

    def _universe(
        self, scope: list[Stream], terms: Sequence[TermState], index: str, *, strict: bool
    ) -> Branch:
        """Scan a dense level that must be visited anyway, else the bare index universe.

        A null parent would give an empty fiber instead of a complete one; that is harmless
        only where a single product iterates (not `strict`).
        """
        for term in terms:
            for cursor in self._here(term, index):
                if self._kind(cursor) is LevelKind.DENSE and not (strict and cursor.nullable):
                    parent = self.builder.lift(cursor.wire, scope, cursor.name)
                    outputs = self.builder.add(
                        "scan_dense",
                        f"scan_{cursor.name}_{index}",
                        {"ref": self.builder.role(parent, "ref")},
                        {"index": index, "size": self._extent(cursor)},
                    )
                    return Branch(outputs["out"], [(cursor, "ref")], total=True)
        outputs = self.builder.add(
            "scan_dense",
            f"scan_all_{index}",
            {"ref": Link(scope[-1] if scope else self.root)},
            {"index": index, "size": self.problem.extent(index), "bound": False},
        )
        return Branch(outputs["out"], [], total=True)

    def _join(self, primitive: str, left: Branch, right: Branch, index: str) -> Branch:
        """Join two branches; what a union may miss becomes nullable."""
        links: dict[str, Link] = {}
        for port, side in (("left", left), ("right", right)):
            fields = [name for _, name in side.carried]
            names = [carrier.name for carrier, _ in side.carried]
            links[port] = Link(side.stream, ("crd", *fields), ("crd", *names))
        if primitive == "union":
            for side in (left, right):
                for carrier, _ in side.carried:
                    carrier.nullable = carrier.nullable or not side.total
        outputs = self.builder.add(primitive, f"{primitive}_{index}", links)
        carried = [(carrier, carrier.name) for carrier, _ in (*left.carried, *right.carried)]
        return Branch(outputs["out"], carried, left.total or right.total)

    def _locate(self, scope: list[Stream], cursor: Cursor, index: str) -> None:
        """Index a dense level by the joined coordinate; at the root there is no parent."""
        links = {"crd": Link(scope[-1], ("crd",), ("crd",))}
        if cursor.level:
            parent = self.builder.lift(cursor.wire, scope, cursor.name)
            links["parent"] = self.builder.role(parent, "parent")
        outputs = self.builder.add(
            "locate",
            f"locate_{cursor.name}_{index}",
            links,
            {"size": self._extent(cursor), "parent": bool(cursor.level)},
        )
        cursor.wire = Wire(outputs["out"], "ref")
