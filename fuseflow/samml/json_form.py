"""The JSON form of a SAMML graph, for tools of other languages.

Parameters are JSON numbers, booleans, strings and lists; an infinite number is an object
``{"number": "-inf"}``, a tensor mode an object ``{"tensor": ..., "mode": ...}``.  `from_json`
is the inverse of `to_json`.
"""

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

from fuseflow.samml.errors import ParseError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Connection, Extent, Graph, Node, ParamValue, Role, TensorDecl
from fuseflow.samml.values import Number, number, value_type

SCHEMA = "samml-graph/1"
_Parsed = TypeVar("_Parsed")


def to_json(graph: Graph) -> str:
    """Print a graph as JSON; equal graphs print equally."""
    return json.dumps(_graph(graph), indent=1) + "\n"


def _graph(graph: Graph) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "name": graph.name,
        "value": graph.value.name,
        "indices": graph.indices,
        "tensors": [
            {
                "name": tensor.name,
                "role": tensor.role,
                "format": str(tensor.format),
                "dims": tensor.dims,
                "positions": tensor.positions,
                "fill": _value(tensor.fill),
            }
            for tensor in graph.tensors
        ],
        "nodes": [
            {
                "name": node.name,
                "primitive": node.primitive,
                "params": {name: _value(value) for name, value in node.params.items()},
                "inputs": [_edge(edge) for edge in node.inputs],
            }
            for node in graph.nodes
        ],
    }


def _edge(edge: Connection) -> dict[str, Any]:
    return {
        "port": edge.port,
        "node": edge.node,
        "output": edge.output,
        "fields": edge.fields,
        "names": edge.names,
        "depth": edge.depth,
    }


def _value(value: ParamValue) -> Any:
    match value:
        case Extent():
            return {"tensor": value.tensor, "mode": value.mode}
        case float() if not math.isfinite(value):
            return {"number": str(value)}
        case tuple():
            return [_value(item) for item in value]
        case _:
            return value


def from_json(text: str, where: str = "<graph>") -> Graph:
    """Read the JSON form of a graph.

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
        Names the place in the document, and what was expected there.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ParseError(f"{where}:{error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise ParseError(f"{where}: a number is too long, or lists are nested too deeply") from None
    root = _Object(document, where)
    if root.take("schema", str) != SCHEMA:
        raise ParseError(f"{where}.schema: expected '{SCHEMA}'")
    return Graph(
        name=root.take("name", str),
        value=root.parsed("value", value_type),
        indices={name: _checked(size, int, f"{where}.indices.{name}")
                 for name, size in root.take("indices", dict).items()},
        tensors=tuple(_read_tensor(item) for item in root.objects("tensors")),
        nodes=tuple(_read_node(item) for item in root.objects("nodes")),
    )  # fmt: skip


def _read_tensor(item: "_Object") -> TensorDecl:
    role = item.take("role", str)
    if role not in (Role.INPUT, Role.RESULT):
        raise ParseError(f"{item.where}.role: expected '{Role.INPUT}' or '{Role.RESULT}'")
    return TensorDecl(
        name=item.take("name", str),
        role=role,
        format=item.parsed("format", Format.parse),
        dims=item.many("dims", int),
        positions=item.many("positions", int),
        fill=_read_number(item.take("fill", (float, int, dict)), f"{item.where}.fill"),
    )


def _read_node(item: "_Object") -> Node:
    params = item.take("params", dict)
    return Node(
        name=item.take("name", str),
        primitive=item.take("primitive", str),
        params={k: _read_value(v, f"{item.where}.params.{k}") for k, v in params.items()},
        inputs=tuple(_read_edge(edge) for edge in item.objects("inputs")),
    )


def _read_edge(item: "_Object") -> Connection:
    fields, names = item.many("fields", str), item.many("names", str)
    if len(fields) != len(names):
        raise ParseError(f"{item.where}.names: expected {len(fields)} names, one for each field")
    depth = item.take("depth", (int, type(None)))
    return Connection(
        item.take("port", str), item.take("node", str), item.take("output", str),
        fields, names, depth,
    )  # fmt: skip


def _read_number(value: Any, where: str) -> Number:
    if isinstance(value, dict):
        text = _Object(value, where).take("number", str)
        if text not in ("inf", "-inf"):
            raise ParseError(f"{where}.number: expected 'inf' or '-inf'")
        value = float(text)
    return number(value)


def _read_value(value: Any, where: str) -> ParamValue:
    match value:
        case bool() | int() | str():
            return value
        case float() | {"number": _}:
            return _read_number(value, where)
        case list():
            items = cast("list[Any]", value)
            # The checker judges whether the items are of one permitted type.
            return tuple(_read_value(item, where) for item in items)  # pyright: ignore[reportReturnType]
        case dict():
            item = _Object(value, where)
            return Extent(item.take("tensor", str), item.take("mode", int))
        case _:
            raise ParseError(f"{where}: expected a number, boolean, string, list or tensor mode")


class _Object:
    """A JSON object whose members are taken with their types checked."""

    def __init__(self, value: Any, where: str) -> None:
        self.where = where
        self._members: dict[str, Any] = _checked(value, dict, where)

    def take(self, name: str, wanted: Any) -> Any:
        if name not in self._members:
            raise ParseError(f"{self.where}: member '{name}' is missing")
        return _checked(self._members[name], wanted, f"{self.where}.{name}")

    def parsed(self, name: str, parse: Callable[[str], _Parsed]) -> _Parsed:
        text = self.take(name, str)
        try:
            return parse(text)
        except ParseError as error:
            raise ParseError(f"{self.where}.{name}: {error}") from None

    def many(self, name: str, wanted: Any) -> tuple[Any, ...]:
        return tuple(_checked(v, wanted, f"{self.where}.{name}") for v in self.take(name, list))

    def objects(self, name: str) -> list["_Object"]:
        return [
            _Object(value, f"{self.where}.{name}[{k}]")
            for k, value in enumerate(self.take(name, list))
        ]


_NAMES = {str: "a string", int: "an integer", float: "a number", dict: "an object", list: "a list"}


def _checked(value: Any, wanted: Any, where: str) -> Any:
    types = cast("tuple[type, ...]", wanted if isinstance(wanted, tuple) else (wanted,))
    if type(value) not in types:
        raise ParseError(f"{where}: expected {_NAMES[types[0]]}")
    return value
