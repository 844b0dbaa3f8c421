"""What statements read and make: declared tensors, stored ones, and computed values.

Tensors and index variables have provisional names, which begin with ``%``, until a program is
made of them (`fuseflow.lang.build`); the index variables of `einsum` have the user's.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from numbers import Integral, Real
from operator import index
from typing import TypeAlias

from fuseflow.compiler.expr import Access, Binary, Constant, Expr, Statement, Unary
from fuseflow.compiler.parse import FUNCTIONS, NAME
from fuseflow.lang.recording import Scope, scope
from fuseflow.samml.errors import ParseError, TensorError
from fuseflow.samml.formats import Format
from fuseflow.samml.values import Number, number
from fuseflow.tensor import Tensor as Stored
from fuseflow.tensor.check import check_shape

_EXACT = 10**18
"""A larger integer is kept as floating point, as in the text form."""

_serials = count()


class Value:
    """A tensor in a statement: an operand, or what a statement makes.

    Operators work on the elements.  Operands of one rank meet position by position; one of lower
    rank has the trailing modes; a number is at every element.  The index variables are those of
    an operand of the highest rank: of the first that is computed, or else of the first.

    Attributes
    ----------
    shape : tuple of int
    indices : tuple of str
        The index variables of the statement that made it.
    key : str
        Its provisional name.
    """

    __array_ufunc__ = None

    def __init__(self, shape: tuple[int, ...], indices: tuple[str, ...], key: str) -> None:
        self.shape = shape
        self.indices = indices
        self.key = key

    def __add__(self, other: "Given") -> "Computed":
        return _operator("add", self, other)

    def __radd__(self, other: "Given") -> "Computed":
        return _operator("add", other, self)

    def __sub__(self, other: "Given") -> "Computed":
        return _operator("sub", self, other)

    def __rsub__(self, other: "Given") -> "Computed":
        return _operator("sub", other, self)

    def __mul__(self, other: "Given") -> "Computed":
        return _operator("mul", self, other)

    def __rmul__(self, other: "Given") -> "Computed":
        return _operator("mul", other, self)

    def __truediv__(self, other: "Given") -> "Computed":
        return _operator("div", self, other)

    def __rtruediv__(self, other: "Given") -> "Computed":
        return _operator("div", other, self)

    def __neg__(self) -> "Computed":
        return unary("neg", self)

    def __abs__(self) -> "Computed":
        return unary("abs", self)

    def __repr__(self) -> str:
        return f"<{self}>"


class Tensor(Value):
    """An operand of a program.

    Parameters
    ----------
    name : str
    shape : sequence of int
    format : str, optional
        Such as ``CSR`` or ``ss:1,0``.
    fill : number, optional
        Its value at elements that it does not store.
    blocking : sequence of int, optional
        Of dense blocks; not implemented.

    Attributes
    ----------
    name : str
    format : str or None
    fill : number
    stored : fuseflow.Tensor or None
        Its contents, where they are known.

    Raises
    ------
    ParseError
        The name is none, or there is no such format.
    TensorError
        The shape does not fit the format, or the fill is NaN.
    NotImplementedError
        A blocking is given.
    """

    def __init__(
        self,
        name: str,
        shape: Sequence[int],
        format: str | None = None,
        *,
        fill: Number = 0,
        blocking: Sequence[int] | None = None,
    ) -> None:
        if NAME.fullmatch(name) is None or name in FUNCTIONS:
            raise ParseError(
                f"'{name}' cannot name a tensor: use letters, digits and _, and no function's name"
            )
        if blocking is not None:
            raise NotImplementedError(
                f"tensor '{name}': blocking {tuple(blocking)} is not implemented; leave it out"
            )
        try:
            sizes = tuple(index(size) for size in shape)
        except TypeError:
            raise TensorError(
                f"tensor '{name}': {shape!r} is no shape: give a whole number per mode"
            ) from None
        check_shape(name, sizes)
        if format is not None and Format.parse(format, len(sizes)).rank != len(sizes):
            raise TensorError(
                f"tensor '{name}': format {format} does not fit shape {sizes}: give a format with "
                "one letter per mode"
            )
        super().__init__(sizes, tuple(fresh_key() for _ in sizes), fresh_key())
        self.name = name
        self.format = format
        self.fill = as_fill(fill)
        self.stored: Stored | None = None

    def __str__(self) -> str:
        return f"'{self.name}' of shape {self.shape}"


class Computed(Value):
    """What a statement makes.

    Attributes
    ----------
    made_by : str
        The operation.
    statement : Statement
    operands : tuple of Value
        What the statement reads.
    scope : Scope
        Where it was made.
    serial : int
        When it was made.
    """

    def __init__(
        self,
        made_by: str,
        statement: Statement,
        operands: tuple[Value, ...],
        shape: tuple[int, ...],
        scope: Scope,
    ) -> None:
        super().__init__(shape, statement.target.indices, statement.target.tensor)
        self.made_by = made_by
        self.statement = statement
        self.operands = operands
        self.scope = scope
        self.serial = next(_serials)

    def __str__(self) -> str:
        return f"the result of {self.made_by} of shape {self.shape}"


Operand: TypeAlias = Value | Stored
"""A tensor that an operation takes."""
Given: TypeAlias = Operand | Number
"""What an operation on elements takes."""


def fresh_key() -> str:
    """Return a provisional name for a tensor or an index variable."""
    return f"%{next(_serials)}"


def is_given(key: str) -> bool:
    """Whether a name is the user's."""
    return not key.startswith("%")


def as_value(operand: Operand) -> Value:
    """Return an operand as a value.

    Raises
    ------
    ParseError, TensorError
        It is none, or its name is none.
    """
    if isinstance(operand, Value):
        return operand
    if not isinstance(operand, Stored):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TensorError(
            f"{type(operand).__name__} is no tensor: declare one, or store it (fuseflow.Tensor)"
        )
    declared = Tensor(operand.name, operand.shape, str(operand.format), fill=operand.fill)
    declared.stored = operand
    return declared


def as_constant(value: Number) -> Constant:
    """Return a number, which may be NumPy's, as a constant.

    Raises
    ------
    TensorError
        It is none, or not finite.
    """
    if not isinstance(value, Real):
        raise TensorError(
            f"{type(value).__name__} is neither tensor nor number: declare a tensor, or store it "
            "(fuseflow.Tensor)"
        )
    if isinstance(value, Integral) and abs(int(value)) < _EXACT:
        return Constant(int(value))
    try:
        size = float(value)
    except OverflowError:
        size = math.inf
    if not math.isfinite(size):
        raise TensorError(f"{size} is no constant: give a finite number")
    return Constant(number(size))


def as_fill(value: Number) -> Number:
    """Return a number as a fill, which may be infinite.

    Raises
    ------
    TensorError
        It is NaN.
    """
    if math.isnan(value):
        raise TensorError("nan is no fill: give a number, inf or -inf")
    return number(float(value)) if math.isfinite(value) else float(value)


def record(
    made_by: str,
    statements: Sequence[Statement],
    operands: Sequence[Value],
    sizes: Mapping[str, int],
) -> Computed:
    """Record statements.

    Parameters
    ----------
    made_by : str
        What errors call the operation.
    statements : sequence of Statement
        Each may read those before it.
    operands : sequence of Value
        What they read beside.
    sizes : mapping of str to int
        Of every index variable.

    Returns
    -------
    Computed
        What the last one makes.

    Raises
    ------
    TensorError
        An operand belongs to another recording.
    """
    current = scope()
    for operand in operands:
        if isinstance(operand, Computed) and operand.scope.recording is not current.recording:
            raise TensorError(
                f"{made_by}: {operand} belongs to another recording: use values in the recording "
                "that made them"
            )
    for schedule in filter(None, (current.recording, current.region)):
        schedule.indices.update(filter(is_given, sizes))
    known = {operand.key: operand for operand in operands}
    made: Computed | None = None
    for statement in statements:
        read = dict.fromkeys(known[access.tensor] for access in statement.operands)
        shape = tuple(sizes[index] for index in statement.target.indices)
        made = Computed(made_by, statement, tuple(read), shape, current)
        known[made.key] = made
    assert made is not None, "an operation is one statement or more"
    return made


def elementwise(
    made_by: str, operands: Sequence[Given], combine: Callable[[list[Expr]], Expr]
) -> Computed:
    """Record an operation on elements; see `Value` for how operands meet.

    Parameters
    ----------
    made_by : str
    operands : sequence of Value, fuseflow.Tensor or number
    combine : callable
        From one expression per operand to the value.

    Raises
    ------
    TensorError
        Two operands do not fit, or none is a tensor.
    """
    given = [
        as_value(each) if isinstance(each, Value | Stored) else as_constant(each)
        for each in operands
    ]
    values = [each for each in given if isinstance(each, Value)]
    if not values:
        raise TensorError(f"{made_by}: no operand is a tensor; compute it in Python")
    lead = max(values, key=lambda value: (len(value.shape), isinstance(value, Computed)))
    exprs: list[Expr] = []
    for each in given:
        if isinstance(each, Value):
            skipped = len(lead.shape) - len(each.shape)
            if each.shape != lead.shape[skipped:]:
                raise TensorError(
                    f"{made_by}: {each} does not fit {lead}: its modes must be the last ones there"
                )
            exprs.append(Access(each.key, lead.indices[skipped:]))
        else:
            exprs.append(each)
    statement = Statement(Access(fresh_key(), lead.indices), combine(exprs))
    return record(made_by, [statement], values, dict(zip(lead.indices, lead.shape, strict=True)))


def unary(op: str, operand: Operand) -> Computed:
    """Record a function of one operand's elements."""
    return elementwise(op, [as_value(operand)], lambda exprs: Unary(op, exprs[0]))


def binary(op: str, left: Given, right: Given) -> Computed:
    """Record an operation on two operands' elements."""
    return elementwise(op, [left, right], lambda exprs: Binary(op, *exprs))


def _operator(op: str, left: Given, right: Given) -> Computed:
    if not all(isinstance(each, Value | Stored | Real) for each in (left, right)):
        return NotImplemented
    return binary(op, left, right)
