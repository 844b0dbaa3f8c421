"""Between tensor images and a tile's memories, by back door or over AXI.

Everything works on the manifest alone, so it serves benches and drivers alike.  A word is the
raw bits of an array's element, unsigned, as the memory holds it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fuseflow.samml.errors import CapacityError, TensorError
from fuseflow.samml.image import TensorImage

Manifest = Mapping[str, Any]
Words = NDArray[np.int64]
WORD_BYTES = 4


def register(manifest: Manifest, name: str) -> int:
    """Return the byte address of a register, which must exist."""
    return next(entry["address"] for entry in manifest["registers"] if entry["name"] == name)


def arrays(manifest: Manifest, tensor: str) -> list[dict[str, Any]]:
    """Return the arrays of a tensor that the tile holds, possibly none.

    Raises
    ------
    TensorError
        The graph has no such tensor.
    """
    _tensor(manifest, tensor)
    return [array for array in manifest["arrays"] if array["tensor"] == tensor]


def contents(manifest: Manifest, tensor: str, image: TensorImage) -> dict[str, Words]:
    """Return what the memories of a tensor hold: per memory the words from row 0 on.

    Raises
    ------
    CapacityError
        The image exceeds what the tile declares.
    TensorError
        The image does not have the tensor's format.
    """
    memories: dict[str, Words] = {}
    for array, words in _image_words(manifest, tensor, image):
        for bank, copies in enumerate(array["banks"]):
            for copy in copies:
                memories[copy["memory"]] = words[bank :: len(array["banks"])]
    return memories


def shape_writes(
    manifest: Manifest, tensor: str, shape: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield the byte address and value of every shape register of a tensor.

    Raises
    ------
    CapacityError
        A size exceeds what the tile declares.
    """
    declared = _tensor(manifest, tensor)
    _check_shape(declared, shape)
    yield from zip(declared["shape"], shape, strict=True)


def writes(manifest: Manifest, tensor: str, image: TensorImage) -> Iterator[tuple[int, int]]:
    """Yield byte address and word of everything that loads a tensor over AXI, shape first.

    All of it is checked before the first word is yielded.

    Raises
    ------
    CapacityError, TensorError
        As `contents`.
    """
    loads = list(_image_words(manifest, tensor, image))
    yield from shape_writes(manifest, tensor, image.shape)
    for array, words in loads:
        for number, word in enumerate(words.tolist()):
            yield array["base"] + WORD_BYTES * number, word


def count_reads(manifest: Manifest, tensor: str) -> dict[str, int]:
    """Return the address of the word counter of every counted array of a result."""
    return {
        array["name"]: array["count"]
        for array in arrays(manifest, tensor)
        if array["count"] is not None
    }


def result_words(
    manifest: Manifest, tensor: str, shape: Sequence[int], counts: Mapping[str, int]
) -> dict[str, int]:
    """Return how many words of each array of a result are meaningful after a run.

    Parameters
    ----------
    manifest : mapping
    tensor : str
    shape : sequence of int
        Run-time sizes in mode order.
    counts : mapping of str to int
        What the word counters of `count_reads` read.
    """
    declared = _tensor(manifest, tensor)
    _check_shape(declared, shape)
    positions = 1
    words: dict[str, int] = {}
    for level, (kind, mode) in enumerate(zip(declared["levels"], declared["order"], strict=True)):
        if kind == "s":
            words[f"seg{level}"] = positions + 1
            words[f"crd{level}"] = positions = counts[f"crd{level}"]
        else:
            positions *= shape[mode]
    words["val"] = counts["val"]
    return words


def image(
    manifest: Manifest, tensor: str, shape: Sequence[int], words: Mapping[str, ArrayLike]
) -> TensorImage:
    """Return the tensor whose arrays hold the given words, by array name."""
    declared = _tensor(manifest, tensor)

    def level_words(kind: str) -> tuple[Any, ...]:
        return tuple(
            np.asarray(words[f"{kind}{level}"], np.int64) if letter == "s" else None
            for level, letter in enumerate(declared["levels"])
        )

    return TensorImage(
        tuple(shape), level_words("seg"), level_words("crd"), _values(manifest, words["val"])
    )


def _values(manifest: Manifest, words: ArrayLike) -> Any:
    """Turn raw bits into words: integers are two's complement, others stay raw."""
    values = np.asarray(words, np.int64)
    bits = manifest["value"]["bits"]
    if manifest["value"]["signed"]:
        half = 1 << (bits - 1)
        values = (values + half) % (1 << bits) - half
    return values


def _tensor(manifest: Manifest, name: str) -> dict[str, Any]:
    for tensor in manifest["tensors"]:
        if tensor["name"] == name:
            return tensor
    known = ", ".join(tensor["name"] for tensor in manifest["tensors"])
    raise TensorError(f"graph '{manifest['graph']}' has no tensor '{name}', only {known}")


def _check_shape(tensor: Mapping[str, Any], shape: Sequence[int]) -> None:
    name, dims = tensor["name"], tensor["dims"]
    if len(shape) != len(dims):
        raise TensorError(f"tensor '{name}' has rank {len(dims)}, got the shape {tuple(shape)}")
    for mode, (size, limit) in enumerate(zip(shape, dims, strict=True)):
        if not 0 <= size <= limit:
            raise CapacityError(
                f"tensor '{name}': mode {mode} has size {size}, the tile holds {limit}: "
                "compile the graph for larger dims"
            )


def _image_words(
    manifest: Manifest, tensor: str, image: TensorImage
) -> Iterator[tuple[dict[str, Any], Words]]:
    declared = _tensor(manifest, tensor)
    _check_shape(declared, image.shape)
    for array in arrays(manifest, tensor):
        source = _source(array, image)
        if source is None or len(image.segs) != len(declared["levels"]):
            raise TensorError(
                f"tensor '{tensor}': the image has no array {array['name']}, the tile stores "
                f"format {declared['format']}"
            )
        words = np.asarray(source, dtype=np.int64)
        if len(words) > array["words"]:
            raise CapacityError(
                f"tensor '{tensor}': array {array['name']} has {len(words)} words, the tile holds "
                f"{array['words']}: compile the graph for larger capacities"
            )
        yield array, words & ((1 << array["width"]) - 1)


def _source(array: Mapping[str, Any], image: TensorImage) -> Sequence[int] | None:
    if array["kind"] == "val":
        return image.vals
    levels = image.segs if array["kind"] == "seg" else image.crds
    return levels[array["level"]] if array["level"] < len(levels) else None
