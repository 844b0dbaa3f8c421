"""The text form of a SAMML graph: one line per declaration, node and edge.

::

    samml 1 matmul int32
    index k 100
    tensor B input ss:0,1 dims 100,100 positions 100,500 fill 0
    node b_k = scan_compressed(index=k, tensor=B, level=1)
      ref <- b_i.out{ref} depth 3
    node ik = intersect()
      left <- b_k.out{crd, B=ref}

A field stands for itself: the reader calls it by the role that the port gives to that place,
or by its own name beyond the roles; ``name=field`` gives any other name.  A word in double
quotes is a JSON string; ``#`` starts a comment.  `parse_graph` is the inverse of `print_graph`.
"""

import json
from collections.abc import Iterable, Sequence

from fuseflow.samml.catalog import CATALOG
from fuseflow.samml.check import examine
from fuseflow.samml.errors import ParseError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import (
    Connection,
    Extent,
    Graph,
    Node,
    ParamValue,
    Role,
    TensorDecl,
)
from fuseflow.samml.lexer import NUMBER, WORD, Cursor
from fuseflow.samml.values import value_type

VERSION = 1
NOTHING = "-"
"""Stands for an empty list of numbers."""


def print_graph(graph: Graph, *, types: bool = False) -> str:
    """Print a graph; equal graphs print equally.

    Parameters
    ----------
    graph : Graph
        It may be ill-formed.
    types : bool
        Follow every node by the types of its output streams, as comments.
    """
    outputs = examine(graph)[1].outputs if types else {}
    lines = [f"samml {VERSION} {_word(graph.name)} {graph.value.name}"]
    lines += [f"index {_word(name)} {size}" for name, size in graph.indices.items()]
    lines += [_print_tensor(tensor) for tensor in graph.tensors]
    for node in graph.nodes:
        params = ", ".join(f"{_word(k)}={print_value(v)}" for k, v in node.params.items())
        lines.append(f"node {_word(node.name)} = {_word(node.primitive)}({params})")
        for port, stream in outputs.get(node.name, {}).items():
            lines.append(f"  # {port}: {stream}")
        lines += [_print_edge(edge, _roles(node, edge.port)) for edge in node.inputs]
    return "\n".join(lines) + "\n"


def _print_tensor(tensor: TensorDecl) -> str:
    return (
        f"tensor {_word(tensor.name)} {tensor.role} {tensor.format} dims {_numbers(tensor.dims)} "
        f"positions {_numbers(tensor.positions)} fill {tensor.fill}"
    )


def _print_edge(edge: Connection, roles: Sequence[str]) -> str:
    fields = ", ".join(
        _word(field) if name == default else f"{_word(name)}={_word(field)}"
        for name, field, default in zip(
            edge.names, edge.fields, _default_names(edge.fields, roles), strict=True
        )
    )
    depth = "" if edge.depth is None else f" depth {edge.depth}"
    source = f"{_word(edge.node)}.{_word(edge.output)}"
    return f"  {_word(edge.port)} <- {source}{{{fields}}}{depth}"


def print_value(value: ParamValue) -> str:
    """Print the value of a parameter."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return str(value)
        case Extent():
            return f"{_word(value.tensor)}.{value.mode}"
        case str():
            return json.dumps(value) if value in ("yes", "no") else _word(value)
        case tuple():
            return "(" + ", ".join(print_value(item) for item in value) + ")"


def _word(text: str) -> str:
    plain = WORD.fullmatch(text) and not NUMBER.fullmatch(text)
    return text if plain else json.dumps(text)


def _numbers(values: Iterable[int]) -> str:
    return ",".join(map(str, values)) or NOTHING


def _roles(node: Node, port: str) -> tuple[str, ...]:
    """Return the roles of a port; none where the node does not fit the catalog."""
    try:
        entry = CATALOG[node.primitive]
        ports = entry.inputs(entry.complete(node.params))
    except (KeyError, TypeError):
        return ()
    return tuple(role for found in ports if found.name == port for role, _ in found.roles)


def _default_names(fields: Sequence[str], roles: Sequence[str]) -> tuple[str, ...]:
    return (*roles[: len(fields)], *fields[len(roles) :])


def parse_graph(text: str, where: str = "<graph>") -> Graph:
    """Parse the text form of a graph.

    Parameters
    ----------
    text : str
    where : str
        What error messages call the text.

    Returns
    -------
    Graph
        Not checked: use `fuseflow.samml.check.infer`.

    Raises
    ------
    ParseError
        Names the line, and what was expected there.
    """
    lines = Cursor.lines(text, where)
    if not lines:
        raise ParseError(f"{where}: the text is empty, expected 'samml {VERSION} <name> <type>'")
    graph = _parse_header(lines[0])
    tensors: list[TensorDecl] = []
    nodes: list[Node] = []
    for line in lines[1:]:
        if line.indented:
            if not nodes:
                raise line.expected("a node before its edges")
            node = nodes[-1]
            edge = _parse_edge(line, node)
            nodes[-1] = Node(node.name, node.primitive, node.params, (*node.inputs, edge))
            continue
        match line.word("'index', 'tensor', 'node' or an indented edge"):
            case "index":
                index = line.word("an index variable")
                if index in graph.indices:
                    raise line.error(f"index '{index}' is declared twice")
                graph.indices[index] = line.number()
            case "tensor":
                tensors.append(_parse_tensor(line))
            case "node":
                nodes.append(_parse_node(line))
            case _:
                raise line.expected("'index', 'tensor', 'node' or an indented edge")
        line.end()
    return Graph(graph.name, graph.value, graph.indices, tuple(tensors), tuple(nodes))


def _parse_header(line: Cursor) -> Graph:
    line.keyword("samml")
    version = line.number()
    if version != VERSION:
        raise line.error(f"version {version} of the text form is not known, only {VERSION}")
    name, type_name = line.word("a graph name"), line.word("a value type")
    try:
        value = value_type(type_name)
    except ParseError as error:
        raise line.error(str(error)) from None
    line.end()
    return Graph(name, value)


def _parse_tensor(line: Cursor) -> TensorDecl:
    name, role = line.word("a tensor name"), line.word("a role")
    if role not in (Role.INPUT, Role.RESULT):
        raise line.expected(f"'{Role.INPUT}' or '{Role.RESULT}'")
    letters = [line.word("a format")]
    while line.take(","):
        letters.append(line.word("a mode"))
    try:
        format_ = Format.parse(",".join(letters))
    except ParseError as error:
        raise line.error(str(error)) from None
    line.keyword("dims")
    dims = _parse_numbers(line)
    line.keyword("positions")
    positions = _parse_numbers(line)
    line.keyword("fill")
    return TensorDecl(name, role, format_, dims, positions, line.real())


def _parse_numbers(line: Cursor) -> tuple[int, ...]:
    if line.take(NOTHING):
        return ()
    numbers = [line.number()]
    while line.take(","):
        numbers.append(line.number())
    return tuple(numbers)


def _parse_node(line: Cursor) -> Node:
    name = line.word("a node name")
    line.keyword("=")
    primitive = line.word("a primitive")
    params: dict[str, ParamValue] = {}
    line.keyword("(")
    while not line.take(")"):
        if params:
            line.keyword(",")
        param = line.word("a parameter or ')'")
        if param in params:
            raise line.error(f"parameter '{param}' is given twice")
        line.keyword("=")
        params[param] = _parse_value(line)
    return Node(name, primitive, params)


def _parse_value(line: Cursor) -> ParamValue:
    if line.take("("):
        items: list[ParamValue] = []
        while not line.take(")"):
            if items:
                line.keyword(",")
            items.append(_parse_value(line))
        # The checker, not the parser, judges whether the items are of one permitted type.
        return tuple(items)  # pyright: ignore[reportReturnType]
    quoted = line.quoted
    if line.at_number:
        return line.real()
    word = line.word("a value")
    if line.take("."):
        return Extent(word, line.number())
    if quoted:
        return word
    return {"yes": True, "no": False}.get(word, word)


def _parse_edge(line: Cursor, node: Node) -> Connection:
    port = line.word("an input port")
    line.keyword("<-")
    source = line.word("a node")
    line.keyword(".")
    output = line.word("an output port")
    pairs: list[tuple[str | None, str]] = []
    line.keyword("{")
    while not line.take("}"):
        if pairs:
            line.keyword(",")
        field = line.word("a field or '}'")
        pairs.append((field, line.word("a field")) if line.take("=") else (None, field))
    depth = line.number() if line.take("depth") else None
    line.end()
    fields = tuple(field for _, field in pairs)
    defaults = _default_names(fields, _roles(node, port))
    names = tuple(
        default if name is None else name
        for (name, _), default in zip(pairs, defaults, strict=True)
    )
    return Connection(port, source, output, fields, names, depth)
