"""The filter step of drop_value and drop_empty (DESIGN section 2, "Filter")."""

from sim_models.cycle.firing import complete, fire, fire_insert, hold
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import COMPLETE, H_STATE, INCOMPLETE, S_FIELDS, U_BUNDLES, Memory


@compiled
def drop(m: Memory, u: int, needs: int, height: int, close: int) -> int:
    """Fire the step that drops a token; return its cycle, -1 if not known yet."""
    if close > height and m[u + H_STATE] != INCOMPLETE:
        t = fire_insert(m, u, needs)
        if t >= 0:
            hold(m, u, t, height + 1, close, COMPLETE)
        return t
    t = fire(m, u, needs, 0, 0, 0)
    if t >= 0 and close > height:
        complete(m, u, t, close)
    return t


@compiled
def keep(m: Memory, u: int, needs: int, height: int, shape: int) -> int:
    """Fire the step that keeps a token; the caller writes its fields into the bundle."""
    t = fire_insert(m, u, needs)
    if t >= 0:
        close = shape & 255
        hold(m, u, t, shape >> 8, close, INCOMPLETE if close == height else COMPLETE)
    return t


@compiled
def copy_fields(m: Memory, u: int, s: int, first: int, count: int) -> None:
    """Copy the fields of a slot into the bundle, from a given position on."""
    for k in range(count):
        m[m[u + U_BUNDLES] + first + k] = m[s + S_FIELDS + k]
