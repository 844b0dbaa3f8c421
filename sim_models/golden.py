"""The golden meaning of a graph: nested lists in, nested lists out, node by node.

Independent of the cycle model: nothing here knows of tokens, cycles or edges.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.check import infer
from fuseflow.samml.errors import SimulationError, TokenError
from fuseflow.samml.graph import Graph, Node
from fuseflow.samml.image import TensorImage
from fuseflow.samml.streams import StreamType
from fuseflow.samml.tokens import Nested
from sim_models.nested import columns
from sim_models.results import result_images
from sim_models.storage import Flags, NodeView, Shapes, Storage

Meaning = Callable[[NodeView, Mapping[str, Nested]], dict[str, Nested]]


@dataclass(frozen=True)
class GoldenResult:
    """What a graph means for given tensors.

    Attributes
    ----------
    outputs : dict of str to TensorImage
        The result tensors.
    streams : dict of (node, output) to list of Nested
        The consecutive streams of every output; leaves are tuples of field values.
    types : dict of (node, output) to StreamType
    flags : Flags
    """

    outputs: dict[str, TensorImage]
    streams: dict[tuple[str, str], list[Nested]]
    types: dict[tuple[str, str], StreamType]
    flags: Flags


def meaning_of(primitive: str) -> Meaning:
    """Return the meaning of a catalog primitive, kept in the file of its name."""
    return cast(Meaning, import_module(f"sim_models.primitives.{primitive}").meaning)


def evaluate(
    graph: Graph,
    images: Mapping[str, TensorImage],
    shapes: Shapes,
    streams: Mapping[str, Sequence[Nested]] | None = None,
) -> GoldenResult:
    """Evaluate a graph.

    Parameters
    ----------
    graph : Graph
    images : mapping of str to TensorImage
        The input tensors.
    shapes : mapping of str to tuple of int
        The run-time shapes of the result tensors.
    streams : mapping of str to sequence of Nested, optional
        For every source, the nested lists of its consecutive streams.

    Raises
    ------
    GraphError
        The graph is ill-formed.
    SimulationError
        Streams that meet at a node do not belong together.
    TensorError
        An image or a shape is missing.
    """
    storage = Storage.of(graph, images, shapes)
    inferred = infer(graph)
    flags = Flags()
    found: dict[tuple[str, str], list[Nested]] = {}
    types: dict[tuple[str, str], StreamType] = {}
    arrays: dict[tuple[str, int, str], list[int]] = {}
    for node in graph.nodes:
        view = NodeView(
            node.name,
            CATALOG[node.primitive].complete(node.params),
            inferred.inputs[node.name],
            inferred.outputs[node.name],
            graph.value,
            storage,
            flags,
        )
        results = _run_node(node, view, _inputs(node, found, types, streams or {}))
        for output, type_ in view.outputs.items():
            found[node.name, output] = [result[output] for result in results]
            types[node.name, output] = type_
        if node.primitive in ("write_crd", "write_val"):
            _store(node, results, arrays)
    _check_capacity(graph, arrays, flags)
    return GoldenResult(result_images(storage, arrays), found, types, flags)


def _inputs(
    node: Node,
    found: Mapping[tuple[str, str], list[Nested]],
    types: Mapping[tuple[str, str], StreamType],
    recorded: Mapping[str, Sequence[Nested]],
) -> list[dict[str, Nested]]:
    """Return the inputs of a node, once per consecutive stream."""
    if node.primitive == "source":
        if node.name not in recorded:
            raise SimulationError(f"source '{node.name}': no streams were given for it")
        return [{"recorded": nested} for nested in recorded[node.name]]
    if not node.inputs:
        return [{}]
    ports: dict[str, list[Nested]] = {}
    for edge in node.inputs:
        key = edge.node, edge.output
        picked = tuple(types[key].names.index(name) for name in edge.fields)
        if picked == tuple(range(len(types[key].fields))):
            ports[edge.port] = found[key]
        else:
            rank = types[key].rank
            ports[edge.port] = [columns(stream, rank, picked) for stream in found[key]]
    if len({len(streams) for streams in ports.values()}) > 1:
        raise SimulationError(f"node '{node.name}': its inputs have different numbers of streams")
    return [dict(zip(ports, each, strict=True)) for each in zip(*ports.values(), strict=True)]


def _run_node(
    node: Node, view: NodeView, inputs: Sequence[dict[str, Nested]]
) -> list[dict[str, Nested]]:
    meaning = meaning_of(node.primitive)
    try:
        return [meaning(view, streams) for streams in inputs]
    except TokenError as error:
        raise SimulationError(
            f"node '{node.name}': its input streams do not belong together: {error}"
        ) from None


def _store(
    node: Node,
    results: Sequence[Mapping[str, Nested]],
    arrays: dict[tuple[str, int, str], list[int]],
) -> None:
    """Append what a writer stores of consecutive streams."""
    tensor, level = str(node.params["tensor"]), node.params.get("level", -1)
    assert isinstance(level, int)
    if node.primitive == "write_val":
        arrays[tensor, -1, "val"] = [val for result in results for val in result["val"]]
        return
    seg, crd = [0], list[int]()
    for result in results:
        seg += [len(crd) + word for word in result["seg"][1:]]
        crd += result["crd"]
    arrays[tensor, level, "seg"] = seg
    arrays[tensor, level, "crd"] = crd


def _check_capacity(
    graph: Graph, arrays: dict[tuple[str, int, str], list[int]], flags: Flags
) -> None:
    """Drop what a result array cannot hold, and note it; segments count what is stored."""
    for (name, level, which), array in arrays.items():
        tensor = graph.tensor(name)
        match which:
            case "seg":
                words = tensor.parents(level) + 1
            case "crd":
                words = tensor.positions[level]
            case _:
                words = tensor.words
        if len(array) > words:
            flags.capacity = True
            del array[words:]
        if which == "seg":
            array[:] = [min(count, tensor.positions[level]) for count in array]
