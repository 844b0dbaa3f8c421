"""The graph checker: infers every stream type and reports every error at once."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

from fuseflow.samml.catalog import CATALOG, REQUIRED, Input, Param, Primitive, TypeRuleError
from fuseflow.samml.errors import GraphError
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import Connection, Extent, Graph, Node, Role, TensorDecl
from fuseflow.samml.streams import Field, StreamType


@dataclass
class Inferred:
    """Stream types of a graph, by node name and port.

    Attributes
    ----------
    inputs, outputs : dict
        ``inputs[node][port]`` under the reader's field names, ``outputs[node][port]``.
    unknown : set of str
        Nodes whose problems, or whose writers' problems, leave their types unknown.
    """

    inputs: dict[str, dict[str, StreamType]] = field(
        default_factory=dict[str, dict[str, StreamType]]
    )
    outputs: dict[str, dict[str, StreamType]] = field(
        default_factory=dict[str, dict[str, StreamType]]
    )
    unknown: set[str] = field(default_factory=set[str])


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
    types = Inferred()
    problems = _check_declarations(graph)
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    for node in graph.nodes:
        entry = CATALOG.get(node.primitive)
        if entry is None:
            found = [f"node '{node.name}': there is no primitive '{node.primitive}'"]
        else:
            found = _check_params(node, entry, graph, tensors)
        if entry is None or found:
            found += _check_sources(node, types)
        else:
            found = _check_node(node, entry, types)
        if node.name not in types.outputs:
            types.unknown.add(node.name)
        problems += found
    if len({node.name for node in graph.nodes}) == len(graph.nodes):
        problems += _check_depths(graph, types)
    problems += _check_writers(graph)
    return problems, types


def _check_declarations(graph: Graph) -> list[str]:
    problems: list[str] = []
    for what, names in (
        ("tensor", [tensor.name for tensor in graph.tensors]),
        ("node", [node.name for node in graph.nodes]),
    ):
        problems += [
            f"{what} '{name}' is declared {count} times"
            for name, count in Counter(names).items()
            if count > 1
        ]
    for tensor in graph.tensors:
        if not len(tensor.dims) == len(tensor.positions) == tensor.format.rank:
            problems.append(f"tensor '{tensor.name}': dims, capacities and format differ in rank")
        if not graph.value.holds(tensor.fill):
            problems.append(
                f"tensor '{tensor.name}': fill {tensor.fill} is no value of {graph.value.name}"
            )
    return problems


def _check_params(
    node: Node, entry: Primitive, graph: Graph, tensors: dict[str, TensorDecl]
) -> list[str]:
    known = {param.name: param for param in entry.params}
    problems = [
        f"node '{node.name}': {entry.name} has no parameter '{name}'"
        for name in node.params
        if name not in known
    ]
    for param in entry.params:
        value = node.params.get(param.name, param.default)
        if problem := _param_problem(param, value, graph, tensors):
            problems.append(f"node '{node.name}': parameter '{param.name}'{problem}")
    if not problems and "level" in known:
        problems += _check_level(node, tensors)
    if not problems and "kept" in known:
        problems += _check_kept(node)
    return problems


def _param_problem(
    param: Param, value: Any, graph: Graph, tensors: dict[str, TensorDecl]
) -> str | None:
    """Say what is wrong with the value of one parameter, if anything."""
    if value is REQUIRED:
        return " is missing"
    if not param.fits(value):
        return f" is '{value}', wanted {param.wanted}"
    if value in param.floating and not graph.value.is_float:
        return f": {graph.value.name} has no '{value}', only floating point has (--type fp32)"
    if param.name == "index" and value not in graph.indices:
        return f": index '{value}' is not declared"
    if param.name == "tensor" and value not in tensors:
        return f": tensor '{value}' is not declared"
    for item in cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,):
        if isinstance(item, Extent):
            tensor = tensors.get(item.tensor)
            if tensor is None or not 0 <= item.mode < len(tensor.dims):
                return f": there is no tensor mode {item}"
        elif param.least is not None and item < param.least:
            return f" is {item}, wanted {param.least} or more"
        elif param.type is float and not graph.value.holds(item):
            return f" is {item}, which is no value of {graph.value.name}"
    return None


def _check_level(node: Node, tensors: dict[str, TensorDecl]) -> list[str]:
    tensor, level = tensors[str(node.params["tensor"])], node.params["level"]
    kinds = tensor.format.levels
    if not isinstance(level, int) or level >= len(kinds):
        return [f"node '{node.name}': tensor '{tensor.name}' has no level {level}"]
    if kinds[level] is not LevelKind.COMPRESSED:
        return [f"node '{node.name}': level {level} of tensor '{tensor.name}' is not compressed"]
    return []


def _check_kept(node: Node) -> list[str]:
    kept, size = node.params["kept"], node.params["size"]
    assert isinstance(size, tuple)
    if kept not in (1, 2) or len(size) != kept:
        return [f"node '{node.name}': kept is {kept} with {len(size)} sizes, wanted 1 or 2"]
    if kept == 2 and node.params.get("mode") == "dense":
        return [f"node '{node.name}': mode 'dense' is for one kept level, here are 2"]
    return []


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
    if len(inputs) == len(ports) and not problems:
        try:
            types.outputs[node.name] = entry.outputs(node.name, params, inputs)
            types.inputs[node.name] = inputs
        except TypeRuleError as error:
            problems.append(f"node '{node.name}': {error}")
    return problems


def _no_stream(node: Node, edge: Connection) -> str:
    return f"node '{node.name}', input '{edge.port}': no earlier stream '{edge.node}.{edge.output}'"


def _check_sources(node: Node, types: Inferred) -> list[str]:
    """Check what can be said of the edges of a node whose ports are not known."""
    return [
        _no_stream(node, edge)
        for edge in node.inputs
        if edge.node not in types.unknown and edge.output not in types.outputs.get(edge.node, {})
    ]


def _check_edge(
    node: Node, port: Input, edge: Connection, types: Inferred
) -> tuple[list[str], StreamType | None]:
    where = f"node '{node.name}', input '{port.name}'"
    if edge.node in types.unknown:
        return [], None  # its node's own problem is reported already
    source = types.outputs.get(edge.node, {}).get(edge.output)
    if source is None:
        return [_no_stream(node, edge)], None
    if len(edge.names) != len(edge.fields) or len(set(edge.names)) != len(edge.names):
        fields, names = ", ".join(edge.fields), ", ".join(edge.names)
        return [f"{where}: fields {{{fields}}} need one name each, got {{{names}}}"], None
    missing = [name for name in edge.fields if name not in source.names]
    if missing:
        stream = f"'{edge.node}.{edge.output}'"
        return [f"{where}: {stream} has no field '{missing[0]}', only {source}"], None
    fields = tuple(
        Field(name, source.fields[source.names.index(taken)].kind)
        for name, taken in zip(edge.names, edge.fields, strict=True)
    )
    roles = port.roles
    if len(fields) < len(roles) or (len(fields) > len(roles) and not port.passengers):
        return [f"{where}: takes {len(roles)} fields, got {len(fields)}"], None
    for (role, kinds), got in zip(roles, fields, strict=False):
        if got.name != role:
            return [f"{where}: takes '{role}' under that name, got '{got.name}'"], None
        if got.kind not in kinds:
            wanted = " or ".join(kind.value for kind in kinds)
            return [f"{where}: '{role}' wants a {wanted}, got a {got.kind.value}"], None
    return [], StreamType(fields, source.levels)


def _check_depths(graph: Graph, types: Inferred) -> list[str]:
    """Find edges that cannot hold a token for its writer's latency and one cycle more."""
    latency: dict[tuple[str, str], int] = {}
    for node in graph.nodes:
        if node.name in types.outputs:
            entry = CATALOG[node.primitive]
            for unit in entry.units(entry.complete(node.params), graph.value):
                latency |= {(node.name, output): unit.latency for output in unit.writes}
    return [
        f"node '{node.name}', input '{edge.port}': depth {edge.depth} is below "
        f"{latency[edge.node, edge.output] + 1}, the latency of '{edge.node}' and one more"
        for node in graph.nodes
        for edge in node.inputs
        if edge.depth is not None
        and (edge.node, edge.output) in latency
        and edge.depth <= latency[edge.node, edge.output]
    ]


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
