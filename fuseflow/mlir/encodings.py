"""``#sparse_tensor.encoding`` as a format, with blocks where a mode is split."""

from fuseflow.mlir.module import Encoding
from fuseflow.mlir.syntax import Affine, AffineMap, Arithmetic, Dim, Fixed
from fuseflow.samml.errors import ParseError
from fuseflow.samml.formats import Format, LevelKind

KINDS = {
    1 << 16: LevelKind.DENSE,
    1 << 18: LevelKind.COMPRESSED,
    # Coordinates beside each other: the tensor that they store is that of compressed levels.
    1 << 19: LevelKind.COMPRESSED,
}
"""By the number that MLIR gives a level format."""

OTHER_KINDS = {1 << 17: "batch", 1 << 20: "loose_compressed", 1 << 21: "structured"}
UNORDERED = 2
"""The property of a level type whose coordinates need not ascend."""


def encoding(levels: AffineMap, kinds: list[int], shape: tuple[int, ...]) -> Encoding:
    """Return the encoding of a tensor.

    Parameters
    ----------
    levels : AffineMap
        What every level stores, of the modes.
    kinds : list of int
        The level types as MLIR counts them.
    shape : tuple of int

    Raises
    ------
    ParseError
        There is no such format.
    """
    blocks = [1] * len(shape)
    parts = [_part(level) for level in levels]
    for mode, _, size in parts:
        if size != 1 and blocks[mode] not in (1, size):
            raise ParseError(f"mode {mode} is split by {blocks[mode]} and by {size}")
        blocks[mode] = max(blocks[mode], size)
    split = [
        (mode, inner)
        for mode, size in enumerate(blocks)
        for inner in ((False, True) if size > 1 else (False,))
    ]
    stored = [(mode, inner) for mode, inner, _ in parts]
    if sorted(stored) != split:
        raise ParseError("its levels do not store every part of every mode once")
    for mode, size in enumerate(blocks):
        if shape[mode] % size:
            raise ParseError(f"blocks of {size} do not divide mode {mode} of size {shape[mode]}")
    order = tuple(split.index(part) for part in stored)
    return Encoding(Format(tuple(map(_kind, kinds)), order), tuple(blocks))


def _part(level: Affine) -> tuple[int, bool, int]:
    """Return the mode that a level stores, whether it is the inside of blocks, and their size."""
    match level:
        case Dim(mode):
            return mode, False, 1
        case Arithmetic("floordiv", Dim(mode), Fixed(size)):
            return mode, False, size
        case Arithmetic("mod", Dim(mode), Fixed(size)):
            return mode, True, size
        case _:
            raise ParseError(
                f"a level stores '{level}': use a mode, or 'floordiv' and 'mod' for blocks"
            )


def _kind(number: int) -> LevelKind:
    for bit, kind in KINDS.items():
        if number & bit:
            if number & UNORDERED:
                raise ParseError("a level is 'nonordered': store its coordinates ascending")
            return kind
    name = next((name for bit, name in OTHER_KINDS.items() if number & bit), "unknown")
    raise ParseError(f"a level is '{name}': use dense, compressed or singleton")
