"""When a unit fires: heads, gates, room and hazards, and what its waiting is charged to.

A waiting cycle is charged to the first that holds: a needed head missing, a gate on a
head, no room, a gate on room, a hazard; to the first such edge in port order.
"""

from fuseflow.samml.gates import HEAD_PERIOD, ROOM_PERIOD
from sim_models.cycle.edges import issue, slot
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import (
    COMPLETE,
    E_DEPTH,
    E_FULL,
    E_HEAD_GATE,
    E_HEAD_GATED,
    E_ISSUED,
    E_LIMIT,
    E_MISSING,
    E_POPPED,
    E_ROOM_GATE,
    E_ROOM_GATED,
    FREE,
    GATED,
    H_CLOSE,
    H_EMPTY,
    H_STATE,
    H_TIME,
    INCOMPLETE,
    LIMIT,
    S_POP,
    S_READY,
    STATUS,
    STATUS_UNIT,
    STOP_LIMIT,
    STOP_PAUSED,
    U_FIRINGS,
    U_LAST,
    U_PAUSE,
    U_PORTS,
    U_READ_COUNT,
    U_READS,
    U_WAIT,
    U_WAIT_EMIT,
    Memory,
)


@compiled
def room_known(m: Memory, u: int, writes: int) -> int:
    """Return the first edge of some output ports whose room is not known yet; else 0."""
    for port in range(2):
        if writes >> port & 1:
            edges = m[u + U_PORTS + 2 * port]
            for k in range(m[u + U_PORTS + 2 * port + 1]):
                e = m[edges + k]
                if m[e + E_ISSUED] - m[e + E_POPPED] >= m[e + E_LIMIT]:
                    return e
    return 0


@compiled
def room_from(m: Memory, e: int, back: int) -> int:
    """Return the first cycle in which there is room for an edge's token ``issued - back``."""
    n = m[e + E_ISSUED] - back - m[e + E_DEPTH]
    return m[slot(m, e, n) + S_POP] + 1 if n >= 0 else 0


@compiled
def fire(m: Memory, u: int, needs: int, writes: int, hazard: int, cause: int) -> int:
    """Return the cycle of the unit's next firing, and count it; -1 where it is not known yet.

    Parameters
    ----------
    m, u
        Memory and unit.
    needs, writes : int
        Bit sets of the input ports whose heads and the output ports whose room it needs.
    hazard, cause : int
        The first cycle that a hazard permits, and the unit word that its waiting counts in.
    """
    for k in range(m[u + U_READ_COUNT]):
        e = m[u + U_READS + k]
        if needs >> k & 1 and m[e + E_POPPED] == m[e + E_ISSUED]:
            m[u + U_WAIT] = e
            return -1
    e = room_known(m, u, writes)
    if e != 0:
        m[u + U_WAIT] = e
        return -1
    t = _heads(m, u, needs)
    if m[GATED] != 0:
        t = _gated(m, u, needs, writes, 0, t, hazard, cause)
    else:
        t = _rooms(m, u, writes, 0, t)
        if hazard > t:
            m[u + cause] += hazard - t
            t = hazard
    return _fired(m, u, t)


@compiled
def _fired(m: Memory, u: int, t: int) -> int:
    if t > m[LIMIT]:
        m[STATUS] = STOP_LIMIT
        m[STATUS_UNIT] = u
        return -1
    m[u + U_LAST] = t
    m[u + U_FIRINGS] += 1
    return t


@compiled
def _heads(m: Memory, u: int, needs: int) -> int:
    """Return the first cycle after the last firing in which all needed heads are there."""
    t = m[u + U_LAST] + 1
    for k in range(m[u + U_READ_COUNT]):
        if needs >> k & 1:
            e = m[u + U_READS + k]
            ready = m[slot(m, e, m[e + E_POPPED]) + S_READY]
            if ready > t:
                m[e + E_MISSING] += ready - t
                t = ready
    return t


@compiled
def _rooms(m: Memory, u: int, writes: int, back: int, t: int) -> int:
    """Return the first cycle from t on with room everywhere, charging the wait."""
    for port in range(2):
        if writes >> port & 1:
            edges = m[u + U_PORTS + 2 * port]
            for k in range(m[u + U_PORTS + 2 * port + 1]):
                e = m[edges + k]
                room = room_from(m, e, back)
                if room > t:
                    m[e + E_FULL] += room - t
                    t = room
    return t


@compiled
def blocked(m: Memory, u: int, writes: int, back: int, t: int) -> int:
    """Return the edge word that counts a cycle without room or with a closed gate; else 0."""
    gated = 0
    for port in range(2):
        if writes >> port & 1:
            edges = m[u + U_PORTS + 2 * port]
            for k in range(m[u + U_PORTS + 2 * port + 1]):
                e = m[edges + k]
                if room_from(m, e, back) > t:
                    return e + E_FULL
                if gated == 0 and not m[e + E_ROOM_GATE] >> (t % ROOM_PERIOD) & 1:
                    gated = e + E_ROOM_GATED
    return gated


@compiled
def _head_gate(m: Memory, u: int, needs: int, t: int) -> int:
    for k in range(m[u + U_READ_COUNT]):
        e = m[u + U_READS + k]
        if needs >> k & 1 and not m[e + E_HEAD_GATE] >> (t % HEAD_PERIOD) & 1:
            return e + E_HEAD_GATED
    return 0


@compiled
def _gated(
    m: Memory, u: int, needs: int, writes: int, back: int, t: int, hazard: int, cause: int
) -> int:
    """Search the firing cycle from t on, where all heads are there, cycle by cycle."""
    while True:
        charged = _head_gate(m, u, needs, t)
        if charged == 0:
            charged = blocked(m, u, writes, back, t)
        if charged == 0 and t < hazard:
            charged = u + cause
        if charged == 0:
            return t
        m[charged] += 1
        t += 1


@compiled
def pauses(m: Memory, u: int, sent: int) -> bool:
    """Stop the run where a scan that has sent so many coordinates of a fiber is to pause."""
    if m[u + U_PAUSE] == 0 or sent & (m[u + U_PAUSE] - 1) != 0:
        return False
    m[STATUS] = STOP_PAUSED
    m[STATUS_UNIT] = u
    return True


# --- the holder of joiners and filters -------------------------------------------------


@compiled
def settle(m: Memory, u: int) -> None:
    """Emit a complete held token as soon as its cycle is known; not a firing."""
    if m[u + H_STATE] != COMPLETE:
        return
    e = room_known(m, u, 1)
    m[u + U_WAIT_EMIT] = e
    if e != 0:
        return
    t = m[u + H_TIME] + 1
    if m[GATED] != 0:
        while blocked(m, u, 1, 0, t) != 0:
            t += 1
    else:
        edges = m[u + U_PORTS]
        for k in range(m[u + U_PORTS + 1]):
            t = max(t, room_from(m, m[edges + k], 0))
    issue(m, u, 0, t, m[u + H_EMPTY], m[u + H_CLOSE])
    m[u + H_STATE] = FREE
    m[u + H_TIME] = t


@compiled
def fire_insert(m: Memory, u: int, needs: int) -> int:
    """Return the cycle of a step that inserts into the holder; -1 where not known yet.

    An incomplete held token is pushed out in that cycle, which needs room; a complete one
    must have left in that cycle or before.
    """
    state = m[u + H_STATE]
    if state == COMPLETE:
        m[u + U_WAIT] = m[u + U_WAIT_EMIT]
        return -1
    if state == INCOMPLETE:
        t = fire(m, u, needs, 1, 0, 0)
        if t >= 0:
            issue(m, u, 0, t, m[u + H_EMPTY], m[u + H_CLOSE])
        return t
    t = _heads(m, u, needs)
    left = m[u + H_TIME]
    if m[GATED] != 0:
        while True:
            charged = _head_gate(m, u, needs, t)
            if charged == 0 and t < left:
                charged = blocked(m, u, 1, 1, t)
            if charged == 0:
                break
            m[charged] += 1
            t += 1
    elif left > t:
        t = _rooms(m, u, 1, 1, t)
    return _fired(m, u, t)


@compiled
def hold(m: Memory, u: int, t: int, empty: int, close: int, state: int) -> None:
    """Put the token whose fields stand in the bundle into the holder."""
    m[u + H_STATE] = state
    m[u + H_TIME] = t
    m[u + H_EMPTY] = empty
    m[u + H_CLOSE] = close


@compiled
def complete(m: Memory, u: int, t: int, close: int) -> None:
    """Mark the held token complete in place."""
    hold(m, u, t, m[u + H_EMPTY], close, COMPLETE)
