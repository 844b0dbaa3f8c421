"""The graph checker: infers every stream type and reports every error at once."""

from collections import Counter
from dataclasses import dataclass, field

from fuseflow.samml.catalog import CATALOG, REQUIRED, Input, Primitive, TypeRuleError
from fuseflow.samml.errors import GraphError
from fuseflow.samml.graph import Connection, Extent, Graph, Node, Role, TensorDecl
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.streams import Field, StreamType


@dataclass
class Inferred:
    """Stream types of a graph, by node name and port."""

    inputs: dict[str, dict[str, StreamType]] = field(
        default_factory=dict[str, dict[str, StreamType]]
    )
    outputs: dict[str, dict[str, StreamType]] = field(
        default_factory=dict[str, dict[str, StreamType]]
    )


def infer(graph: Graph) -> Inferred:
    """Infer the type of every stream of a graph.

    Raises
    ------
    GraphError
        Its ``problems`` list everything that is wrong.
    """
    problems, types = examine(graph)
    if problems:
        raise GraphError(*problems)
    return types


def examine(graph: Graph) -> tuple[list[str], Inferred]:
    """Return every problem of a graph, and the types as far as they can be inferred."""
    problems: list[str] = []
    types = Inferred()
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    for what, names in (
        ("tensor", [tensor.name for tensor in graph.tensors]),
        ("node", [node.name for node in graph.nodes]),
    ):
        problems += [f"{what} '{n}' is declared {k} times" for n, k in Counter(names).items() if k > 1]
    for tensor in graph.tensors:
        if not len(tensor.dims) == len(tensor.positions) == tensor.format.rank:
            problems.append(f"tensor '{tensor.name}': dims, capacities and format differ in rank")
    for node in graph.nodes:
        entry = CATALOG.get(node.primitive)
        if entry is None:
            problems.append(f"node '{node.name}': there is no primitive '{node.primitive}'")
            continue
        found = _check_params(node, entry, graph, tensors)
        if not found:
            found = _check_node(node, entry, types)
        problems += found
    problems += _check_writers(graph)
    return problems, types


def _check_params(
    node: Node, entry: Primitive, graph: Graph, tensors: dict[str, TensorDecl]
) -> list[str]:
    known = {param.name: param for param in entry.params}
    problems = [
        f"node '{node.name}': {entry.name} has no parameter '{name}'"
        for name in node.params
        if name not in known
    ]
    for name, param in known.items():
        value = node.params.get(name, param.default)
        where = f"node '{node.name}': parameter '{name}'"
        if value is REQUIRED:
            problems.append(f"{where} is missing")
        elif isinstance(param.type, tuple) and value not in param.type:
            problems.append(f"{where} is '{value}', wanted one of {', '.join(param.type)}")
        elif name == "index" and value not in graph.indices:
            problems.append(f"{where}: index '{value}' is not declared")
        elif name == "tensor" and value not in tensors:
            problems.append(f"{where}: tensor '{value}' is not declared")
        elif param.type in (Extent, tuple[Extent, ...]):
            for extent in value if isinstance(value, tuple) else (value,):
                tensor = tensors.get(extent.tensor)
                if tensor is None or not 0 <= extent.mode < len(tensor.dims):
                    problems.append(f"{where}: there is no tensor mode {extent}")
    if not problems and "level" in known:
        tensor, level = tensors[str(node.params["tensor"])], node.params["level"]
        kinds = tensor.format.levels
        if not isinstance(level, int) or not 0 <= level < len(kinds):
            problems.append(f"node '{node.name}': tensor '{tensor.name}' has no level {level}")
        elif kinds[level] is not LevelKind.COMPRESSED:
            problems.append(
                f"node '{node.name}': level {level} of tensor '{tensor.name}' is not compressed"
            )
    if not problems and "kept" in known:
        kept, size = node.params["kept"], node.params["size"]
        assert isinstance(size, tuple)
        if kept not in (1, 2) or len(size) != kept:
            problems.append(f"node '{node.name}': kept is {kept} with {len(size)} sizes, wanted 1 or 2")
    return problems


def _check_node(node: Node, entry: Primitive, types: Inferred) -> list[str]:
    params = entry.complete(node.params)
    ports = {port.name: port for port in entry.inputs(params)}
    problems = [
        f"node '{node.name}': {entry.name} has no input '{edge.port}'"
        for edge in node.inputs
        if edge.port not in ports
    ]
    inputs: dict[str, StreamType] = {}
    for name, port in ports.items():
        edges = [edge for edge in node.inputs if edge.port == name]
        if len(edges) != 1:
            problems.append(f"node '{node.name}': input '{name}' has {len(edges)} edges, wanted 1")
            continue
        found, stream = _check_edge(node, port, edges[0], types)
        problems += found
        if stream is not None:
            inputs[name] = stream
    if not problems:
        try:
            types.outputs[node.name] = entry.outputs(node.name, params, inputs)
            types.inputs[node.name] = inputs
        except TypeRuleError as error:
            problems.append(f"node '{node.name}': {error}")
    return problems


def _check_edge(
    node: Node, port: Input, edge: Connection, types: Inferred
) -> tuple[list[str], StreamType | None]:
    where = f"node '{node.name}', input '{port.name}'"
    source = types.outputs.get(edge.node, {}).get(edge.output)
    if source is None:
        return [f"{where}: no earlier stream '{edge.node}.{edge.output}'"], None
    missing = [name for name in edge.fields if name not in source.names]
    if missing:
        return [f"{where}: '{edge.node}.{edge.output}' has no field '{missing[0]}', only {source}"], None
    fields = tuple(
        Field(name, source.fields[source.names.index(taken)].kind)
        for name, taken in zip(edge.names, edge.fields, strict=True)
    )
    roles = port.roles
    if len(fields) < len(roles) or (len(fields) > len(roles) and not port.passengers):
        return [f"{where}: takes {len(roles)} fields, got {len(fields)}"], None
    for (role, kinds), got in zip(roles, fields, strict=False):
        if got.kind not in kinds:
            wanted = " or ".join(kind.value for kind in kinds)
            return [f"{where}: '{role}' wants a {wanted}, got a {got.kind.value}"], None
    if edge.depth is not None and edge.depth < 1:
        return [f"{where}: depth {edge.depth} is below 1"], None
    return [], StreamType(fields, source.levels)


def _check_writers(graph: Graph) -> list[str]:
    written = Counter(
        (str(node.params.get("tensor")), node.params.get("level", "val"))
        for node in graph.nodes
        if node.primitive in ("write_crd", "write_val")
    )
    problems = [
        f"tensor '{name}': array {level} has {count} writers"
        for (name, level), count in written.items()
        if count > 1
    ]
    for tensor in graph.tensors:
        arrays = [(tensor.name, level) for level in tensor.compressed()] + [(tensor.name, "val")]
        for array in arrays:
            if tensor.role == Role.RESULT and array not in written:
                problems.append(f"tensor '{tensor.name}': array {array[1]} has no writer")
            if tensor.role == Role.INPUT and array in written:
                problems.append(f"tensor '{tensor.name}': array {array[1]} of an input is written")
    return problems
