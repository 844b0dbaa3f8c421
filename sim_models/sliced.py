"""The golden values of large graphs: in slices of the outermost loop, without streams of products.

What comes out is what `sim_models.golden.evaluate` gives, with less memory and in less time: see
`sim_models.dense`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.check import Inferred, infer
from fuseflow.samml.errors import SimulationError, TokenError
from fuseflow.samml.graph import Extent, Graph, Node
from fuseflow.samml.image import TensorImage
from fuseflow.samml.parts import parts
from sim_models.blocks import Blocks, TooLargeError
from sim_models.dense import Work, dropped_by, mean
from sim_models.golden import meaning_of, stored_arrays
from sim_models.ragged import Ragged, Words
from sim_models.results import result_images
from sim_models.storage import Flags, NodeView, Shapes, Storage

ROOM = 1 << 24
"""Most words of an array."""
WRITERS = ("write_crd", "write_val")


@dataclass(frozen=True)
class SlicedResult:
    """What a graph means for given tensors.

    Attributes
    ----------
    outputs : dict of str to TensorImage
        The result tensors.
    flags : Flags
    dropped : dict of str to ndarray of int64
        For every drop_value, a word for each payload: 1 where it is dropped.
    """

    outputs: dict[str, TensorImage]
    flags: Flags
    dropped: dict[str, Words]


def evaluate(
    graph: Graph, images: Mapping[str, TensorImage], shapes: Shapes, room: int = ROOM
) -> SlicedResult:
    """Evaluate a graph without sources.

    Parameters
    ----------
    graph : Graph
    images : mapping of str to TensorImage
    shapes : mapping of str to tuple of int
        See `sim_models.golden.evaluate`.
    room : int
        Most words of an array, where slices can be as thin.

    Raises
    ------
    GraphError, SimulationError, TensorError
        See `sim_models.golden.evaluate`.
    """
    storage, types = Storage.of(graph, images, shapes), infer(graph)
    arrays: dict[tuple[str, int, str], list[int]] = {}
    flags, dropped = Flags(), dict[str, Words]()
    for names in parts(graph):
        nodes = tuple(
            node for node in graph.nodes if node.primitive == "root" or node.name in names
        )
        work = _Evaluation(graph, nodes, storage, types, flags)
        work.run(room)
        arrays |= work.arrays()
        dropped |= {name: np.concatenate(words) for name, words in work.dropped.items()}
    return SlicedResult(result_images(storage, arrays), flags, dropped)


class _Evaluation:
    """The slices so far, of a part of a graph."""

    def __init__(
        self, graph: Graph, nodes: Sequence[Node], storage: Storage, types: Inferred, flags: Flags
    ) -> None:
        self.graph = graph
        self.nodes = nodes
        self.storage = storage
        self.types = types
        self.flags = flags
        self.stored: dict[str, list[Ragged]] = {}
        self.dropped: dict[str, list[Words]] = {}
        self.readers: dict[tuple[str, str], int] = {}
        for node in nodes:
            for edge in node.inputs:
                key = edge.node, edge.output
                self.readers[key] = self.readers.get(key, 0) + 1

    def run(self, room: int) -> None:
        """Evaluate the part in slices that find room."""
        size = self.size
        if size is None:
            self.take(self.slice(None, None))
            return
        first, count = 0, size
        while first < size:
            count = min(count, size - first)
            try:
                found = self.slice((first, count), room if count > 1 else None)
            except TooLargeError:
                count = (count + 1) // 2
                continue
            self.take(found)
            first += count

    @property
    def size(self) -> int | None:
        """Iterations of the outermost loop; None where there is no one loop around everything."""
        scans = [
            node
            for node in self.nodes
            if node.primitive.startswith("scan") and self.types.inputs[node.name]["ref"].rank == 0
        ]
        sizes: set[int] = set()
        for node in scans:
            extent = node.params.get("size")
            if not isinstance(extent, Extent):
                return None
            sizes.add(self.storage.size(extent))
        whole = any(
            stream.rank == 0
            for node in self.nodes
            if node.primitive in WRITERS
            for stream in self.types.inputs[node.name].values()
        )
        if len(sizes) != 1 or whole or any(map(self._folds_it, self.nodes)):
            return None
        return sizes.pop() or None

    def _folds_it(self, node: Node) -> bool:
        """Tell whether a node folds the outermost loop."""
        inputs = self.types.inputs[node.name]
        match node.primitive:
            case "reduce":
                return any(stream.rank < 2 for stream in inputs.values())
            case "accumulate":
                kept = node.params["kept"]
                assert isinstance(kept, int)
                return inputs["crd"].rank < kept + 2
            case _:
                return False

    def slice(self, window: tuple[int, int] | None, room: int | None) -> "_Slice":
        """Evaluate some iterations of the outermost loop: from which one on, and how many."""
        found = _Slice(self, window, room)
        found.run()
        return found

    def take(self, found: "_Slice") -> None:
        """Append what a slice stores."""
        for name, stream in found.written.items():
            self.stored.setdefault(name, []).append(stream)
        for name, words in found.dropped.items():
            self.dropped.setdefault(name, []).append(words)
        for flag in ("overflow", "range", "capacity"):
            setattr(self.flags, flag, getattr(self.flags, flag) | getattr(found.flags, flag))

    def arrays(self) -> dict[tuple[str, int, str], list[int]]:
        """Return what all slices store."""
        found: dict[tuple[str, int, str], list[int]] = {}
        for node in self.nodes:
            if node.name in self.stored:
                view = self.view(node, self.flags)
                (port,) = view.inputs
                joined = _joined(self.stored.pop(node.name))
                results = meaning_of(node.primitive)(view, {port: joined})
                tensor = self.graph.tensor(str(node.params["tensor"]))
                found |= stored_arrays(tensor, node.params.get("level", -1), results, self.flags)
        return found

    def view(self, node: Node, flags: Flags) -> NodeView:
        """Return a node as its meaning sees it."""
        return NodeView(
            node.name,
            CATALOG[node.primitive].complete(node.params),
            self.types.inputs[node.name],
            self.types.outputs[node.name],
            self.graph.value,
            self.storage,
            flags,
        )


def _joined(slices: list[Ragged]) -> Ragged:
    """Join the slices of streams along their outermost level."""
    if len(slices) == 1:
        return slices[0]
    first, *rest = zip(*(each.lengths for each in slices), strict=True)
    lengths = [np.array([sum(int(each[0]) for each in first)], np.int64)]
    lengths += [np.concatenate(each) for each in rest]
    return Ragged(tuple(lengths), np.concatenate([each.fields for each in slices], axis=1))


@dataclass
class _Slice:
    """Some iterations of the outermost loop: which, and what becomes of them."""

    whole: _Evaluation
    window: tuple[int, int] | None
    room: int | None
    flags: Flags = field(default_factory=Flags)
    written: dict[str, Ragged] = field(default_factory=dict[str, Ragged])
    dropped: dict[str, Words] = field(default_factory=dict[str, Words])

    def run(self) -> None:
        """Evaluate node by node; what nothing reads any more goes."""
        types = self.whole.types
        work = Work(
            value=self.whole.graph.value,
            flags=self.flags,
            limit=1 << 62 if self.room is None else self.room,
            window=self.window,
        )
        found: dict[tuple[str, str], Blocks] = {}
        left = dict(self.whole.readers)
        for node in self.whole.nodes:
            view = self.whole.view(node, self.flags)
            inputs: dict[str, Blocks] = {}
            for edge in node.inputs:
                key = edge.node, edge.output
                stream, names = found[key], types.outputs[edge.node][edge.output].names
                picked = (stream.fields[names.index(name)] for name in edge.fields)
                inputs[edge.port] = stream.like(*picked)
                left[key] -= 1
                if not left[key]:
                    del found[key]
            if node.primitive in WRITERS:
                ((_, stream),) = inputs.items()
                self.written[node.name] = work.ragged(stream, bounded=False)
                continue
            if node.primitive == "drop_value":
                self.dropped[node.name] = dropped_by(work, view, inputs)
            try:
                results = mean(work, node.primitive, view, inputs)
            except TokenError as error:
                raise SimulationError(
                    f"node '{node.name}': its input streams do not belong together: {error}"
                ) from None
            for output, stream in results.items():
                if left.get((node.name, output)):
                    found[node.name, output] = stream
