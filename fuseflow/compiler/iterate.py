"""Co-iteration: joining the levels of all operands at one loop variable (DESIGN section 5.4).

Compressed levels are scanned and joined, by intersections where the fill annihilates and unions
where it does not; dense levels are located by the joined coordinates (`fuseflow.compiler.locate`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fuseflow.compiler.builder import Builder, Link, Stream, Wire
from fuseflow.compiler.expr import Constant
from fuseflow.compiler.locate import locate, scan
from fuseflow.compiler.problem import Problem
from fuseflow.compiler.visit import (
    Applied,
    Carrier,
    Coordinates,
    Cursor,
    Join,
    Leaf,
    Masked,
    Meet,
    Node,
    Use,
    Within,
    following,
    visit,
)
from fuseflow.samml.errors import LoweringError
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import ParamValue
from fuseflow.samml.values import Number


@dataclass
class Branch:
    """A stream of coordinates with what it carries.

    Attributes
    ----------
    stream : Stream
        Its first field is the coordinate.
    carried : list of (Carrier, str)
        Carriers and their fields in the stream.
    values : list of number
        Backgrounds of the values among them.
    total : bool
        Whether it has every coordinate of the index universe.
    """

    stream: Stream
    carried: list[tuple[Carrier, str]]
    values: list[Number]
    total: bool = False


class Coiteration:
    """Builds the joined stream of one loop variable after the other."""

    def __init__(self, problem: Problem, builder: Builder, root: Stream) -> None:
        self.problem = problem
        self.builder = builder
        self.root = root

    def iterate(
        self, scope: list[Stream], node: Node, index: str, *, complete: bool = False
    ) -> None:
        """Iterate one more variable and append its joined stream to the scope.

        Parameters
        ----------
        scope : list of Stream
            The joined streams above, outermost first.
        node : Node
            The expression; its cursors move one level down where they have the variable.
        index : str
        complete : bool
            Whether every coordinate must appear (a dense level of the result).
        """
        found = visit(self.problem, node, index)
        sets = [*(() if found.core is None else (found.core,)), *found.extras]
        parts = [self._build(scope, each, index) for each in sets]
        if (complete or found.core is None) and not any(part.total for part in parts):
            causes = (*found.causes, None) if complete else found.causes
            parts[:0] = self._everything(scope, causes, index)
        joined = parts[0]
        for part in parts[1:]:
            joined = self._join("union", joined, part, index)
        scope.append(joined.stream)
        self._descend(scope, node, index, joined)

    def _descend(self, scope: list[Stream], node: Node, index: str, joined: Branch) -> None:
        """Move cursors and arriving sections to the joined stream; locate dense levels."""
        placed: set[int] = set()
        for carrier, name in joined.carried:
            carrier.wire = Wire(joined.stream, name)
            placed.add(id(carrier))
        for each in _leaves(node):
            match each:
                case Cursor() if following(self.problem, each) == index:
                    if id(each) not in placed:
                        locate(self.problem, self.builder, scope, each)
                    each.level += 1
                case Use() if each.arriving:
                    self._take(each, joined)
                case _:
                    pass

    def _take(self, use: Use, joined: Branch) -> None:
        """Go on to the next accumulated stream; only the innermost can be joined with others."""
        taken = use.arriving[0]
        use.taken += 1
        if use.arriving and joined.stream is not taken:
            section = use.running.section
            raise LoweringError(
                f"'{section}' is accumulated at {', '.join(section.kept)}, which nothing else can "
                f"join and no dense result can take: use an order with "
                f"{', '.join(section.kept[:-1])} before {', '.join(section.indices)} "
                "(--auto-convert), store the result compressed, or split the region"
            )

    def _build(self, scope: list[Stream], coordinates: Coordinates, index: str) -> Branch:
        match coordinates:
            case Leaf(Cursor() as cursor):
                if self.problem.kind(cursor.access, cursor.level) is LevelKind.DENSE:
                    return self._scan_dense(scope, cursor, index)
                return self._scan(scope, cursor, index)
            case Leaf(Use() as use):
                last = len(use.arriving) == 1
                carried = [(use, "val")] if last else []
                values = [use.running.background] if last else []
                return Branch(use.arriving[0], [*carried], values, use.running.total)
            case Within(left, right):
                return self._within(scope, left, right, index)
            case Meet(left, right):
                primitive = "intersect"
            case Join(left, right):
                primitive = "union"
            case _:
                raise AssertionError(coordinates)
        return self._join(
            primitive, self._build(scope, left, index), self._build(scope, right, index), index
        )

    def _within(
        self, scope: list[Stream], left: Coordinates, right: Coordinates, index: str
    ) -> Branch:
        """Join with the bare coordinates of the left set first, so that none of them is lost."""
        mask = self._build(scope, left, index)
        bare = Branch(mask.stream, [], [], mask.total)
        joined = self._join("union", bare, self._build(scope, right, index), index)
        return self._join("intersect", mask, joined, index)

    def _scan(self, scope: list[Stream], cursor: Cursor, index: str) -> Branch:
        with self.builder.table.column(cursor.column):
            parent = self.builder.lift(cursor.here, scope, cursor.name)
            outputs = self.builder.add(
                "scan_compressed",
                f"scan_{cursor.name}_{index}",
                {"ref": self.builder.role(parent, "ref")},
                {"index": index, "tensor": cursor.access.tensor, "level": cursor.level},
            )
        cursor.nullable = False
        return Branch(outputs["out"], [(cursor, "ref")], [])

    def _everything(
        self, scope: list[Stream], causes: tuple[Cursor | None, ...], index: str
    ) -> list[Branch]:
        """Scan a dense level that is always there, else the bare index universe.

        Where only dense levels ask for it whose parents may be null, their own coordinates are
        enough: a null parent gives an empty fiber, at which the operand is its fill.
        """
        dense = list({id(each): each for each in causes if each is not None}.values())
        certain = [cursor for cursor in dense if not cursor.nullable]
        if certain:
            return [self._scan_dense(scope, certain[0], index)]
        if None not in causes:
            return [self._scan_dense(scope, cursor, index) for cursor in dense]
        outputs = self.builder.add(
            "scan_dense",
            f"scan_all_{index}",
            {"ref": Link(scope[-1] if scope else self.root)},
            {"index": index, "size": self.problem.extent(index), "bound": False},
        )
        return [Branch(outputs["out"], [], [], total=True)]

    def _scan_dense(self, scope: list[Stream], cursor: Cursor, index: str) -> Branch:
        stream = scan(self.problem, self.builder, scope, cursor)
        # A null parent gives an empty fiber: what is there has references.
        total, cursor.nullable = not cursor.nullable, False
        return Branch(stream, [(cursor, "ref")], [], total=total)

    def _join(self, primitive: str, left: Branch, right: Branch, index: str) -> Branch:
        """Join two branches; what a union may miss becomes nullable."""
        if left.stream == right.stream:
            both = [*left.carried, *right.carried]
            return Branch(left.stream, both, [*left.values, *right.values], left.total)
        links: dict[str, Link] = {}
        params: dict[str, ParamValue] = {}
        for port, side in (("left", left), ("right", right)):
            fields = [name for _, name in side.carried]
            names = [carrier.name for carrier, _ in side.carried]
            links[port] = Link(side.stream, ("crd", *fields), ("crd", *names))
            if primitive == "union" and not side.total:
                for carrier, _ in side.carried:
                    carrier.nullable = True
                if fill := self._fill(side, index):
                    params[port] = fill
        outputs = self.builder.add(primitive, f"{primitive}_{index}", links, params)
        carried = [(carrier, carrier.name) for carrier, _ in (*left.carried, *right.carried)]
        total = (
            left.total and right.total if primitive == "intersect" else left.total or right.total
        )
        return Branch(outputs["out"], carried, [*left.values, *right.values], total)

    def _fill(self, side: Branch, index: str) -> Number:
        """Return what all values of a side are where it is missing."""
        fills = set(side.values)
        if len(fills) > 1:
            raise LoweringError(
                f"values with the fills {', '.join(map(str, sorted(fills)))} are joined at index "
                f"{index}: split the region"
            )
        return fills.pop() if fills else 0


def _leaves(*nodes: Node) -> Iterator[Cursor | Use]:
    """Yield once what may take part in a level: cursors, and sections that have run."""
    seen: set[int] = set()
    rest = list(reversed(nodes))
    while rest:
        node = rest.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        match node:
            case Constant():
                pass
            case Cursor(origin=None):
                yield node
            case Cursor(current=cursor):
                rest.append(cursor)
            case Applied(_, operands):
                rest.extend(reversed(operands))
            case Masked(mask, body):
                rest.extend((body, mask))
            case Use(running=running):
                if running.done:
                    yield node
                else:
                    rest.append(running.body)
