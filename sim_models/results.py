"""Assembling result tensors from what the writers of a graph stored."""

from collections.abc import Mapping, Sequence

from fuseflow.samml.graph import Role
from fuseflow.samml.image import TensorImage
from sim_models.storage import Storage

Arrays = Mapping[tuple[str, int, str], Sequence[int]]
"""Stored arrays by tensor, level (-1 for the values), and ``seg``, ``crd`` or ``val``."""


def result_images(storage: Storage, arrays: Arrays) -> dict[str, TensorImage]:
    """Return the image of every result tensor of a graph."""
    images: dict[str, TensorImage] = {}
    for tensor in storage.graph.tensors:
        if tensor.role == Role.RESULT:
            levels = range(tensor.format.rank)
            images[tensor.name] = TensorImage(
                shape=storage.shapes[tensor.name],
                segs=tuple(arrays.get((tensor.name, level, "seg")) for level in levels),
                crds=tuple(arrays.get((tensor.name, level, "crd")) for level in levels),
                vals=arrays.get((tensor.name, -1, "val"), ()),
            )
    return images
