"""What the nodes of a graph read beside their streams: tensor arrays and run-time sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fuseflow.samml.errors import TensorError
from fuseflow.samml.graph import Extent, Graph, Role
from fuseflow.samml.image import TensorImage
from fuseflow.samml.streams import StreamType
from fuseflow.samml.values import Number, ValueType

Shapes = Mapping[str, tuple[int, ...]]


@dataclass
class Flags:
    """The sticky flags of one run.

    Attributes
    ----------
    overflow : bool
        A result left its type's range: an integer wrapped, or a finite number became infinite.
    range : bool
        A coordinate or position lay outside its level.
    capacity : bool
        A result array was longer than declared; the rest was dropped.
    """

    overflow: bool = False
    range: bool = False
    capacity: bool = False


@dataclass(frozen=True)
class Storage:
    """Input images and run-time shapes of a graph's tensors."""

    graph: Graph
    images: Mapping[str, TensorImage]
    shapes: Shapes

    @classmethod
    def of(cls, graph: Graph, images: Mapping[str, TensorImage], shapes: Shapes) -> "Storage":
        """Gather images and shapes.

        Parameters
        ----------
        graph : Graph
        images : mapping of str to TensorImage
            One for every input tensor; an image of a result only gives its shape.
        shapes : mapping of str to tuple of int
            The run-time shape of every result.

        Raises
        ------
        TensorError
            One is missing or has the wrong rank.
        """
        found = {name: tuple(image.shape) for name, image in images.items()} | dict(shapes)
        for tensor in graph.tensors:
            if tensor.role == Role.INPUT and tensor.name not in images:
                raise TensorError(f"tensor '{tensor.name}': no image was given for this input")
            if tensor.name not in found:
                raise TensorError(f"tensor '{tensor.name}': no run-time shape was given")
            if len(found[tensor.name]) != len(tensor.dims):
                raise TensorError(
                    f"tensor '{tensor.name}': shape {found[tensor.name]} has rank "
                    f"{len(found[tensor.name])}, declared {len(tensor.dims)}"
                )
        return cls(graph, images, found)

    def size(self, extent: Extent) -> int:
        """Return a run-time size."""
        return self.shapes[extent.tensor][extent.mode]

    def seg(self, tensor: str, level: int) -> Sequence[int]:
        """Return a segment array."""
        return _words(self.images[tensor].segs[level], tensor, level)

    def crd(self, tensor: str, level: int) -> Sequence[int]:
        """Return a coordinate array."""
        return _words(self.images[tensor].crds[level], tensor, level)

    def vals(self, tensor: str) -> Sequence[int]:
        """Return the value array."""
        return self.images[tensor].vals

    def fill(self, tensor: str) -> Number:
        """Return a tensor's fill value."""
        return self.graph.tensor(tensor).fill


def _words(array: Sequence[int] | None, tensor: str, level: int) -> Sequence[int]:
    if array is None:
        raise TensorError(f"tensor '{tensor}': level {level} is compressed but has no arrays")
    return array


@dataclass(frozen=True)
class NodeView:
    """A node as its golden meaning sees it.

    Attributes
    ----------
    name : str
    params : mapping
        All parameters, defaults filled in.
    inputs : mapping of str to StreamType
        By port; fields under the reader's names.
    outputs : mapping of str to StreamType
    value : ValueType
    storage : Storage
    flags : Flags
        Set by the meaning where something overflows or lies out of range.
    """

    name: str
    params: Mapping[str, Any]
    inputs: Mapping[str, StreamType]
    outputs: Mapping[str, StreamType]
    value: ValueType
    storage: Storage
    flags: Flags = field(default_factory=Flags)

    def rank(self, port: str) -> int:
        """Return the rank of an input."""
        return self.inputs[port].rank

    def size(self) -> int:
        """Return the run-time size that the node's parameter ``size`` names."""
        return self.storage.size(self.params["size"])
