"""What is done to a traced graph before it is lowered: checks, clean-up, layouts and places."""

import re
from collections.abc import Iterator, Sequence
from operator import getitem
from typing import Any, cast

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from fuseflow.mlir.bindings import SCOPE
from fuseflow.torch.arguments import Argument
from fuseflow.torch.errors import ExportError, is_users
from fuseflow.torch.scope import scope_of
from fuseflow.torch.untyped import operators, sparsity_encoding

_LINE = re.compile(r'File "([^"]+)", line ([0-9]+), in (\S+)')

_BY_INDEX = frozenset(
    (
        "index", "index_select", "gather", "scatter", "scatter_add", "scatter_reduce", "index_add",
        "index_put", "embedding", "take",
    )
)  # fmt: skip
"""Operators that read or write at places which a tensor names."""

_ASSERTION = torch.ops.aten._assert_tensor_metadata.default

_PRODUCTS = frozenset(("mm", "bmm", "mv", "addmm", "baddbmm", "matmul", "convolution"))


def placeholders(program: ExportedProgram) -> list[Node]:
    """Return one node an argument, in their order; constants are not among them."""
    given = {
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind == InputKind.USER_INPUT
    }
    return [node for node in program.graph.nodes if node.op == "placeholder" and node.name in given]


def check(program: ExportedProgram, arguments: Sequence[Argument]) -> None:
    """Refuse what has no meaning as a function of tensors.

    Raises
    ------
    ExportError
        The model writes to its arguments, draws random numbers, or reads where data says.
    """
    named = {
        node.name: argument for node, argument in zip(placeholders(program), arguments, strict=True)
    }
    for output in program.graph_signature.output_specs:
        if output.kind != OutputKind.USER_OUTPUT:
            changed = named.get(output.target or "")
            what = f"{changed.kind} '{changed.name}'" if changed else "constants"
            raise ExportError(f"the model changes its {what} in place: compute a new tensor")
    for node in program.graph.nodes:
        if node.op == "call_function" and node.target is not _ASSERTION:
            _check_node(node)


def _check_node(node: Node) -> None:
    operator: Any = node.target
    values: Any = node.meta.get("val")
    if not isinstance(operator, operators.OpOverload) and operator is not getitem:
        if isinstance(operator, operators.HigherOrderOperator):
            raise ExportError(
                f"{operator.__name__}{source(node)} is control flow or a context: write the model "
                "as one expression of tensors"
            )
        values = torch.SymInt
    for value in cast(list[Any], values) if isinstance(values, tuple | list) else [values]:
        if not isinstance(value, torch.Tensor) or any(
            isinstance(n, torch.SymInt) for n in value.shape
        ):
            raise ExportError(
                f"a number or a shape is taken from the data of a tensor{source(node)}: keep it in "
                "a tensor of fixed shape"
            )
        if value.dtype.is_complex:
            raise ExportError(f"{operator}{source(node)} computes complex numbers: use real ones")
    if operator is getitem:
        return
    if torch.Tag.nondeterministic_seeded in operator.tags:
        raise ExportError(
            f"{operator}{source(node)} draws random numbers: call model.eval() before, or give "
            "them as an input"
        )
    packet = operator.overloadpacket.__name__.rstrip("_")
    if packet in _BY_INDEX and any(map(_is_index, node.all_input_nodes)):
        raise ExportError(
            f"{operator}{source(node)} reads or writes where a tensor of indices says: multiply "
            "with a sparse 0/1 matrix instead"
        )
    if packet in _PRODUCTS:
        _check_product(node)


def _check_product(node: Node) -> None:
    """Refuse types that a trace lets pass, for it computes nothing."""
    kinds = {input.meta["val"].dtype for input in node.all_input_nodes}
    if len(kinds) > 1:
        both = " and ".join(sorted(str(kind).removeprefix("torch.") for kind in kinds))
        raise ExportError(
            f"{node.target}{source(node)} multiplies {both}, which PyTorch does not: convert one"
        )
    if torch.int8 in kinds:
        raise ExportError(
            f"{node.target}{source(node)} multiplies matrices of int8, which torch-mlir cannot "
            "lower: give int32"
        )


def _is_index(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and not value.dtype.is_floating_point


def source(node: Node) -> str:
    """Return `` at file:line`` of the model, or nothing where it is not known."""
    place = next(_places(node), None)
    return f" at {place[0]}:{place[1]}" if place else ""


def clean(graph: Graph) -> None:
    """Remove what computes nothing.

    That is clones, conversions to the same type, products with 1, and assertions about shapes and
    types, which the trace has fixed.
    """
    for node in list(graph.nodes):
        if node.target is _ASSERTION:
            graph.erase_node(node)
        elif node.op == "call_function" and _is_identity(node):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def _is_identity(node: Node) -> bool:
    before = node.args[0] if node.args else None
    if not isinstance(before, Node):
        return False
    old, new = before.meta.get("val"), node.meta.get("val")
    if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
        return False
    if old.shape != new.shape or old.dtype != new.dtype:
        return False
    match node.target, node.args[1:]:
        case torch.ops.aten.mul.Tensor | torch.ops.aten.div.Tensor, (1 | 1.0,):
            return True
        case target, _:
            return target in _COPIES


_COPIES = frozenset(
    (
        torch.ops.aten.clone.default, torch.ops.aten.alias.default, torch.ops.aten.detach.default,
        torch.ops.aten._to_copy.default, torch.ops.aten.lift_fresh_copy.default,
        torch.ops.prims.convert_element_type.default,
    )
)  # fmt: skip


def fold(program: ExportedProgram) -> None:
    """Compute what depends on no argument, so that it is a constant and not a computation.

    Tensors of one element and those that are filled with one number stay: they are numbers of an
    index expression.
    """
    values: dict[Node, Any] = {}
    constants = program.graph_signature.inputs_to_lifted_tensor_constants
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in constants:
            values[node] = program.constants[constants[node.name]]
        elif node.op == "call_function" and all(n in values for n in node.all_input_nodes):
            args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
            values[node] = node.target(*args, **kwargs)
    for node in reversed(list(program.graph.nodes)):
        if node.op != "call_function" or node not in values:
            continue
        if _is_number(node, values[node]) and node.users:
            continue
        node.replace_all_uses_with(values[node])
        program.graph.erase_node(node)


def _is_number(node: Node, value: object) -> bool:
    single = isinstance(value, torch.Tensor) and value.numel() == 1
    return single or node.target in _FILLED or not isinstance(value, torch.Tensor)


_FILLED = frozenset(
    (
        torch.ops.aten.full.default, torch.ops.aten.full_like.default,
        torch.ops.aten.zeros.default, torch.ops.aten.ones.default,
    )
)  # fmt: skip


def drop_unread(program: ExportedProgram, arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """Remove the parameters and buffers that nobody reads; return the arguments that remain.

    A counter of batches is one, or a weight that a pruning hook computes anew.
    """
    kept: list[Argument] = []
    for node, argument in zip(placeholders(program), arguments, strict=True):
        if argument.kind == "input" or node.users:
            kept.append(argument)
        else:
            program.graph.erase_node(node)
    return tuple(kept)


def encoding(argument: Argument) -> str:
    """Return the encoding in MLIR of a sparse argument's layout."""
    text: str = sparsity_encoding(argument.data)
    # MLIR has no blocks of 1: without the digits, the outer part of a mode is all of it.
    return re.sub(r",d[0-9]+ mod 1:dense", "", text.replace(" floordiv 1:", ":"))


def set_places(graph: Graph) -> None:
    """Leave of every node's trace the model's own line, and its scope; they become locations."""
    for node in graph.nodes:
        lines: list[str] = []
        place = next(_places(node), None)
        if place:
            lines.append('File "{}", line {}, in {}'.format(*place))
        scope = scope_of(node)
        # Without any line, torch-mlir would give a node the location of the one before.
        if scope or (not lines and node.op == "call_function"):
            lines.append(f'File "{SCOPE}{scope}", line 1, in {scope or "model"}')
        node.stack_trace = "\n".join(lines) or None


def _places(node: Node) -> Iterator[tuple[str, str, str]]:
    lines: list[tuple[str, str, str]] = _LINE.findall(node.stack_trace or "")
    return (line for line in reversed(lines) if is_users(line[0]))
