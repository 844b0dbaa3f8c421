"""Cases for the bench of all primitives, from reference vectors."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fuseflow.samml.image import TensorImage
from fuseflow.samml.tokens import Nested, Token, decode
from verif.primitives import RANK, SETUPS, Case, Setup

PLACES = {setup.name: setup for setup in SETUPS}


@dataclass(frozen=True)
class Expected:
    """What a case must give: nested lists by output port, and written arrays by name."""

    case: Case
    outputs: dict[str, Nested] = field(default_factory=dict[str, Nested])
    arrays: dict[str, list[int]] = field(default_factory=dict[str, list[int]])


def lift(nested: Nested, by: int) -> Nested:
    """Wrap a nested list in fibers of one element."""
    for _ in range(by):
        nested = [nested]
    return nested


def bundle(columns: list[Nested], rank: int) -> Nested:
    """Zip nested lists of one shape into one whose leaves are tuples."""
    if rank == 0:
        return tuple(columns)
    return [bundle(list(row), rank - 1) for row in zip(*columns, strict=True)]


def _nested(tokens: list[list[Any]], rank: int) -> Nested:
    """Decode a vector's tokens; ``"null"`` is the null ref, which is None here."""
    return decode((Token(None if p == "null" else p, e, c) for p, e, c in tokens), rank)


def _stream(vector: dict[str, Any], side: str, names: list[str], rank: int, by: int) -> Nested:
    columns = [_nested(vector[side][name], rank) for name in names]
    return lift(bundle(columns, rank), by)


def from_vector(vector: dict[str, Any]) -> Iterator[tuple[str, Expected]]:
    """Yield (setup name, case) for every setup that a reference vector applies to."""
    name, rank, params = vector["primitive"], vector["rank"], vector.get("params", {})
    by = RANK - rank

    def given(names: list[str], at: int = rank) -> Nested:
        return _stream(vector, "inputs", names, at, by)

    def wanted(names: list[str], at: int = rank) -> Nested:
        return _stream(vector, "outputs", names, at, by)

    def expected(
        streams: dict[str, Nested], outputs: dict[str, Nested], image: Any = None
    ) -> Expected:
        return Expected(Case({port: [s] for port, s in streams.items()}, image), outputs)

    match name:
        case "scan_dense":
            image = TensorImage((params["size"],), (None,), (None,), [])
            out = {"out": wanted(["crd", "ref"], rank + 1)}
            yield name, expected({"ref": given(["ref"])}, out, image)
        case "scan_compressed":
            seg, crd = params["seg"], params["crd"]
            image = TensorImage((len(seg) - 1, 32), (None, seg), (None, crd), [0] * len(crd))
            out = {"out": wanted(["crd", "ref"], rank + 1)}
            yield name, expected({"ref": given(["ref"])}, out, image)
        case "locate":
            image = TensorImage((params["size"],), (None,), (None,), [])
            streams = {"crd": given(["crd"]), "parent": given(["parent"])}
            yield name, expected(streams, {"out": wanted(["ref"])}, image)
        case "repeat":
            signal = _stream(vector, "inputs", ["signal"], rank, by)
            streams = {"x": given(["ref"], rank - 1), "signal": _blank(signal, RANK)}
            yield name, expected(streams, {"out": wanted(["ref"])})
        case "intersect" | "union" | "union_val":
            kind = "val" if name == "union_val" else "ref"
            place = "union_val7" if params.get("fill") == 7 else name
            streams = {
                side: given([f"crd{k}", f"{kind}{k}"]) for k, side in enumerate(("left", "right"))
            }
            yield place, expected(streams, {"out": wanted(["crd", f"{kind}0", f"{kind}1"])})
        case "reduce_sum":
            yield "reduce", expected({"val": given(["val"])}, {"out": wanted(["val"], rank - 1)})
        case "accumulate":
            streams = {"crd": given(["crd"]), "val": given(["val"])}
            outputs = {"out": wanted(["crd", "val"], rank - 1)}
            for place in ("accumulate", "accumulate_bank", "accumulate_slow"):
                yield place, expected(streams, outputs)
        case "accumulate2":
            by = RANK + 1 - rank
            streams = {
                "outer": given(["outer"], rank - 1), "crd": given(["crd"]), "val": given(["val"]),
            }  # fmt: skip
            outputs = {
                "out": wanted(["crd", "val"], rank - 1), "outer": wanted(["outer"], rank - 2),
            }  # fmt: skip
            for place in ("accumulate2", "accumulate2_slow"):
                yield place, expected(streams, outputs)
        case "drop_value":
            streams = {"crd": given(["crd"]), "val": given(["val"])}
            yield name, expected(streams, {"out": wanted(["crd", "val"])})
        case "drop_empty":
            yield from _drop_empty(vector, given, wanted, expected)
        case "write_crd":
            crd = given(["crd"])
            case = Case({"crd": [crd], "val": [crd]})
            yield name, Expected(case, {}, vector["outputs"])
        case _:
            return


def _drop_empty(
    vector: dict[str, Any], given: Any, wanted: Any, expected: Any
) -> Iterator[tuple[str, Expected]]:
    rank = vector["rank"]
    streams = {"outer": given(["outer"]), "inner0": given(["inner"], rank + 1)}
    outputs = {"outer": wanted(["outer"]), "inner0": wanted(["inner"], rank + 1)}
    if "inner2" not in vector["inputs"]:
        yield "drop_empty", expected(streams, outputs)
        return
    # The bench's second inner stream bundles two fields; the vector's one field feeds both.
    streams["inner1"] = given(["inner2", "inner2"], rank + 2)
    outputs["inner1"] = wanted(["inner2", "inner2"], rank + 2)
    yield "drop_empty_deep", expected(streams, outputs)


def _blank(nested: Nested, rank: int) -> Nested:
    """Drop every field of a nested list, keeping its shape."""
    return () if rank == 0 else [_blank(child, rank - 1) for child in nested]


def default(setup: Setup) -> Case:
    """Return the least data of a setup: one stream whose fibers are all missing."""
    streams = {port: [[] if feed.rank else (0,)] for port, feed in setup.feeds.items()}
    if setup.primitive == "write_crd":
        streams["val"] = [[]]
    return Case(streams, _image(setup))


def _image(setup: Setup) -> TensorImage | None:
    match setup.format:
        case "":
            return None
        case "ds":
            return TensorImage(
                (4, 16), (None, [0, 2, 2, 5, 6]), (None, [1, 3, 0, 2, 9, 4]), [0] * 6
            )
        case form:
            return TensorImage(
                (8,) * len(form), (None,) * len(form), (None,) * len(form), list(range(8))
            )
