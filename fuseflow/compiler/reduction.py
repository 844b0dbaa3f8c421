"""The value of a product, and its sums: reduce, or an accumulator (DESIGN section 5.4)."""

from collections.abc import Sequence

from fuseflow.compiler.builder import Builder, Link, Stream, Wire
from fuseflow.compiler.iterate import TermState
from fuseflow.compiler.problem import Problem
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import ParamValue


def combine(builder: Builder, scope: Sequence[Stream], op: str, a: Wire, b: Wire) -> Wire:
    """Combine two values at the deeper one's level; the other is repeated."""
    deeper = scope[: max(a.rank, b.rank)]
    return builder.alu(op, op, builder.lift(a, deeper, "val"), builder.lift(b, deeper, "val"))


def product(builder: Builder, scope: Sequence[Stream], term: TermState) -> Wire:
    """Load every factor where its last level is and multiply them, left to right."""
    if term.value is not None:
        return term.value.wire
    value: Wire | None = None
    for cursor in term.cursors:
        outputs = builder.add(
            "array",
            f"array_{cursor.name}",
            {"ref": builder.role(cursor.wire, "ref")},
            {"tensor": cursor.access.tensor},
        )
        loaded = Wire(outputs["out"], "val")
        value = loaded if value is None else combine(builder, scope, "mul", value, loaded)
    assert value is not None
    return value


def fold(
    problem: Problem, builder: Builder, scope: Sequence[Stream], section: Sequence[str], value: Wire
) -> tuple[list[Stream], Wire]:
    """Sum a section's value over its reduction variables, innermost first.

    Parameters
    ----------
    problem : Problem
    builder : Builder
    scope : sequence of Stream
        The section's streams, outermost first, aligned with `section`.
    section : sequence of str
    value : Wire
        The product, at the innermost stream's level.

    Returns
    -------
    list of Stream
        One coordinate stream per kept variable; the innermost carries ``val`` too.
    Wire
        The sum, at the innermost kept level.
    """
    kept: list[tuple[str, Stream]] = []
    joint = problem.target.indices
    for index, stream in zip(reversed(section), reversed(scope), strict=True):
        if index in joint:
            kept.insert(0, (index, stream))
        elif not kept:
            outputs = builder.add("reduce", f"reduce_{index}", {"val": builder.role(value, "val")})
            value = Wire(outputs["out"], "val")
        else:
            dense = index == section[0] and problem.result_kind(kept[-1][0]) is LevelKind.DENSE
            kept, value = _accumulate(problem, builder, index, kept, value, dense=dense)
    return [stream for _, stream in kept], value


def _accumulate(
    problem: Problem,
    builder: Builder,
    index: str,
    kept: list[tuple[str, Stream]],
    value: Wire,
    *,
    dense: bool,
) -> tuple[list[tuple[str, Stream]], Wire]:
    streams = [stream for _, stream in kept]
    links = {
        "crd": Link(streams[-1], ("crd",), ("crd",)),
        "val": builder.role(value, "val"),
    }
    if len(kept) > 1:
        links["outer"] = Link(streams[0], ("crd",), ("crd",))
    params: dict[str, ParamValue] = {
        "kept": len(kept),
        "size": tuple(problem.extent(name) for name, _ in kept),
    }
    if dense:
        params["mode"] = "dense"
    outputs = builder.add("accumulate", f"accumulate_{index}", links, params)
    made = [outputs["outer"], outputs["out"]] if len(kept) > 1 else [outputs["out"]]
    names = [name for name, _ in kept]
    return list(zip(names, made, strict=True)), Wire(outputs["out"], "val")
