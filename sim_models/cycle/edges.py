"""Issuing to and popping from edges, and who must be looked at again after it."""

from fuseflow.samml.digest import DIGEST_PRIME, DIGEST_START
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import (
    DIGESTS,
    E_BASE,
    E_COLUMNS,
    E_DEPTH,
    E_FIELDS,
    E_HIGH,
    E_HIGH_POPS,
    E_ISSUE_DIGEST,
    E_ISSUED,
    E_LATENCY,
    E_MASK,
    E_POP_DIGEST,
    E_POPPED,
    E_READER,
    E_STRIDE,
    E_TRACE,
    E_WRITER,
    QUEUE,
    QUEUE_COUNT,
    QUEUE_HEAD,
    QUEUE_SIZE,
    S_FIELDS,
    S_POP,
    S_READY,
    S_SHAPE,
    STATUS,
    STATUS_UNIT,
    STOP_BROKEN,
    U_BUNDLES,
    U_PORTS,
    U_QUEUED,
    U_WAIT,
    U_WAIT_EMIT,
    UNBOUNDED,
    Memory,
)

SIGNED_START = DIGEST_START - (1 << 64)
"""`DIGEST_START` as a signed word."""


@compiled
def slot(m: Memory, e: int, n: int) -> int:
    """Return the slot of the n-th token of an edge."""
    return m[e + E_BASE] + (n & m[e + E_MASK]) * m[e + E_STRIDE]


@compiled
def head(m: Memory, u: int, e: int) -> int:
    """Return the slot of an edge's next token; 0, and wait for it, where it is not issued."""
    n = m[e + E_POPPED]
    if n == m[e + E_ISSUED]:
        m[u + U_WAIT] = e
        return 0
    return slot(m, e, n)


@compiled
def wake(m: Memory, u: int, e: int) -> None:
    """Queue a unit if it waits for an edge on which something happened."""
    if m[u + U_QUEUED] == 0 and (m[u + U_WAIT] == e or m[u + U_WAIT_EMIT] == e):
        m[u + U_QUEUED] = 1
        at = m[QUEUE_HEAD] + m[QUEUE_COUNT]
        if at >= m[QUEUE_SIZE]:
            at -= m[QUEUE_SIZE]
        m[m[QUEUE] + at] = u
        m[QUEUE_COUNT] += 1


@compiled
def issue(m: Memory, u: int, port: int, t: int, empty: int, close: int) -> None:
    """Issue a token to every reader of an output port; its fields stand in the bundle."""
    edges = m[u + U_PORTS + 2 * port]
    bundle = m[u + U_BUNDLES + port]
    for k in range(m[u + U_PORTS + 2 * port + 1]):
        _push(m, m[edges + k], t, empty << 8 | close, bundle)


@compiled
def _push(m: Memory, e: int, t: int, shape: int, bundle: int) -> None:
    n = m[e + E_ISSUED]
    m[e + E_ISSUED] = n + 1
    s = slot(m, e, n)
    ready = t + m[e + E_LATENCY]
    columns = m[e + E_COLUMNS]
    m[s + S_READY] = ready
    m[s + S_SHAPE] = shape
    for k in range(m[e + E_FIELDS]):
        m[s + S_FIELDS + k] = m[bundle + m[columns + k]]
    if m[DIGESTS] != 0:
        m[e + E_ISSUE_DIGEST] = (m[e + E_ISSUE_DIGEST] ^ t) * DIGEST_PRIME
    if m[e + E_TRACE] != 0:
        r = m[e + E_TRACE] + n * m[e + E_STRIDE]
        for k in range(m[e + E_STRIDE]):
            m[r + k] = m[s + k]
    wake(m, m[e + E_READER], e)


@compiled
def pop(m: Memory, e: int, t: int) -> None:
    """Pop the head of an edge in cycle t."""
    n = m[e + E_POPPED]
    s = slot(m, e, n)
    m[s + S_POP] = t
    m[e + E_POPPED] = n + 1
    if m[e + E_DEPTH] != UNBOUNDED:
        _occupancy(m, e, n, m[s + S_READY] - m[e + E_LATENCY])
    if m[DIGESTS] != 0:
        shape = m[s + S_SHAPE]
        digest = ((m[e + E_POP_DIGEST] ^ t) * DIGEST_PRIME ^ shape) * DIGEST_PRIME
        if shape < 256:
            for k in range(m[e + E_FIELDS]):
                digest = (digest ^ m[s + S_FIELDS + k]) * DIGEST_PRIME
        m[e + E_POP_DIGEST] = digest
    if m[e + E_TRACE] != 0:
        m[m[e + E_TRACE] + n * m[e + E_STRIDE] + S_POP] = t
    wake(m, m[e + E_WRITER], e)


@compiled
def _occupancy(m: Memory, e: int, n: int, issued: int) -> None:
    """Count the slots taken in the cycle after token n was issued.

    They are known now: the pops up to that cycle are, since token n's own pop came later.
    The ring is at least twice as long as the edge is deep, so their slots still stand.
    """
    popped = m[e + E_HIGH_POPS]
    while popped < n and m[slot(m, e, popped) + S_POP] <= issued:
        popped += 1
    m[e + E_HIGH_POPS] = popped
    m[e + E_HIGH] = max(m[e + E_HIGH], n + 1 - popped)


@compiled
def fail(m: Memory, u: int) -> None:
    """Stop the run: a stream broke the token rules at this unit."""
    m[STATUS] = STOP_BROKEN
    m[STATUS_UNIT] = u
