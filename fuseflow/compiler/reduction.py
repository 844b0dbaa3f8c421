"""Folds: reduce, or an accumulator (DESIGN section 5.4)."""

from collections.abc import Sequence

from fuseflow.compiler.builder import Builder, Link, Stream, Wire
from fuseflow.compiler.plan import Section
from fuseflow.compiler.problem import Problem
from fuseflow.samml.graph import ParamValue
from fuseflow.samml.values import ValueType


def is_wide(section: Section, value: ValueType) -> bool:
    """Whether a section's products and inner sums are wider than its values."""
    return section.op == "sum" and value.wide is not value


def fold(
    problem: Problem,
    builder: Builder,
    scope: Sequence[Stream],
    section: Section,
    value: Wire,
    *,
    dense: bool,
) -> tuple[list[Stream], Wire]:
    """Fold a section's value over its folded variables, innermost first.

    A section that folds nothing drops the zeros of its value (`fuseflow.compiler.drops`).

    Parameters
    ----------
    problem : Problem
    builder : Builder
    scope : sequence of Stream
        The section's streams, outermost first, aligned with its loops.
    section : Section
    value : Wire
        The body's value, at the innermost stream's level.
    dense : bool
        Whether the one kept level must have every coordinate.

    Returns
    -------
    list of Stream
        One coordinate stream per kept variable; the innermost carries ``val`` too.
    Wire
        The folded value, at the innermost kept level.
    """
    if not section.indices:
        return _leave_out(builder, scope[-1], value)
    kept: list[tuple[str, Stream]] = []
    for index, stream in zip(reversed(section.loops), reversed(scope), strict=True):
        params: dict[str, ParamValue] = {} if section.op == "sum" else {"op": section.op}
        last = index == section.loops[0]
        if is_wide(section, problem.value) and not last:
            params["wide"] = True
        if index in section.kept:
            kept.insert(0, (index, stream))
        elif not kept:
            links = {"val": builder.role(value, "val")}
            value = Wire(builder.add("reduce", f"reduce_{index}", links, params)["out"], "val")
        else:
            if dense and last:
                params["mode"] = "dense"
            kept, value = _accumulate(problem, builder, index, kept, value, params)
    return [stream for _, stream in kept], value


def _leave_out(builder: Builder, scope: Stream, value: Wire) -> tuple[list[Stream], Wire]:
    links = {"crd": Link(scope, ("crd",), ("crd",)), "val": builder.role(value, "val")}
    index = scope.type.levels[-1].index
    out = builder.add("drop_value", f"drop_{index}", links)["out"]
    return [out], Wire(out, "val")


def _accumulate(
    problem: Problem,
    builder: Builder,
    index: str,
    kept: list[tuple[str, Stream]],
    value: Wire,
    params: dict[str, ParamValue],
) -> tuple[list[tuple[str, Stream]], Wire]:
    streams = [stream for _, stream in kept]
    links = {
        "crd": Link(streams[-1], ("crd",), ("crd",)),
        "val": builder.role(value, "val"),
    }
    if len(kept) > 1:
        links["outer"] = Link(streams[0], ("crd",), ("crd",))
    shape: dict[str, ParamValue] = {
        "kept": len(kept),
        "size": tuple(problem.extent(name) for name, _ in kept),
    }
    outputs = builder.add("accumulate", f"accumulate_{index}", links, shape | params)
    made = [outputs["outer"], outputs["out"]] if len(kept) > 1 else [outputs["out"]]
    names = [name for name, _ in kept]
    return list(zip(names, made, strict=True)), Wire(outputs["out"], "val")
