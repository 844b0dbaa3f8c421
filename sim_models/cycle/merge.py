"""The merge step that intersect and union share (DESIGN section 2, "Step of a joiner")."""

from sim_models.cycle.edges import pop
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import H_USER, S_FIELDS, S_SHAPE, U_BUNDLES, U_READS, Memory

# State words of a joiner, behind those of the holder.
LEFT_ENDED, RIGHT_ENDED, END_CLOSE = H_USER, H_USER + 1, H_USER + 2

# Bits of a step.
POP_LEFT, POP_RIGHT, HAVE_LEFT, HAVE_RIGHT, DONE, COPY, BROKEN = 1, 2, 4, 8, 16, 32, 64
MATCH = HAVE_LEFT | HAVE_RIGHT


@compiled
def merge(m: Memory, u: int, left: int, right: int) -> int:
    """Decide one step without doing it.

    Parameters
    ----------
    m, u
        Memory and unit.
    left, right : int
        Slots of the heads; 0 for a side that has ended.

    Returns
    -------
    int
        Which sides are popped, which have the step's coordinate, whether the fiber is done or
        is a copied token; above bit 8 the close of a side that ends here or ended before.
    """
    left_empty = m[left + S_SHAPE] >> 8 if left != 0 else 0
    right_empty = m[right + S_SHAPE] >> 8 if right != 0 else 0
    if left_empty >= 2 or right_empty >= 2:
        if left == 0 or right == 0 or m[left + S_SHAPE] != m[right + S_SHAPE]:
            return BROKEN
        return POP_LEFT | POP_RIGHT | COPY | DONE | (m[left + S_SHAPE] & 255) << 8
    has_left, has_right = left != 0 and left_empty == 0, right != 0 and right_empty == 0
    take_left = has_left and (not has_right or m[left + S_FIELDS] <= m[right + S_FIELDS])
    take_right = has_right and (not has_left or m[right + S_FIELDS] <= m[left + S_FIELDS])
    step = 0
    if take_left:
        step |= HAVE_LEFT
    if take_right:
        step |= HAVE_RIGHT
    if take_left or left_empty == 1:
        step |= POP_LEFT
    if take_right or right_empty == 1:
        step |= POP_RIGHT
    close = m[u + END_CLOSE]
    left_ends = step & POP_LEFT != 0 and m[left + S_SHAPE] & 255 > 0
    right_ends = step & POP_RIGHT != 0 and m[right + S_SHAPE] & 255 > 0
    if left_ends:
        close = m[left + S_SHAPE] & 255
    if right_ends:
        if (left_ends or left == 0) and close != m[right + S_SHAPE] & 255:
            return BROKEN
        close = m[right + S_SHAPE] & 255
    elif left_ends and right == 0 and close != m[u + END_CLOSE]:
        return BROKEN
    if (left == 0 or left_ends) and (right == 0 or right_ends):
        step |= DONE
    return step | close << 8


@compiled
def advance(m: Memory, u: int, t: int, step: int, left: int, right: int) -> None:
    """Do on the inputs what a step that fires in cycle t does: pop, and note which sides end."""
    _note_ends(m, u, step, left, right)
    if step & POP_LEFT != 0:
        pop(m, m[u + U_READS], t)
    if step & POP_RIGHT != 0:
        pop(m, m[u + U_READS + 1], t)


@compiled
def _note_ends(m: Memory, u: int, step: int, left: int, right: int) -> None:
    if step & DONE != 0:
        m[u + LEFT_ENDED] = 0
        m[u + RIGHT_ENDED] = 0
        return
    m[u + END_CLOSE] = step >> 8
    if step & POP_LEFT != 0 and m[left + S_SHAPE] & 255 > 0:
        m[u + LEFT_ENDED] = 1
    if step & POP_RIGHT != 0 and m[right + S_SHAPE] & 255 > 0:
        m[u + RIGHT_ENDED] = 1


@compiled
def bundle_fields(
    m: Memory, u: int, step: int, left: int, left_fields: int, right: int, right_fields: int
) -> None:
    """Write the coordinate and the fields of the sides that have it into the bundle."""
    bundle = m[u + U_BUNDLES]
    if step & HAVE_LEFT != 0:
        for k in range(left_fields):
            m[bundle + k] = m[left + S_FIELDS + k]
    if step & HAVE_RIGHT != 0:
        m[bundle] = m[right + S_FIELDS]
        for k in range(1, right_fields):
            m[bundle + left_fields - 1 + k] = m[right + S_FIELDS + k]


@compiled
def bundle_missing(m: Memory, u: int, first: int, count: int, absent: int) -> None:
    """Write what stands for the fields of a missing side into the bundle.

    Parameters
    ----------
    m, u
        Memory and unit.
    first, count : int
        The side's fields in the bundle.
    absent : int
        Offset of the list of their words: null for a ref, the fill for a value.
    """
    for k in range(first, first + count):
        m[m[u + U_BUNDLES] + k] = m[absent + k]
