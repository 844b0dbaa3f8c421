"""The golden meaning of a graph: nested lists in, nested lists out, node by node.

Independent of the cycle model: nothing here knows of tokens, cycles or edges.  Between the nodes
nested lists are flat arrays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import cast

from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.check import infer
from fuseflow.samml.errors import SimulationError, TokenError
from fuseflow.samml.graph import Graph, Node, TensorDecl
from fuseflow.samml.image import TensorImage
from fuseflow.samml.streams import StreamType
from fuseflow.samml.tokens import Nested
from sim_models.ragged import Ragged
from sim_models.results import result_images
from sim_models.storage import Flags, NodeView, Shapes, Storage

Meaning = Callable[[NodeView, Mapping[str, Ragged]], dict[str, Ragged]]


@dataclass(frozen=True)
class GoldenResult:
    """What a graph means for given tensors.

    Attributes
    ----------
    outputs : dict of str to TensorImage
        The result tensors.
    flat : dict of (node, output) to Ragged
        The consecutive streams of every output.
    types : dict of (node, output) to StreamType
    flags : Flags
    """

    outputs: dict[str, TensorImage]
    flat: dict[tuple[str, str], Ragged]
    types: dict[tuple[str, str], StreamType]
    flags: Flags

    @cached_property
    def streams(self) -> dict[tuple[str, str], list[Nested]]:
        """The same as nested lists, whose leaves are tuples of field values."""
        return {key: streams.nested() for key, streams in self.flat.items()}


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
    found: dict[tuple[str, str], Ragged] = {}
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
        if node.primitive == "source":
            inputs = {"recorded": _recorded(view, streams or {})}
        else:
            inputs = _inputs(node, found, types)
        results = _run_node(node, view, inputs)
        for output, type_ in view.outputs.items():
            found[node.name, output] = results[output]
            types[node.name, output] = type_
        if node.primitive in ("write_crd", "write_val"):
            tensor = graph.tensor(str(node.params["tensor"]))
            arrays |= stored_arrays(tensor, node.params.get("level", -1), results, flags)
    return GoldenResult(result_images(storage, arrays), found, types, flags)


def _recorded(view: NodeView, streams: Mapping[str, Sequence[Nested]]) -> Ragged:
    """Return what a source plays."""
    if view.name not in streams:
        raise SimulationError(f"source '{view.name}': no streams were given for it")
    type_ = view.outputs["out"]
    return Ragged.of_nested(streams[view.name], type_.rank, len(type_.fields))


def _inputs(
    node: Node,
    found: Mapping[tuple[str, str], Ragged],
    types: Mapping[tuple[str, str], StreamType],
) -> dict[str, Ragged]:
    """Return the inputs of a node by port, with the fields that it reads."""
    ports: dict[str, Ragged] = {}
    for edge in node.inputs:
        key = edge.node, edge.output
        picked = [types[key].names.index(name) for name in edge.fields]
        ports[edge.port] = Ragged(found[key].lengths, found[key].fields[picked])
    if len({streams.streams for streams in ports.values()}) > 1:
        raise SimulationError(f"node '{node.name}': its inputs have different numbers of streams")
    return ports


def _run_node(node: Node, view: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    try:
        return meaning_of(node.primitive)(view, inputs)
    except TokenError as error:
        raise SimulationError(
            f"node '{node.name}': its input streams do not belong together: {error}"
        ) from None


def stored_arrays(
    tensor: TensorDecl, level: object, results: Mapping[str, Ragged], flags: Flags
) -> dict[tuple[str, int, str], list[int]]:
    """Return what a writer stores; drop what an array cannot hold, and note it."""
    assert isinstance(level, int)
    arrays: dict[tuple[str, int, str], list[int]] = {}
    for which, scalars in results.items():
        (array,) = scalars.fields
        match which:
            case "seg":
                # Segments count what is stored.
                array = array.clip(max=tensor.positions[level])
                room = tensor.parents(level) + 1
            case "crd":
                room = tensor.positions[level]
            case _:
                room = tensor.words
        flags.capacity |= len(array) > room
        arrays[tensor.name, level, which] = array[:room].tolist()
    return arrays
