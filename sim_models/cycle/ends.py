"""What writers and sinks share: appending to result arrays, and noting where streams end."""

from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import CAPACITY, U_END, U_ENDS, U_RANK, Memory


@compiled
def note_end(m: Memory, u: int, t: int, shape: int) -> None:
    """Count a stream if this token, fired in cycle t, is its last."""
    if shape & 255 == m[u + U_RANK]:
        m[u + U_ENDS] += 1
        m[u + U_END] = t


@compiled
def append(m: Memory, block: int, count: int, word: int) -> None:
    """Append a word to a result array; one too many is dropped and raises the capacity flag.

    Parameters
    ----------
    m
        Memory.
    block : int
        Offset of the two words that say where the array is and how long it may be.
    count : int
        Offset of the word that counts what is stored.
    word : int
        What to append.
    """
    if m[count] < m[block + 1]:
        m[m[block] + m[count]] = word
        m[count] += 1
    else:
        m[CAPACITY] = 1
