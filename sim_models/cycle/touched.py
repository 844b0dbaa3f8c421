"""The accumulator's values and touched set, and the store of rows that wait for emission.

The touched set is two levels of 32-bit words, as in hardware, so that coordinates come out
in ascending order without sorting.  A finished row moves to the row store as a count and
that many pairs (coordinate, value); its position is a running number, taken modulo the
store's size.
"""

from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import Memory

# Words of an accumulator's block, which fill and emit share.
A_VALS, A_WORDS, A_TOPS, A_TIMES, A_SIZE, A_COUNT = 0, 1, 2, 3, 4, 5
A_STORE, A_MASK, A_HEAD, A_TAIL = 6, 7, 8, 9
ACCUMULATOR_WORDS = 10


@compiled
def is_touched(m: Memory, a: int, key: int) -> bool:
    """Tell whether the present row has touched a coordinate."""
    return m[m[a + A_WORDS] + (key >> 5)] >> (key & 31) & 1 != 0


@compiled
def touch(m: Memory, a: int, key: int) -> None:
    """Mark a coordinate that was not touched."""
    word = key >> 5
    m[m[a + A_WORDS] + word] |= 1 << (key & 31)
    m[m[a + A_TOPS] + (word >> 5)] |= 1 << (word & 31)
    m[a + A_COUNT] += 1


@compiled
def lowest(bits: int) -> int:
    """Return the position of the lowest set bit of a word of 32 bits that is not 0."""
    below = (bits & -bits) - 1
    below = below - (below >> 1 & 0x55555555)
    below = (below & 0x33333333) + (below >> 2 & 0x33333333)
    below = (below + (below >> 4)) & 0x0F0F0F0F
    return (below * 0x01010101 >> 24) & 63


@compiled
def fits(m: Memory, a: int, count: int) -> bool:
    """Tell whether a row of that many pairs fits in the store."""
    return m[a + A_TAIL] - m[a + A_HEAD] + 1 + 2 * count <= m[a + A_MASK] + 1


@compiled
def stored(m: Memory, a: int, position: int) -> int:
    """Return the offset of a word of the store."""
    return m[a + A_STORE] + (position & m[a + A_MASK])


@compiled
def _store(m: Memory, a: int, word: int) -> None:
    m[stored(m, a, m[a + A_TAIL])] = word
    m[a + A_TAIL] += 1


@compiled
def drain(m: Memory, a: int) -> None:
    """Move the touched coordinates and their values to the store, ascending."""
    _store(m, a, m[a + A_COUNT])
    m[a + A_COUNT] = 0
    words, tops = m[a + A_WORDS], m[a + A_TOPS]
    for top in range((m[a + A_SIZE] + 1023) >> 10):
        while m[tops + top] != 0:
            word = top << 5 | lowest(m[tops + top])
            m[tops + top] &= m[tops + top] - 1
            bits = m[words + word]
            m[words + word] = 0
            while bits != 0:
                key = word << 5 | lowest(bits)
                bits &= bits - 1
                _store(m, a, key)
                _store(m, a, m[m[a + A_VALS] + key])


@compiled
def drain_dense(m: Memory, a: int, nothing: int) -> None:
    """Move every coordinate to the store, with a given word where it is not touched."""
    _store(m, a, m[a + A_SIZE])
    m[a + A_COUNT] = 0
    for key in range(m[a + A_SIZE]):
        _store(m, a, key)
        _store(m, a, m[m[a + A_VALS] + key] if is_touched(m, a, key) else nothing)
    for word in range((m[a + A_SIZE] + 31) >> 5):
        m[m[a + A_WORDS] + word] = 0
    for top in range((m[a + A_SIZE] + 1023) >> 10):
        m[m[a + A_TOPS] + top] = 0
