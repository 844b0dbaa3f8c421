"""Digests of what happens on an edge, so that long runs are compared in full but kept small.

Each edge has two 64-bit digests.  At every issue in cycle t: ``issue = step(issue, t)``.  At
every pop in cycle t of a token with n fields::

    pop = step(pop, t); pop = step(pop, empty << 8 | close); pop = step(pop, field) for each field

The fields are skipped where ``empty`` > 0.  A field enters as unsigned 64 bits: coordinates
and positions as they are, values as their raw bits, a null ref as `NULL_WORD`.
The step is that of the FNV-1a hash (RFC 9923) on 64-bit words.
"""

DIGEST_START = 0xCBF29CE484222325
DIGEST_PRIME = 0x100000001B3
NULL_WORD = 0xFFFF_FFFF_FFFF_FFFF
MASK = 0xFFFF_FFFF_FFFF_FFFF


def step(digest: int, word: int) -> int:
    """Mix one unsigned 64-bit word into a digest."""
    return ((digest ^ word) * DIGEST_PRIME) & MASK
