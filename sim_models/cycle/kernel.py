"""The one kernel: runs units from the queue until nothing more can happen."""

from sim_models.cycle.heap import Words
from sim_models.cycle.jit import compiled, pointer
from sim_models.cycle.layout import (
    QUEUE,
    QUEUE_COUNT,
    QUEUE_HEAD,
    QUEUE_SIZE,
    STATUS,
    U_KIND,
    U_QUEUED,
)
from sim_models.cycle.units import (
    ALU,
    ARRAY,
    DROP_INNER,
    DROP_OUTER,
    DROP_VALUE,
    FILL,
    INTERSECT,
    LOCATE,
    LOOKUP,
    REDUCE,
    REPEAT,
    ROOT,
    ROW_EMIT,
    SCAN_DENSE,
    SCAN_EMIT,
    SINK,
    SOURCE,
    UNARY,
    UNION,
    WRITE_CRD,
    WRITE_VAL,
)
from sim_models.primitives.accumulate import step_emit as row_emit
from sim_models.primitives.accumulate import step_fill as fill
from sim_models.primitives.alu import step as alu
from sim_models.primitives.array import step as array
from sim_models.primitives.drop_empty import step_inner as drop_inner
from sim_models.primitives.drop_empty import step_outer as drop_outer
from sim_models.primitives.drop_value import step as drop_value
from sim_models.primitives.intersect import step as intersect
from sim_models.primitives.locate import step as locate
from sim_models.primitives.reduce import step as reduce
from sim_models.primitives.repeat import step as repeat
from sim_models.primitives.root import step as root
from sim_models.primitives.scan_compressed import step_emit as scan_emit
from sim_models.primitives.scan_compressed import step_lookup as lookup
from sim_models.primitives.scan_dense import step as scan_dense
from sim_models.primitives.sink import step as sink
from sim_models.primitives.source import step as source
from sim_models.primitives.unary import step as unary
from sim_models.primitives.union import step as union
from sim_models.primitives.write_crd import step as write_crd
from sim_models.primitives.write_val import step as write_val


@compiled
def run(words: Words) -> None:
    """Run until no queued unit is left, or a step stops the run."""
    m = pointer(words)
    while m[QUEUE_COUNT] > 0 and m[STATUS] == 0:
        u = m[m[QUEUE] + m[QUEUE_HEAD]]
        m[QUEUE_HEAD] = m[QUEUE_HEAD] + 1 if m[QUEUE_HEAD] + 1 < m[QUEUE_SIZE] else 0
        m[QUEUE_COUNT] -= 1
        m[u + U_QUEUED] = 0
        kind = m[u + U_KIND]
        if kind == ROOT:
            root(m, u)
        elif kind == SOURCE:
            source(m, u)
        elif kind == SINK:
            sink(m, u)
        elif kind == SCAN_DENSE:
            scan_dense(m, u)
        elif kind == LOOKUP:
            lookup(m, u)
        elif kind == SCAN_EMIT:
            scan_emit(m, u)
        elif kind == LOCATE:
            locate(m, u)
        elif kind == ARRAY:
            array(m, u)
        elif kind == REPEAT:
            repeat(m, u)
        elif kind == INTERSECT:
            intersect(m, u)
        elif kind == UNION:
            union(m, u)
        elif kind == ALU:
            alu(m, u)
        elif kind == UNARY:
            unary(m, u)
        elif kind == REDUCE:
            reduce(m, u)
        elif kind == FILL:
            fill(m, u)
        elif kind == ROW_EMIT:
            row_emit(m, u)
        elif kind == DROP_VALUE:
            drop_value(m, u)
        elif kind == DROP_OUTER:
            drop_outer(m, u)
        elif kind == DROP_INNER:
            drop_inner(m, u)
        elif kind == WRITE_CRD:
            write_crd(m, u)
        elif kind == WRITE_VAL:
            write_val(m, u)
