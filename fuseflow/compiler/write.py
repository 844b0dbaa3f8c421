"""Dropping what a compressed result does not store, and the writers (DESIGN section 5.5).

Drops go from the innermost level outwards.  A dense level receives complete fibers, so
nothing is dropped from it, nor from a compressed level directly above it.
"""

from collections.abc import Sequence

from fuseflow.compiler.builder import Builder, Link, Stream, Wire
from fuseflow.compiler.expr import Result
from fuseflow.compiler.problem import Problem
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import ParamValue


def write(
    problem: Problem, result: Result, builder: Builder, scope: Sequence[Stream], value: Wire
) -> None:
    """Drop empty fibers and fill values, then write the result.

    Parameters
    ----------
    problem : Problem
    result : Result
    builder : Builder
    scope : sequence of Stream
        The coordinate stream of every result level, outermost first.
    value : Wire
        The result's value, at the innermost level.
    """
    name = result.target.tensor
    levels = problem.formats[name].levels
    indices = problem.storage(result.target)
    streams = list(scope)
    if levels and levels[-1] is LevelKind.COMPRESSED and not problem.keep_explicit:
        links = {
            "crd": Link(streams[-1], ("crd",), ("crd",)),
            "val": builder.role(value, "val"),
        }
        fill = problem.result_fill(result)
        params: dict[str, ParamValue] = {"fill": fill} if fill else {}
        streams[-1] = builder.add("drop_value", f"drop_{indices[-1]}", links, params)["out"]
        value = Wire(streams[-1], "val")
    for level in reversed(range(len(levels) - 1)):
        if levels[level] is levels[level + 1] is LevelKind.COMPRESSED:
            value = _drop_empty(builder, f"drop_{indices[level]}", streams, level, value, levels)
    for level, kind in enumerate(levels):
        if kind is LevelKind.COMPRESSED:
            crd = Link(streams[level], ("crd",), ("crd",))
            where: dict[str, ParamValue] = {"tensor": name, "level": level}
            builder.add("write_crd", f"write_{name}_{indices[level]}", {"crd": crd}, where)
    builder.add("write_val", f"write_{name}", {"val": builder.role(value, "val")}, {"tensor": name})


def _drop_empty(
    builder: Builder,
    name: str,
    streams: list[Stream],
    level: int,
    value: Wire,
    levels: Sequence[LevelKind],
) -> Wire:
    """Thin one level; replaces its stream and all that lie deeper, and returns the value's."""
    stored = [k for k in range(level + 1, len(levels)) if levels[k] is LevelKind.COMPRESSED]
    inner = [Link(streams[k], ("crd",), ("crd",)) for k in stored]
    if value.stream == streams[stored[-1]]:
        inner[-1] = Link(value.stream, ("crd", value.field), ("crd", "val"))
    else:
        inner.append(Link(value.stream, (value.field,), ("val",)))
    heights = tuple(link.stream.type.rank - level - 1 for link in inner)
    links = {
        "outer": Link(streams[level], ("crd",), ("crd",)),
        "signal": Link(streams[level + 1]),
        **{f"inner{k}": link for k, link in enumerate(inner)},
    }
    outputs = builder.add("drop_empty", name, links, {"signal": 1, "heights": heights})
    streams[level] = outputs["outer"]
    for port, k in enumerate(stored):
        streams[k] = outputs[f"inner{port}"]
    return Wire(outputs[f"inner{len(inner) - 1}"], "val")
