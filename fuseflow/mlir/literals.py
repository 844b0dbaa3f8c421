"""Constants that MLIR's bindings cannot hand out as arrays: read from what MLIR prints."""

import re
from math import prod

import numpy as np

from fuseflow.mlir.elements import dtype_of
from fuseflow.mlir.module import Array
from fuseflow.samml.errors import ParseError

_RESOURCE = re.compile(r'^\s*"?([^\s":]+)"?\s*:\s*"0x([0-9A-Fa-f]*)",?\s*$', re.MULTILINE)


def resources_of(text: str) -> dict[str, bytes]:
    """Return the data of a printed module's ``dialect_resources``, by name.

    Source: the syntax of resources in MLIR's language reference; four bytes of alignment come
    before the data.
    """
    _, found, section = text.rpartition("\n{-#")
    if not found:
        return {}
    return {name: bytes.fromhex(digits)[4:] for name, digits in _RESOURCE.findall(section)}


def array_of_bytes(data: bytes, shape: tuple[int, ...], element: str) -> Array:
    """Return the array that bytes store, in row-major order and little-endian.

    Raises
    ------
    ParseError
        They are too few or too many.
    """
    size = prod(shape)
    dtype = dtype_of(element)
    if element == "i1" and len(data) != size and len(data) == -(-size // 8):
        bits = np.unpackbits(np.frombuffer(data, np.uint8), count=size, bitorder="little")
        return bits.astype(bool).reshape(shape)
    if len(data) != size * dtype.itemsize:
        raise ParseError(f"{len(data)} bytes for {size} elements of {element}")
    return np.frombuffer(data, dtype).reshape(shape)


def array_of_text(text: str, shape: tuple[int, ...], element: str) -> Array:
    """Return the array of a printed ``dense<...>``, in digits or one string of them."""
    inside = text[text.index("<") + 1 : text.rindex("> :")]
    if inside.startswith('"0x'):
        return array_of_bytes(bytes.fromhex(inside[3:-1]), shape, element)
    words = re.findall(r"[^\s,\[\]]+", inside)
    dtype = dtype_of(element)
    numbers = [
        np.array(int(word, 16), f"u{dtype.itemsize}").view(dtype)
        if word.startswith("0x")
        else np.array(float(word), dtype)
        for word in words
    ]
    return np.array(numbers, dtype).reshape(shape)
