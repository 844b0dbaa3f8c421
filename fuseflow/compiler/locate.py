"""Iterate-locate: a dense level is indexed by coordinates, not scanned and joined (DESIGN 5.5).

Its operand has every coordinate, so those of the others are enough; the parent reference rides
along to where it is needed.  A level is scanned where nothing else tells which coordinates
there are.
"""

from collections.abc import Sequence

from fuseflow.compiler.builder import Builder, Link, Stream, Wire
from fuseflow.compiler.problem import Problem
from fuseflow.compiler.visit import Cursor
from fuseflow.samml.graph import Extent


def locate(problem: Problem, builder: Builder, scope: Sequence[Stream], cursor: Cursor) -> None:
    """Index a cursor's next level by the innermost coordinate; at the root there is no parent."""
    links = {"crd": Link(scope[-1], ("crd",), ("crd",))}
    index = problem.storage(cursor.access)[cursor.level]
    with builder.table.column(cursor.column):
        if cursor.level:
            parent = builder.lift(cursor.here, scope, cursor.name)
            links["parent"] = builder.role(parent, "parent")
        outputs = builder.add(
            "locate",
            f"locate_{cursor.name}_{index}",
            links,
            {"size": _extent(problem, cursor), "parent": bool(cursor.level)},
        )
    cursor.wire = Wire(outputs["out"], "ref")


def scan(problem: Problem, builder: Builder, scope: Sequence[Stream], cursor: Cursor) -> Stream:
    """Return the stream of all coordinates and references of a cursor's next level."""
    index = problem.storage(cursor.access)[cursor.level]
    with builder.table.column(cursor.column):
        parent = builder.lift(cursor.here, scope, cursor.name)
        outputs = builder.add(
            "scan_dense",
            f"scan_{cursor.name}_{index}",
            {"ref": builder.role(parent, "ref")},
            {"index": index, "size": _extent(problem, cursor)},
        )
    return outputs["out"]


def _extent(problem: Problem, cursor: Cursor) -> Extent:
    tensor = cursor.access.tensor
    return Extent(tensor, problem.formats[tensor].order[cursor.level])
