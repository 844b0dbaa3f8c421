"""The primitive catalog: one definition per primitive, read by every floor.

An entry gives ports, parameters, the stream types that follow from them, and the
*units* that the primitive is made of.  A unit fires at most once a cycle; units of one
primitive are joined by internal streams that obey the same rules as every other edge.
Nothing elsewhere restates a port or a latency.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

from fuseflow.samml import functions
from fuseflow.samml.graph import Extent, ParamValue
from fuseflow.samml.streams import Field, Kind, Level, StreamType
from fuseflow.samml.values import ValueType

Params = Mapping[str, Any]
Types = Mapping[str, StreamType]

REQUIRED = object()
"""Default of a parameter that has none."""


class TypeRuleError(Exception):
    """An input's stream type does not fit; the graph checker turns it into a problem."""


@dataclass(frozen=True)
class Param:
    """A compile-time parameter of a primitive.

    Attributes
    ----------
    name, doc : str
    type : type or tuple of str
        ``int``, ``float`` (any number), ``bool``, ``str``, `Extent`, a tuple type, or the
        permitted words.
    default : object
        `REQUIRED` where there is none.
    least : int or None
        Smallest value of a number, or of every number of a list.
    floating : tuple of str
        The permitted words that a graph of an integer type may not use.
    """

    name: str
    type: Any
    doc: str
    default: Any = REQUIRED
    least: int | None = None
    floating: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[str, ...]:
        """The permitted words; empty where any value of the type will do."""
        wanted: object = self.type
        return cast("tuple[str, ...]", wanted) if isinstance(wanted, tuple) else ()

    @property
    def wanted(self) -> str:
        """The type in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        element, *tail = get_args(self.type) or (self.type,)
        return ("a list of " if tail else "") + _TYPE_NAMES[element]

    def fits(self, value: object) -> bool:
        """Whether a value is of this parameter's type."""
        if self.choices:
            return value in self.choices
        if elements := get_args(self.type):
            return isinstance(value, tuple) and all(
                _is_a(item, elements[0]) for item in cast("tuple[object, ...]", value)
            )
        return _is_a(value, self.type)


def _is_a(value: object, wanted: Any) -> bool:
    return type(value) is wanted or (wanted is float and type(value) is int)


_TYPE_NAMES: dict[Any, str] = {
    int: "int",
    float: "number",
    bool: "yes or no",
    str: "word",
    Extent: "tensor.mode",
}


@dataclass(frozen=True)
class Input:
    """An input port.

    Attributes
    ----------
    name : str
    roles : tuple of (str, tuple of Kind)
        The fields that the primitive itself reads, and the kinds it takes for each.
    passengers : bool
        Further fields ride along under their own names.
    doc : str
    """

    name: str
    roles: tuple[tuple[str, tuple[Kind, ...]], ...]
    doc: str
    passengers: bool = False


@dataclass(frozen=True)
class Unit:
    """A part of a primitive that fires at most once a cycle.

    Attributes
    ----------
    name : str
        Empty where the primitive is one unit.
    reads, writes : tuple of str
        Ports of the primitive or its internal streams.
    latency : int
        A token issued in cycle t can be read from cycle t + latency.
    holds : bool
        A survivor waits in a holder for at least one cycle before it is issued.
    closes : tuple of int
        Levels of the first input (counted from its end, negative) that may pass through
        before the first output.
    banks : int
        Rows that may be under way beyond that (accumulate).
    counts : str
        What one firing is.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    latency: int
    counts: str
    holds: bool = False
    closes: tuple[int, ...] = ()
    banks: int = 0


@dataclass(frozen=True)
class Internal:
    """An internal stream between two units of one primitive."""

    type: StreamType
    depth: int


@dataclass(frozen=True)
class Primitive:
    """A catalog entry.

    Attributes
    ----------
    name, summary, rule : str
        The rule is that of TOKENS, in words.
    params : tuple of Param
    inputs : callable
        ``inputs(params) -> tuple of Input``.
    outputs : callable
        ``outputs(node name, params, input types) -> {port: StreamType}``; raises
        `TypeRuleError`.
    units : callable
        ``units(params, value type) -> tuple of Unit``, in dataflow order.
    internals : callable
        ``internals(params, value type, input types) -> {stream: Internal}``.
    hazards : tuple of str
        Every reason beside heads and room for which a unit may wait.
    memories : tuple of str
        Tensor arrays it reads or writes: ``seg``, ``crd``, ``val``.
    """

    name: str
    summary: str
    rule: str
    params: tuple[Param, ...]
    inputs: Callable[[Params], tuple[Input, ...]]
    outputs: Callable[[str, Params, Types], dict[str, StreamType]]
    units: Callable[[Params, ValueType], tuple[Unit, ...]]
    internals: Callable[[Params, ValueType, Types], dict[str, Internal]] = (
        lambda _params, _value, _types: {}
    )
    hazards: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()

    def complete(self, params: Mapping[str, ParamValue]) -> dict[str, ParamValue]:
        """Return the parameters with defaults filled in, in catalog order."""
        return {
            param.name: params.get(param.name, param.default)
            for param in self.params
            if param.name in params or param.default is not REQUIRED
        }


CRD = ("crd", (Kind.CRD,))
REF = ("ref", (Kind.REF,))
VAL = ("val", (Kind.VAL,))
DATA = (Kind.REF, Kind.VAL)
ADDEND = ("val", (Kind.VAL, Kind.SUM))
FOLDS = ("sum", "max", "min")
WIDE = Param("wide", bool, "whether a sum goes into a further sum unrounded", False)

INDEX = Param("index", str, "index variable of the new level")
TENSOR = Param("tensor", str, "tensor whose arrays are used")
LEVEL = Param("level", int, "storage level of the tensor, 0 outermost", least=0)


def _same(what: str, left: StreamType, right: StreamType) -> None:
    if left.levels != right.levels:
        raise TypeRuleError(f"{what} are not aligned: {left} and {right}")


def _rank(what: str, stream: StreamType, least: int) -> None:
    if stream.rank < least:
        raise TypeRuleError(f"{what} needs rank {least} or more, got {stream}")


def _last(stream: StreamType, maker: str) -> tuple[Level, ...]:
    """Levels of a stream whose innermost one is made anew by a node."""
    return (*stream.levels[:-1], replace(stream.levels[-1], maker=maker))


def _one(
    reads: tuple[str, ...], writes: tuple[str, ...], counts: str, **more: Any
) -> tuple[Unit, ...]:
    return (Unit("", reads, writes, more.pop("latency", 1), counts, **more),)


# --- where streams begin and end -------------------------------------------------------

ROOT = Primitive(
    name="root",
    summary="Starts a run: one rank-0 ref per accepted start.",
    rule="Emits the token `(0,0,0)` once per accepted start, in cycle 0 at the earliest.",
    params=(),
    inputs=lambda p: (),
    outputs=lambda n, p, t: {"out": StreamType((Field("ref", Kind.REF),), ())},
    units=lambda p, v: _one((), ("out",), "starts"),
)


def _source_outputs(name: str, params: Params, _types: Types) -> dict[str, StreamType]:
    kinds = {kind.value: kind for kind in Kind}
    fields: list[Field] = []
    for text in params["fields"]:
        field, _, kind = text.partition("/")
        if not field or kind not in kinds:
            raise TypeRuleError(f"field '{text}' is not of the form name/kind")
        fields.append(Field(field, kinds[kind]))
    levels = tuple(Level(index, params["space"] or name) for index in params["levels"])
    return {"out": StreamType(tuple(fields), levels)}


SOURCE = Primitive(
    name="source",
    summary="Plays a recorded list of tokens into the graph.",
    rule="Emits its recorded tokens in order, one per firing. Used by benches.",
    params=(
        Param("fields", tuple[str, ...], "fields of the bundle, each as name/kind"),
        Param("levels", tuple[str, ...], "index variables of the stream, outermost first", ()),
        Param("space", str, "name shared by sources whose streams are aligned", ""),
        Param("words", int, "capacity of the token memory", 256, least=1),
    ),
    inputs=lambda p: (),
    outputs=_source_outputs,
    units=lambda p, v: _one((), ("out",), "tokens"),
)

SINK = Primitive(
    name="sink",
    summary="Takes tokens from the graph and counts the streams that end.",
    rule="Pops every token. A run ends when it has seen the expected number of whole streams.",
    params=(),
    inputs=lambda p: (Input("in", (), "any stream", passengers=True),),
    outputs=lambda n, p, t: {},
    units=lambda p, v: _one(("in",), (), "tokens"),
)

# --- reading tensors -------------------------------------------------------------------


def _scan_outputs(name: str, params: Params, types: Types) -> dict[str, StreamType]:
    levels = (*types["ref"].levels, Level(params["index"], name))
    fields = [Field("crd", Kind.CRD)]
    if params.get("bound", True):
        fields.append(Field("ref", Kind.REF))
    return {"out": StreamType(tuple(fields), levels)}


SCAN_DENSE = Primitive(
    name="scan_dense",
    summary="Iterates every coordinate of a dense level, or of an index's universe.",
    rule=(
        "`(p,0,c)` with size n > 0 gives n tokens `{crd, ref = p*n + crd}`, close 0 but the last, "
        "which has c+1. n = 0 or p null: `(-,1,c+1)`. `(-,e,c)`: `(-,e+1,c+1)`. One output token "
        "per firing; the input is popped by the last. Unbound (`bound=no`), it reads no field and "
        "writes no ref."
    ),
    params=(
        INDEX,
        Param("size", Extent, "the level's run-time size"),
        Param("bound", bool, "whether a tensor's level is scanned", True),
    ),
    inputs=lambda p: (Input("ref", (REF,) if p["bound"] else (), "position in the level above"),),
    outputs=_scan_outputs,
    units=lambda p, v: _one(("ref",), ("out",), "output tokens"),
)

SCAN_COMPRESSED = Primitive(
    name="scan_compressed",
    summary="Iterates the stored coordinates of a compressed level.",
    rule=(
        "`(p,0,c)` with children lo..hi-1 = seg[p]..seg[p+1]-1 gives `{crd[q], ref = q}` for "
        "each, close 0 but the last, which has c+1. No children or p null: `(-,1,c+1)`. "
        "`(-,e,c)`: `(-,e+1,c+1)`. `lookup` turns a ref into lo, hi, one firing a token; `emit` "
        "writes one output token per firing and pops on the last."
    ),
    params=(INDEX, TENSOR, LEVEL),
    inputs=lambda p: (Input("ref", (REF,), "position in the level above"),),
    outputs=_scan_outputs,
    units=lambda p, v: (
        Unit("lookup", ("ref",), ("span",), 2, "input tokens"),
        Unit("emit", ("span",), ("out",), 2, "output tokens"),
    ),
    internals=lambda p, v, t: {
        "span": Internal(
            StreamType((Field("lo", Kind.POS), Field("hi", Kind.POS)), t["ref"].levels), 3
        )
    },
    memories=("seg", "crd"),
)


def _locate_outputs(name: str, params: Params, types: Types) -> dict[str, StreamType]:
    if params["parent"]:
        _same("crd and parent", types["crd"], types["parent"])
    return {"out": StreamType((Field("ref", Kind.REF),), types["crd"].levels)}


LOCATE = Primitive(
    name="locate",
    summary="Indexes a dense level by coordinate instead of scanning it.",
    rule=(
        "ref = parent*size + crd; a null parent gives null; empty: copy. Without a parent port "
        "(the level above is the root) ref = crd. crd >= size raises the sticky range error."
    ),
    params=(
        Param("size", Extent, "the level's run-time size"),
        Param("parent", bool, "whether there is a parent port", True),
    ),
    inputs=lambda p: (
        Input("crd", (CRD,), "coordinate to find"),
        *((Input("parent", (("parent", (Kind.REF,)),), "position above"),) if p["parent"] else ()),
    ),
    outputs=_locate_outputs,
    units=lambda p, v: _one(("crd", "parent") if p["parent"] else ("crd",), ("out",), "tokens"),
)

ARRAY = Primitive(
    name="array",
    summary="Loads a value by reference.",
    rule="ref gives mem[ref]; null gives the tensor's fill; empty: copy.",
    params=(TENSOR,),
    inputs=lambda p: (Input("ref", (REF,), "position in the value array"),),
    outputs=lambda n, p, t: {"out": StreamType((Field("val", Kind.VAL),), t["ref"].levels)},
    units=lambda p, v: _one(("ref",), ("out",), "tokens", latency=2),
    memories=("val",),
)

# --- combining streams -----------------------------------------------------------------


def _repeat_outputs(name: str, params: Params, types: Types) -> dict[str, StreamType]:
    x, signal = types["x"], types["signal"]
    _rank("signal", signal, 1)
    if x.levels != signal.levels[:-1]:
        raise TypeRuleError(
            f"x must be aligned with all but the last level of signal: {x}, {signal}"
        )
    return {"out": StreamType(x.fields, signal.levels)}


REPEAT = Primitive(
    name="repeat",
    summary="Repeats a ref or value for every token of a deeper stream.",
    rule=(
        "Signal `(s,0,c)` gives `(x,0,c)`; `(-,1,c)` gives `(-,1,c)`; `(-,e,c)` with e >= 2 needs "
        "the head of x to be `(-,e-1,c-1)`; copy. Every firing needs both heads; x is popped when "
        "c >= 1. Null refs are repeated as they are."
    ),
    params=(),
    inputs=lambda p: (
        Input("x", (("x", DATA),), "what is repeated, one rank below the signal"),
        Input("signal", (), "the stream to follow"),
    ),
    outputs=_repeat_outputs,
    units=lambda p, v: _one(("x", "signal"), ("out",), "signal tokens"),
)


def _join_outputs(name: str, params: Params, types: Types) -> dict[str, StreamType]:
    left, right = types["left"], types["right"]
    _rank("left", left, 1)
    if left.levels[:-1] != right.levels[:-1] or left.levels[-1].index != right.levels[-1].index:
        raise TypeRuleError(f"left and right iterate different levels: {left} and {right}")
    fields = (*left.fields, *right.fields[1:])
    if len({field.name for field in fields}) != len(fields):
        raise TypeRuleError(f"left and right carry fields of one name: {left} and {right}")
    return {"out": StreamType(fields, _last(left, name))}


def _join_inputs(_params: Params) -> tuple[Input, ...]:
    return tuple(
        Input(side, (CRD,), "coordinates and what rides along", passengers=True)
        for side in ("left", "right")
    )


INTERSECT = Primitive(
    name="intersect",
    summary="Keeps the coordinates that both sides have.",
    rule=(
        "Innermost fibers are merged; the fields of both sides ride along. A match gives one "
        "token; a fiber without a match gives `(-,1,c)`; heads with e >= 2 are equal and are "
        "copied. One firing per merge step; a match waits in the holder until it is known whether "
        "it is its fiber's last."
    ),
    params=(),
    inputs=_join_inputs,
    outputs=_join_outputs,
    units=lambda p, v: _one(("left", "right"), ("out",), "merge steps", holds=True, closes=(-1,)),
)

UNION = Primitive(
    name="union",
    summary="Keeps the coordinates that either side has.",
    rule=(
        "As intersect, with every coordinate of either side; the missing side's refs are null and "
        "its values are its fill; both empty gives `(-,1,c)`. Every step writes one token."
    ),
    params=(
        Param("left", float, "value of the left side's val fields where it is missing", 0),
        Param("right", float, "the same of the right side", 0),
    ),
    inputs=_join_inputs,
    outputs=_join_outputs,
    units=lambda p, v: _one(("left", "right"), ("out",), "merge steps"),
)


def _latency(op: str, value: ValueType) -> int:
    """Return the latency of an operation: a comparison or a change of sign takes a cycle."""
    if op in functions.FLOATING:
        return functions.latency(op, value)
    return {
        "add": value.adder, "sub": value.adder, "shift": value.adder,
        "mul": value.multiplier, "scale": value.multiplier,
        "affine": value.multiplier + value.adder,
    }.get(op, 1)  # fmt: skip


def _operands() -> tuple[Input, ...]:
    return tuple(Input(name, ((name, (Kind.VAL,)),), "operand") for name in ("a", "b"))


def _alu_outputs(name: str, params: Params, types: Types) -> dict[str, StreamType]:
    _same("a and b", types["a"], types["b"])
    if params["wide"] and params["relu"]:
        raise TypeRuleError(
            "a wide product goes into a sum as it is: 'relu' must stand behind that"
        )
    if params["wide"] and params["op"] != "mul":
        raise TypeRuleError(f"'{params['op']}' has no wide result, only mul has")
    kind = Kind.SUM if params["wide"] else Kind.VAL
    return {"out": StreamType((Field("val", kind),), types["a"].levels)}


ALU = Primitive(
    name="alu",
    summary="Combines two value streams element by element.",
    rule=(
        "Both operands have the same empty and close; empty: copy. max and min give NaN where an "
        "operand is one, and -0 < +0. `div`, of floating point only, is the quotient rounded once: "
        "x / 0 is an infinity, which is exact and raises no flag, and 0 / 0 is NaN. A `wide` "
        "product is in the wide type, which holds it without rounding where the operands are "
        "narrower. With `relu`, which `wide` excludes, the rounded result leaves as max(result, "
        "+0), NaN as NaN, in the same latency; an overflow that relu hides raises the flag too."
    ),
    params=(
        Param(
            "op",
            ("add", "sub", "mul", "div", "max", "min"),
            "the operation, a op b",
            floating=("div",),
        ),
        Param("wide", bool, "whether a product goes into a sum unrounded", False),
        Param("relu", bool, "whether the result goes through relu", False),
    ),
    inputs=lambda p: _operands(),
    outputs=_alu_outputs,
    units=lambda p, v: _one(("a", "b"), ("out",), "tokens", latency=_latency(p["op"], v)),
)

ELEMENTARY = ("reciprocal", "sqrt", *functions.TABULATED)
"""Functions of one operand of floating point alone."""

UNARY = Primitive(
    name="unary",
    summary="Applies a function of one value, or of a value and a constant, to every element.",
    rule=(
        "empty: copy. `neg` and `abs` change the sign alone; `relu` is max(x, +0); `scale` is "
        "x * constant, `shift` x + constant, `max` and `min` compare with it, as alu does. "
        "`affine` is a scale by constant and a shift by offset: rounded twice, and either raises "
        "the flag. What follows is of floating point only. `reciprocal` (1 / x) and `sqrt` are "
        "rounded once; `exp`, `log`, `sigmoid` (1 / (1 + exp -x)), `tanh`, `gelu` (x times the "
        "normal distribution at x) and `rsqrt` (1 / sqrt x) are less than one unit of the last "
        "place from the exact value, in fp32 less than two, but gelu below -4 by up to 2^-24 * x "
        "more. Ends are limits: 1 / 0 and rsqrt 0 are infinities of that zero's sign, log 0 is "
        "-inf, gelu of -inf is -0, and none of these raises a flag; sqrt, log and rsqrt below 0 "
        "are NaN, and sqrt of -0 is -0."
    ),
    params=(
        Param(
            "op",
            ("neg", "abs", "relu", "scale", "shift", "affine", "max", "min", *ELEMENTARY),
            "the function",
            floating=ELEMENTARY,
        ),
        Param("constant", float, "second operand of scale, shift, affine, max and min", 0),
        Param("offset", float, "what affine adds to the product", 0),
    ),
    inputs=lambda p: (Input("a", (("a", (Kind.VAL,)),), "operand"),),
    outputs=lambda n, p, t: {"out": StreamType((Field("val", Kind.VAL),), t["a"].levels)},
    units=lambda p, v: _one(("a",), ("out",), "tokens", latency=_latency(p["op"], v)),
)

# --- reductions ------------------------------------------------------------------------


def _reduce_inputs(params: Params) -> tuple[Input, ...]:
    return _operands() if params["multiply"] else (Input("val", (ADDEND,), "values to fold"),)


def _reduce_outputs(name: str, params: Params, types: Types) -> dict[str, StreamType]:
    if params["multiply"]:
        _same("a and b", types["a"], types["b"])
    port, folded = next(iter(types.items()))
    _rank(port, folded, 1)
    return {"out": StreamType((_folded(params, folded),), folded.levels[:-1])}


def _folded(params: Params, folded: StreamType) -> Field:
    """Return the field of a fold's results."""
    wide = folded.fields[0].kind is Kind.SUM or params["wide"]
    if wide and params["op"] != "sum":
        raise TypeRuleError(f"'{params['op']}' folds values, not wide sums")
    return Field("val", Kind.SUM if params["wide"] else Kind.VAL)


REDUCE = Primitive(
    name="reduce",
    summary="Folds every innermost fiber to one value.",
    rule=(
        "A token with c >= 1 and e <= 1 emits `(acc,0,c-1)`, the fiber `(-,1,c)` the identity; "
        "`(-,e,c)` with e >= 2 gives `(-,e-1,c-1)`. Room is needed at close >= 1 only. A "
        "floating-point sum goes over K = 8 lanes in the wide type: element n is added to the sum "
        "of element n - K, the first K are stored; at the fiber's end the last min(n, K) sums, "
        "oldest first, combine in log2 K rounds of neighbouring pairs (old + new), an odd last "
        "one passes; the total is rounded once, unless it is `wide`. L = K + A log2 K, A the "
        "wide adder's latency. With `multiply` a and b have the same empty and close, every firing "
        "needs and pops both, and a * b is folded: a product as alu's for max and min, as its "
        "`wide` one for sums; L is then greater by the multiplier's latency, and all else is that "
        "of the fold."
    ),
    params=(
        Param("op", FOLDS, "the fold", "sum"),
        WIDE,
        Param("multiply", bool, "whether products of two inputs are folded", False),
    ),
    inputs=_reduce_inputs,
    outputs=_reduce_outputs,
    units=lambda p, v: _one(
        ("a", "b") if p["multiply"] else ("val",),
        ("out",),
        "input tokens",
        closes=(-1,),
        latency=p["multiply"] * v.multiplier + _reduce_latency(p["op"], v),
    ),
)


def _reduce_latency(op: str, value: ValueType) -> int:
    """Return the latency of a fold: interleaved lanes and the rounds that combine them."""
    if op != "sum" or value.lanes == 1:
        return 1
    return value.lanes + value.wide.adder * (value.lanes.bit_length() - 1)


def _accumulate_inputs(params: Params) -> tuple[Input, ...]:
    inner = (Input("crd", (CRD,), "kept coordinate"), Input("val", (ADDEND,), "value to add there"))
    if params["kept"] == 2:
        return (Input("outer", (CRD,), "outer kept coordinate, one rank less"), *inner)
    return inner


def _accumulate_outputs(name: str, params: Params, types: Types) -> dict[str, StreamType]:
    kept, crd = params["kept"], types["crd"]
    _same("crd and val", crd, types["val"])
    _rank("crd", crd, kept + 1)
    val = _folded(params, types["val"])
    levels = crd.levels[: -kept - 1] + tuple(
        Level(level.index, name) for level in crd.levels[-kept:]
    )
    out = {
        "out": StreamType((Field("crd", Kind.CRD), val), levels),
    }
    if kept == 2:
        if types["outer"].levels != crd.levels[:-1]:
            raise TypeRuleError(f"outer must be aligned with crd: {types['outer']}, {crd}")
        out["outer"] = StreamType((Field("crd", Kind.CRD),), levels[:-1])
    return out


def fold_latency(params: Params, value: ValueType) -> int:
    """Return the latency A of an accumulate's adder, or of its comparator."""
    return params["adder"] or (value.wide.adder if params["op"] == "sum" else 1)


def _accumulate_units(params: Params, value: ValueType) -> tuple[Unit, ...]:
    adder = fold_latency(params, value)
    outer = ("outer",) if params["kept"] == 2 else ()
    return (
        Unit(
            "fill",
            ("crd", "val", *outer),
            ("row",),
            max(3, adder + 1),
            "input tokens",
            closes=tuple(range(-params["kept"] - 1, 0)),
            banks=params["banks"],
        ),
        Unit("emit", ("row",), ("out", *outer), 3, "output tokens"),
    )


ACCUMULATE = Primitive(
    name="accumulate",
    summary="Folds an outer level while keeping one or two inner levels.",
    rule=(
        "A row ends with a token of close > kept; its payloads are folded at their coordinates in "
        "order of arrival, sums in the wide type, and rounded once when they leave, unless "
        "`wide`. A row of one token with e >= kept + 2 passes with e and close one less. Any other "
        "row emits its touched coordinates ascending, the last closing the row, or one empty token "
        "where none is touched. `dense` mode emits 0..size-1, the identity where nothing was "
        "folded. With two kept levels the outer coordinate is issued with the last inner token of "
        "its fiber; an outer coordinate that no payload touched does not appear. `fill` fires "
        "once per input token; the first token of a row takes a bank, which the last firing of "
        "`emit` for that row releases."
    ),
    params=(
        Param("kept", int, "kept levels below the summed one: 1 or 2"),
        Param("size", tuple[Extent, ...], "run-time sizes of the kept levels, outermost first"),
        Param("op", FOLDS, "the fold", "sum"),
        WIDE,
        Param("mode", ("sparse", "dense"), "emit touched coordinates, or all (kept = 1)", "sparse"),
        Param("banks", int, "rows that may be under way at once", 4, least=1),
        Param("adder", int, "latency of the fold in cycles; 0 is the value type's own", 0, least=0),
    ),
    inputs=_accumulate_inputs,
    outputs=_accumulate_outputs,
    units=_accumulate_units,
    internals=lambda p, v, t: {
        "row": Internal(
            StreamType((), t["crd"].levels[: -p["kept"] - 1]),
            max(p["banks"], max(3, fold_latency(p, v) + 1) + 1),
        )
    },
    hazards=(
        "bank: a row's first token waits until a bank is free",
        "coordinate: a payload waits until the adder has taken the row's previous payload at the "
        "same coordinate",
    ),
)

# --- dropping --------------------------------------------------------------------------


def _drop_value_outputs(name: str, params: Params, types: Types) -> dict[str, StreamType]:
    _same("crd and val", types["crd"], types["val"])
    _rank("crd", types["crd"], 1)
    return {
        "out": StreamType(
            (Field("crd", Kind.CRD), Field("val", Kind.VAL)), _last(types["crd"], name)
        )
    }


DROP_VALUE = Primitive(
    name="drop_value",
    summary="Removes entries whose value equals the fill.",
    rule=(
        "A filter of height 0 that drops payloads numerically equal to the fill (-0 == 0, a "
        "subnormal is 0, NaN equals nothing); a fiber of which all is dropped gives `(-,1,c)`."
    ),
    params=(Param("fill", float, "the value that is not stored", 0),),
    inputs=lambda p: (Input("crd", (CRD,), "coordinate"), Input("val", (VAL,), "its value")),
    outputs=_drop_value_outputs,
    units=lambda p, v: _one(("crd", "val"), ("out",), "tokens", holds=True, closes=(-1,)),
)


def _drop_empty_inputs(params: Params) -> tuple[Input, ...]:
    inner = tuple(
        Input(f"inner{k}", (), f"a stream that lies {height} below outer", passengers=True)
        for k, height in enumerate(params["heights"])
    )
    return (
        Input("outer", (CRD,), "coordinates to thin"),
        Input("signal", (), "any one inner stream"),
        *inner,
    )


def _drop_empty_outputs(name: str, params: Params, types: Types) -> dict[str, StreamType]:
    outer = types["outer"]
    _rank("outer", outer, 1)
    levels = _last(outer, name)
    out = {"outer": StreamType(outer.fields, levels)}
    heights = (params["signal"], *params["heights"])
    ports = ("signal", *(f"inner{k}" for k in range(len(params["heights"]))))
    for port, height in zip(ports, heights, strict=True):
        inner = types[port]
        if inner.rank != outer.rank + height or inner.levels[: outer.rank] != outer.levels:
            raise TypeRuleError(f"{port} must lie {height} levels below outer: {inner} and {outer}")
        if port != "signal":
            out[port] = StreamType(inner.fields, levels + inner.levels[outer.rank :])
    return out


DROP_EMPTY = Primitive(
    name="drop_empty",
    summary="Removes outer coordinates whose inner fiber is empty.",
    rule=(
        "The fiber of an outer coordinate is empty iff the inner token has e = h, h being how "
        "many levels the inner stream lies below. `drop_inner` filters an inner stream by itself "
        "(filter of height h, drops e = h). `drop_outer` pops signal tokens with close < h alone; "
        "one with close >= h goes with the head of outer and is the step of a filter of height 0 "
        "that drops iff e = h."
    ),
    params=(
        Param("signal", int, "how many levels the signal lies below outer", least=1),
        Param("heights", tuple[int, ...], "the same of every inner stream", least=1),
    ),
    inputs=_drop_empty_inputs,
    outputs=_drop_empty_outputs,
    units=lambda p, v: (
        Unit(
            "drop_outer",
            ("outer", "signal"),
            ("outer",),
            1,
            "signal tokens",
            holds=True,
            closes=(-1,),
        ),
        *(
            Unit(
                f"drop_inner{k}",
                (f"inner{k}",),
                (f"inner{k}",),
                1,
                "tokens",
                holds=True,
                closes=(-height - 1,),
            )
            for k, height in enumerate(p["heights"])
        ),
    ),
)

# --- writing tensors -------------------------------------------------------------------

WRITE_CRD = Primitive(
    name="write_crd",
    summary="Stores the coordinates and segments of a compressed result level.",
    rule=(
        "A payload appends crd; a token with c >= 1 and e <= 1 appends seg = count; e >= 2 "
        "appends nothing. Word 0 of the segment array is 0 and is never written."
    ),
    params=(TENSOR, LEVEL),
    inputs=lambda p: (Input("crd", (CRD,), "coordinates of the level"),),
    outputs=lambda n, p, t: _rank("crd", t["crd"], 1) or {},
    units=lambda p, v: _one(("crd",), (), "tokens"),
    memories=("seg", "crd"),
)

WRITE_VAL = Primitive(
    name="write_val",
    summary="Stores the values of a result.",
    rule="Appends payloads; rank 0 writes one word.",
    params=(TENSOR,),
    inputs=lambda p: (Input("val", (VAL,), "values"),),
    outputs=lambda n, p, t: {},
    units=lambda p, v: _one(("val",), (), "tokens"),
    memories=("val",),
)

CATALOG: dict[str, Primitive] = {
    entry.name: entry
    for entry in (
        ROOT, SOURCE, SINK, SCAN_DENSE, SCAN_COMPRESSED, LOCATE, ARRAY, REPEAT, INTERSECT, UNION,
        ALU, UNARY, REDUCE, ACCUMULATE, DROP_VALUE, DROP_EMPTY, WRITE_CRD, WRITE_VAL,
    )
}  # fmt: skip
"""Every primitive by name, in the order of a graph's data flow."""
