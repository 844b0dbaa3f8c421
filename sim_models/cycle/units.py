"""The kinds of units: number, how parameters are set up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sim_models.primitives import (
    accumulate,
    alu,
    array,
    drop_empty,
    drop_value,
    intersect,
    locate,
    reduce,
    repeat,
    root,
    scan_compressed,
    scan_dense,
    sink,
    source,
    unary,
    union,
    write_crd,
    write_val,
)

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

(
    ROOT, SOURCE, SINK, SCAN_DENSE, LOOKUP, SCAN_EMIT, LOCATE, ARRAY, REPEAT, INTERSECT, UNION,
    ALU, UNARY, REDUCE, FILL, ROW_EMIT, DROP_VALUE, DROP_OUTER, DROP_INNER, WRITE_CRD, WRITE_VAL,
) = range(21)  # fmt: skip

Setup = Callable[["UnitInstance", "Builder"], tuple[int, ...]]

KINDS: dict[str, tuple[int, Setup]] = {
    "root": (ROOT, root.setup),
    "source": (SOURCE, source.setup),
    "sink": (SINK, sink.setup),
    "scan_dense": (SCAN_DENSE, scan_dense.setup),
    "scan_compressed.lookup": (LOOKUP, scan_compressed.setup_lookup),
    "scan_compressed.emit": (SCAN_EMIT, scan_compressed.setup_emit),
    "locate": (LOCATE, locate.setup),
    "array": (ARRAY, array.setup),
    "repeat": (REPEAT, repeat.setup),
    "intersect": (INTERSECT, intersect.setup),
    "union": (UNION, union.setup),
    "alu": (ALU, alu.setup),
    "unary": (UNARY, unary.setup),
    "reduce": (REDUCE, reduce.setup),
    "accumulate.fill": (FILL, accumulate.setup_fill),
    "accumulate.emit": (ROW_EMIT, accumulate.setup_emit),
    "drop_value": (DROP_VALUE, drop_value.setup),
    "drop_empty.drop_outer": (DROP_OUTER, drop_empty.setup_outer),
    "drop_empty.drop_inner": (DROP_INNER, drop_empty.setup_inner),
    "write_crd": (WRITE_CRD, write_crd.setup),
    "write_val": (WRITE_VAL, write_val.setup),
}
"""By `UnitInstance.kind`."""
