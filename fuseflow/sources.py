"""Everything that a program can be made of, and whether what comes with it fits."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fuseflow.compiler.expr import Access, Statement
from fuseflow.compiler.groups import GROUPS
from fuseflow.compiler.parse import parse
from fuseflow.compiler.program import Program, single
from fuseflow.compiler.program_text import parse_program, read_program
from fuseflow.samml.errors import LoweringError, ParseError, TensorError
from fuseflow.samml.formats import Format
from fuseflow.samml.values import INT32, ValueType, value_type
from fuseflow.tensor import Tensor

if TYPE_CHECKING:
    from fuseflow.lang import Computed

PROGRAM_SUFFIX = ".ff"
"""A text that ends so is the file of a program."""

MODEL_SUFFIXES = (".mlir", ".pt2", ".pt", ".pth")
"""A path that ends so is the file of a model."""

Anything: TypeAlias = "str | Path | Statement | Program | Computed | Mapping[str, Computed]"
"""What a program can be made of."""

_SEVERAL = re.compile(rf"[;\n{{#]|=\s*({'|'.join(GROUPS)})\s*\[")
"""What only a program has, if it is no line break within a statement."""


@dataclass(frozen=True)
class Found:
    """A program with what comes with it.

    Attributes
    ----------
    program : Program
    tensors : tuple of Tensor
    dims : dict of str to int
        Sizes of index variables that are declared, but of no stored tensor.
    """

    program: Program
    tensors: tuple[Tensor, ...] = ()
    dims: dict[str, int] = field(default_factory=dict[str, int])


def read(source: Anything, operands: Sequence[Any] = ()) -> Found:
    """Read a program.

    Parameters
    ----------
    source : str, Path, Statement, Program, Computed or mapping of str to Computed
    operands : sequence of Tensor
        Beside values, further ones, which are results too.

    Raises
    ------
    ParseError, TensorError
    """
    match source:
        case Program():
            return Found(source, tuple(operands))
        case Statement():
            return Found(single(source), tuple(operands))
        case Path():
            _refuse_model(str(source))
            return Found(read_program(source), tuple(operands))
        case str():
            return Found(read_text(source), tuple(operands))
        case _:
            return _recorded(source, operands)


def read_text(text: str) -> Program:
    """Read a statement, the text of a program, or its file.

    Raises
    ------
    ParseError
    """
    if text.endswith(PROGRAM_SUFFIX):
        return read_program(text)
    _refuse_model(text)
    if _SEVERAL.search(text) is None:
        return single(parse(text))
    try:
        return single(parse(text))
    except ParseError:
        return parse_program(text)


def _refuse_model(path: str) -> None:
    if path.endswith(MODEL_SUFFIXES):
        raise ParseError(
            f"'{path}' is a model, whose tensors are not those of one program: open it with "
            "fuseflow.open_model, prepare and compile that"
        )


def _recorded(source: "Computed | Mapping[str, Computed]", operands: Sequence[Any]) -> Found:
    """Make a program of values; see `fuseflow.lang`."""
    from fuseflow import lang

    named = dict(source) if isinstance(source, Mapping) else {}
    values = [source] if isinstance(source, lang.Computed) else []
    values += [each for each in operands if isinstance(each, lang.Computed)]
    program = lang.program(*values, **named)
    known = lang.operands(*values, *named.values())
    given = [each for each in operands if not isinstance(each, lang.Computed)]
    names = {each.name for each in given}
    stored = [each for each in known.values() if isinstance(each, Tensor)]
    declared = {n: each for n, each in known.items() if isinstance(each, lang.Tensor)}
    dims: dict[str, int] = {}
    for statement in program.statements:
        for access in statement.operands:
            if access.tensor in declared and access.tensor not in names:
                sizes = zip(access.indices, declared[access.tensor].shape, strict=True)
                dims |= {index: max(size, dims.get(index, 1)) for index, size in sizes}
    return Found(program, (*given, *(each for each in stored if each.name not in names)), dims)


def convert_operands(
    operands: Sequence[Tensor], formats: Mapping[str, Format]
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return operands by name, as they are and in the formats that a graph stores them in.

    Raises
    ------
    TensorError
        Two have one name.
    """
    tensors: dict[str, Tensor] = {}
    for tensor in operands:
        if tensor.name in tensors and tensor is not tensors[tensor.name]:
            raise TensorError(f"two operands are named '{tensor.name}': rename one")
        tensors[tensor.name] = tensor
    stored = {
        name: tensor.convert(formats.get(name, tensor.format)) for name, tensor in tensors.items()
    }
    return tensors, stored


def common_type(value: ValueType | str | None, operands: Sequence[Tensor]) -> ValueType:
    """Return the value type that was asked for or that operands have; int32 without either.

    Raises
    ------
    TensorError
        They differ.
    """
    if isinstance(value, str):
        value = value_type(value)
    for tensor in operands:
        if value is not None and tensor.value != value:
            raise TensorError(
                f"operand '{tensor.name}' is {tensor.value.name}, not {value.name}: give all "
                "operands one value type"
            )
        value = tensor.value
    return value or INT32


def read_formats(program: Program, formats: Mapping[str, Format | str]) -> dict[str, Format]:
    """Read format names; ``dense`` and ``sparse`` take the rank of the tensor."""
    return {
        name: Format.parse(form, program.ranks.get(name)) if isinstance(form, str) else form
        for name, form in {**program.formats, **formats}.items()
    }


def check_names(
    program: Program,
    tensors: Mapping[str, Tensor],
    formats: Mapping[str, Any],
    capacities: Mapping[str, Any],
    dims: Mapping[str, Any],
    fills: Mapping[str, Any],
) -> None:
    """Check that a program has everything that something was said of.

    Raises
    ------
    LoweringError, TensorError
    """
    title = f"'{program.statements[0]}'" if len(program.statements) == 1 else "the program"
    for names, known, what in (
        (formats, program.ranks, "tensor"),
        (tensors, program.ranks, "tensor"),
        (capacities, program.ranks, "tensor"),
        (fills, program.ranks, "tensor"),
        (dims, program.indices, "index"),
    ):
        for name in names:
            if name not in known:
                raise LoweringError(f"{title} has no {what} '{name}', only {', '.join(known)}")
    for name in (*tensors, *fills):
        if name not in program.inputs:
            raise LoweringError(f"{title} computes '{name}': it is no operand")
    for name, tensor in tensors.items():
        fill = {**program.fills, **fills}.get(name, tensor.fill)
        if name in program.fills and fill != tensor.fill:
            raise TensorError(
                f"operand '{name}' has fill {tensor.fill}, the program says {fill}: give both one"
            )


def check_sizes(program: Program, tensors: Mapping[str, Tensor]) -> None:
    """Check that the operands of a program of several statements fit together.

    Raises
    ------
    TensorError
        An index variable of a statement has two sizes.
    """
    if len(program.statements) == 1:
        return
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    for number, statement in enumerate(program.statements, 1):
        sizes: dict[str, tuple[int, Access]] = {}
        for access in statement.operands:
            shape = shapes.get(access.tensor)
            if shape is None:
                continue
            if len(shape) != len(access.indices):
                raise TensorError(
                    f"operand '{access.tensor}' has rank {len(shape)}, statement {number} "
                    f"'{statement}' reads {access}"
                )
            for index, size in zip(access.indices, shape, strict=True):
                other, first = sizes.setdefault(index, (size, access))
                if other != size:
                    raise TensorError(
                        f"statement {number} '{statement}': index {index} has size {other} in "
                        f"{_origin(program, first)} but {size} in "
                        f"{_origin(program, access).removesuffix(',')}"
                    )
        if all(index in sizes for index in statement.target.indices):
            target = statement.target
            shapes[target.tensor] = tuple(sizes[index][0] for index in target.indices)


def _origin(program: Program, access: Access) -> str:
    """Return an access, and the statement that computes what it reads."""
    made = program.producer(access.tensor)
    if made is None:
        return str(access)
    return f"{access}, which statement {made + 1} '{program.statements[made]}' computes,"
