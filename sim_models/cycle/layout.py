"""Offsets in the kernel's memory: one flat array of 64-bit words.

The memory starts with the header.  Unit and edge records, rings, tensor arrays and every
other block are addressed by the offset of their first word.  Offset 0 is never a record,
so 0 means "none".  A value travels as its raw bits, zero-extended; a null ref is `NULL`.
"""

from typing import Protocol


class Memory(Protocol):
    """What a step function sees of the kernel's memory."""

    def __getitem__(self, index: int, /) -> int:
        """Read a word."""
        ...

    def __setitem__(self, index: int, value: int, /) -> None:
        """Write a word."""
        ...


NULL = -1
"""The null ref; as an unsigned word it is `fuseflow.samml.digest.NULL_WORD`."""

# --- header ----------------------------------------------------------------------------

STATUS = 1
"""0 while running; else one of the stop codes below."""
STATUS_UNIT = 2
OVERFLOW = 3
RANGE = 4
CAPACITY = 5
GATED = 6
DIGESTS = 7
LIMIT = 8
QUEUE = 9
QUEUE_HEAD = 10
QUEUE_COUNT = 11
QUEUE_SIZE = 12
HEADER_WORDS = 16

STOP_BROKEN = 1
"""A stream broke the token rules at a unit."""
STOP_ROWS = 2
"""An accumulator's row store must grow."""
STOP_LIMIT = 3
"""A unit would fire past the limit."""
STOP_PAUSED = 4
"""A scan issued the last of its unit's `U_PAUSE` coordinates."""

# --- unit record -----------------------------------------------------------------------

U_KIND = 0
U_LAST = 1
"""Cycle of the last firing; -1 before the first."""
U_FIRINGS = 2
U_QUEUED = 3
U_WAIT = 4
"""Edge that the next firing waits for."""
U_WAIT_EMIT = 5
"""Edge that the emission of the holder waits for."""
U_READ_COUNT = 6
U_BANK = 7
"""Waiting cycles for a bank."""
U_COORDINATE = 8
"""Waiting cycles for the adder at a coordinate."""
U_ENDS = 9
"""Streams that ended here (writers and sinks)."""
U_END = 10
"""Cycle in which the last of them ended."""
U_RANK = 11
U_PORTS = 12
"""Per output port: where its list of edges is, and how long it is."""
U_BUNDLES = 16
"""Per output port: where the fields of the next token stand."""
U_PAUSE = 18
"""A scan pauses after every so many coordinates of a fiber, a power of 2; 0: never."""
U_READS = 20
U_PARAMS = 24
U_STATE = 40
UNIT_WORDS = 56

# State words of a unit with a holder; its fields stand in the bundle of port 0.
H_STATE = U_STATE
H_TIME = U_STATE + 1
"""Complete: the cycle in which it became so.  Free: the cycle in which the last one left."""
H_EMPTY = U_STATE + 2
H_CLOSE = U_STATE + 3
H_USER = U_STATE + 4
"""First state word that the unit's own step may use."""

FREE, INCOMPLETE, COMPLETE = 0, 1, 2

# --- edge record -----------------------------------------------------------------------

E_WRITER = 0
E_READER = 1
E_BASE = 2
E_MASK = 3
E_STRIDE = 4
E_DEPTH = 5
E_LIMIT = 6
"""Tokens that may be known but unpopped: the depth, or all that the ring can store."""
E_LATENCY = 7
E_ISSUED = 8
E_POPPED = 9
E_FIELDS = 10
E_COLUMNS = 11
"""Where the list of each field's position in the writer's bundle is."""
E_ROOM_GATE = 12
E_HEAD_GATE = 13
E_MISSING = 14
E_HEAD_GATED = 15
E_FULL = 16
E_ROOM_GATED = 17
E_ISSUE_DIGEST = 18
E_POP_DIGEST = 19
E_HIGH = 20
E_HIGH_POPS = 21
E_TRACE = 22
EDGE_WORDS = 24

UNBOUNDED = 1 << 62
"""Depth of an edge that never blocks."""

# --- ring slot, also the record of a traced token --------------------------------------

S_READY = 0
S_POP = 1
S_SHAPE = 2
"""``empty << 8 | close``."""
S_FIELDS = 3
