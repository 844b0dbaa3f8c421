"""Vectors of an independent simulator, through golden meaning and cycle model alike."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Extent, TensorDecl
from fuseflow.samml.image import TensorImage
from fuseflow.samml.sam import (
    from_points,
    from_repsig,
    from_sam,
    from_sam_aligned,
    from_sam_like,
    sam_rank,
    same_sam,
    to_repsig,
    without_absent,
)
from fuseflow.samml.tokens import Nested, Token, decode_all
from fuseflow.samml.values import FP32, INT32, ValueType
from tests.shared_data import vectors
from tests.sim_models.harness import CAPACITY, Bench, Port, bench, check, size_tensor
from tests.sim_models.writers import writer_bench
from tests.strategies import map_leaves

Vector = dict[str, Any]
VECTORS = vectors("sam_primitives.json")


def words(symbols: Any, value: ValueType = INT32) -> Any:
    """Return numbers as words of a type that holds them; other symbols as they are."""
    if isinstance(symbols, list):
        return [words(symbol, value) for symbol in symbols]
    if isinstance(symbols, int | float):
        assert value.holds(symbols)
        return value.encode(symbols)
    return symbols


def type_of(vector: Vector) -> ValueType:
    """Return a type that holds the numbers of a vector's inputs."""
    numbers = [one for symbols in vector["inputs"].values() for one in symbols]
    fractions = any(isinstance(one, float) and not one.is_integer() for one in numbers)
    return FP32 if fractions else INT32


def nested(tokens: Sequence[Token], rank: int) -> list[Nested]:
    return decode_all(tokens, rank)


def single(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens whose payloads are tuples of one field."""
    return [Token((p,) if e == 0 else None, e, c) for p, e, c in tokens]


def assert_same(
    it: Bench, edge: str, outputs: Mapping[str, Any], names: Sequence[str], **options: Any
) -> None:
    trace = check(it, seeds=(5,)).traces[edge]
    for column, name in enumerate(names):
        symbols = words(outputs[name], it.graph.value)
        assert same_sam(trace.tokens(), symbols, trace.type.rank, column, **options), name


def scan_compressed(vector: Vector) -> None:
    if "skip" in vector["inputs"]:
        pytest.skip("a scanner that is told to skip has no counterpart")
    params = vector["params"]
    seg, crd = params["seg_arr"], params["crd_arr"]
    ref = vector["inputs"]["ref"]
    rank = sam_rank(ref)
    declared = TensorDecl("T", "input", Format.parse("CSR"), (CAPACITY,) * 2, (CAPACITY,) * 2)
    image = TensorImage((len(seg) - 1, CAPACITY), (None, seg), (None, crd), [0] * len(crd))
    port = Port(("ref/ref",), rank, nested(single(from_sam(ref, rank)), rank))
    it = bench(
        "scan_compressed",
        {"index": "n", "tensor": "T", "level": 1},
        {"ref": port},
        [(declared, image)],
    )
    assert_same(it, "to_out.in", without_absent(vector["outputs"]), ["crd", "ref"])


def scan_dense(vector: Vector) -> None:
    ref = vector["inputs"]["ref"]
    rank = sam_rank(ref)
    port = Port(("ref/ref",), rank, nested(single(from_sam(ref, rank)), rank))
    params = {"index": "n", "size": Extent("T", 0)}
    it = bench("scan_dense", params, {"ref": port}, [size_tensor("T", vector["params"]["dim"])])
    assert_same(it, "to_out.in", without_absent(vector["outputs"]), ["crd", "ref"])


def join(primitive: str) -> Callable[[Vector], None]:
    def run(vector: Vector) -> None:
        if vector["params"].get("skip"):
            pytest.skip("a joiner that tells its scanners to skip has no counterpart")
        inputs, outputs = vector["inputs"], vector["outputs"]
        rank = max(1, sam_rank(inputs["crd1"]), sam_rank(inputs["crd2"]))
        ports = {
            side: Port(
                ("crd/crd", f"ref{k}/ref"),
                rank,
                nested(
                    from_sam_aligned({"crd": inputs[f"crd{k}"], "ref": inputs[f"ref{k}"]}, rank),
                    rank,
                ),
            )
            for k, side in ((1, "left"), (2, "right"))
        }
        expected = without_absent({name: outputs[name] for name in ("crd", "ref1", "ref2")})
        assert_same(bench(primitive, {}, ports), "to_out.in", expected, ["crd", "ref1", "ref2"])

    return run


def array(vector: Vector) -> None:
    if "ref" not in vector["inputs"]:
        pytest.skip("an array that is written by address has no counterpart")
    vals = words(vector["params"]["init_arr"])
    ref = vector["inputs"]["ref"]
    rank = sam_rank(ref)
    declared = TensorDecl("T", "input", Format.parse("dense"), (CAPACITY,), (CAPACITY,))
    image = TensorImage((len(vals),), (None,), (None,), vals)
    port = Port(("ref/ref",), rank, nested(single(from_sam(ref, rank)), rank))
    it = bench("array", {"tensor": "T"}, {"ref": port}, [(declared, image)])
    assert_same(it, "to_out.in", vector["outputs"], ["val"])


def alu(vector: Vector) -> None:
    negated = tuple(bool(vector["params"].get(name)) for name in ("neg1", "neg2"))
    sides = ["in1", "in2"]
    op = "mul" if vector["primitive"] == "Multiply2" else "add"
    match negated:
        case (False, False):
            pass
        case (False, True):
            op = "sub"
        case (True, False):
            op, sides = "sub", ["in2", "in1"]
        case _:
            pytest.skip("the negated sum has no counterpart as one primitive")
    value = type_of(vector)
    streams = [words(vector["inputs"][side], value) for side in sides]
    rank = sam_rank(streams[0])
    ports = {
        port: Port((f"{port}/val",), rank, nested(single(from_sam(symbols, rank)), rank))
        for port, symbols in zip(("a", "b"), streams, strict=True)
    }
    it = bench("alu", {"op": op}, ports, value=value)
    assert_same(it, "to_out.in", vector["outputs"], ["val"])


def reduce(vector: Vector) -> None:
    val = words(vector["inputs"]["val"])
    rank = max(1, sam_rank(val))
    port = Port(("val/val",), rank, nested(single(from_sam(val, rank)), rank))
    assert_same(bench("reduce", {}, {"val": port}), "to_out.in", vector["outputs"], ["val"])


def repeat(vector: Vector) -> None:
    x = from_sam(vector["inputs"]["ref"])
    rank = sam_rank(vector["inputs"]["ref"])
    signal = nested(from_repsig(vector["inputs"]["repsig"], x), rank + 1)
    ports = {
        "x": Port(("x/ref",), rank, nested(single(x), rank)),
        "signal": Port((), rank + 1, [map_leaves(s, rank + 1, lambda _: ()) for s in signal]),
    }
    assert_same(bench("repeat", {}, ports), "to_out.in", vector["outputs"], ["ref"])


def repeat_signal(vector: Vector) -> None:
    # Our repeat reads the stream itself; only the notation differs.
    assert to_repsig(vector["inputs"]["crd"]) == vector["outputs"]["repsig"]


def drop_empty(vector: Vector) -> None:
    inputs, outputs = vector["inputs"], vector["outputs"]
    outer = from_sam(inputs["outer_crd"])
    rank = sam_rank(inputs["outer_crd"])
    inner = nested(single(from_sam_like(inputs["inner_crd"], outer, 1, rank + 1)), rank + 1)
    ports = {
        "outer": Port(("crd/crd",), rank, nested(single(outer), rank)),
        "signal": Port((), rank + 1, [map_leaves(s, rank + 1, lambda _: ()) for s in inner]),
        "inner0": Port(("crd/crd",), rank + 1, inner),
    }
    it = bench("drop_empty", {"signal": 1, "heights": (1,)}, ports)
    assert_same(it, "to_outer.in", outputs, ["outer_crd"])
    # SAM keeps the innermost fibers whose coordinate it drops.
    assert_same(it, "to_inner0.in", outputs, ["inner_crd"], empties=False)


def write_crd(vector: Vector) -> None:
    symbols = vector["inputs"]["in"]
    rank = sam_rank(symbols)
    crds = nested(single(from_sam(symbols, rank)), rank)
    run = check(writer_bench(rank, crds, crds), seeds=(5,))
    assert run.outputs["X"].crds[-1] == vector["outputs"]["crd"]
    assert run.outputs["X"].segs[-1] == vector["outputs"]["seg"]


def write_val(vector: Vector) -> None:
    symbols = words(vector["inputs"]["in"])
    if sam_rank(symbols) == 0:
        # A list without stops is one fiber to SAM's writer.
        symbols = [*symbols[:-1], "S0", "D"]
    rank = sam_rank(symbols)
    vals = nested(single(from_sam(symbols, rank)), rank)
    run = check(writer_bench(rank, vals, vals), seeds=(5,))
    assert list(run.outputs["X"].vals) == words(vector["outputs"]["vals"])


def accumulate(kept: int) -> Callable[[Vector], None]:
    def run(vector: Vector) -> None:
        inputs = {name: words(symbols) for name, symbols in vector["inputs"].items()}
        streams = from_points(inputs["outer_crd"], inputs["inner_crd"], inputs["val"], kept)
        ranks = {"outer": 2, "crd": 3, "val": 3}
        kinds = {"outer": "crd/crd", "crd": "crd/crd", "val": "val/val"}
        ports = {
            name: Port((kinds[name],), ranks[name], nested(single(tokens), ranks[name]))
            for name, tokens in streams.items()
        }
        sizes = (Extent("T", 0), Extent("T", 1))[:kept]
        params = {"kept": kept, "size": sizes}
        it = bench("accumulate", params, ports, [size_tensor("T", 64, 64)])
        assert_same(it, "to_out.in", _with_stops(vector["outputs"]), ["inner_crd", "val"])
        if kept == 2:
            assert_same(it, "to_outer.in", vector["outputs"], ["outer_crd"])

    return run


def _with_stops(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give values the stops of their coordinates, which SAM's accumulators may leave out."""
    crds, vals = outputs["inner_crd"], outputs["val"]
    if sam_rank(vals) < sam_rank(crds):
        rest = iter(vals)
        vals = [crd if str(crd).startswith("S") else next(rest) for crd in crds]
    return {"inner_crd": crds, "val": vals}


RUNNERS: dict[str, Callable[[Vector], None]] = {
    "CompressedCrdRdScan": scan_compressed,
    "UncompressCrdRdScan": scan_dense,
    "Intersect2": join("intersect"),
    "Union2": join("union"),
    "Array": array,
    "Add2": alu,
    "Multiply2": alu,
    "Reduce": reduce,
    "Repeat": repeat,
    "RepeatSigGen": repeat_signal,
    "CrdDrop": drop_empty,
    "CompressWrScan": write_crd,
    "ValsWrScan": write_val,
    "SparseAccumulator1": accumulate(1),
    "SparseAccumulator2": accumulate(2),
}


@pytest.mark.skipif(not VECTORS, reason="vectors/sam_primitives.json is not present")
@pytest.mark.parametrize(
    "vector", VECTORS, ids=[f"{v['primitive']}-{k}" for k, v in enumerate(VECTORS)]
)
def test_vector(vector: Vector) -> None:
    RUNNERS[vector["primitive"]](vector)
