"""Every catalog entry is complete, and its parts agree with each other."""

import pytest

from fuseflow.samml import functions
from fuseflow.samml.catalog import CATALOG, ELEMENTARY, REQUIRED, Params, Primitive
from fuseflow.samml.graph import Extent
from fuseflow.samml.values import BF16, FP16, FP32, INT32

SIZE = Extent("t", 0)
VARIANTS: dict[str, list[Params]] = {
    "source": [{"fields": ("crd/crd",)}],
    "scan_dense": [{"bound": True}, {"bound": False}],
    "locate": [{"parent": True}, {"parent": False}],
    "alu": [
        *({"op": op} for op in CATALOG["alu"].params[0].choices),
        {"op": "mul", "wide": True},
        {"op": "add", "relu": True},
    ],
    "unary": [{"op": op} for op in CATALOG["unary"].params[0].choices],
    "reduce": [
        {"op": op, "multiply": multiply}
        for op in CATALOG["reduce"].params[0].choices
        for multiply in (False, True)
    ],
    "accumulate": [
        {"kept": 1, "size": (SIZE,)},
        {"kept": 2, "size": (SIZE, SIZE)},
        {"kept": 1, "size": (SIZE,), "banks": 1, "adder": 4},
    ],
    "drop_empty": [{"signal": 1, "heights": (1,)}, {"signal": 2, "heights": (1, 2, 3)}],
}
CASES = [
    pytest.param(entry, entry.complete(params), id=f"{entry.name}-{number}")
    for entry in CATALOG.values()
    for number, params in enumerate(VARIANTS.get(entry.name, [{}]))
]


@pytest.mark.parametrize("entry", CATALOG.values(), ids=lambda entry: entry.name)
def test_entries_are_documented(entry: Primitive) -> None:
    assert CATALOG[entry.name] is entry
    assert entry.summary.endswith(".")
    assert entry.rule.endswith(".")
    assert all(param.doc and param.wanted for param in entry.params)
    assert set(entry.memories) <= {"seg", "crd", "val"}
    for param in entry.params:
        assert param.default is REQUIRED or param.fits(param.default)


@pytest.mark.parametrize(("entry", "params"), CASES)
def test_units_cover_the_ports(entry: Primitive, params: Params) -> None:
    units = entry.units(params, FP32 if _floating(entry, params) else INT32)
    assert units
    assert len({unit.name for unit in units}) == len(units)
    for unit in units:
        assert unit.latency >= 1
        assert unit.counts
        assert unit.name or len(units) == 1
    ports = entry.inputs(params)
    assert all(port.doc for port in ports)
    reads = [port for unit in units for port in unit.reads]
    internal = [port for port in reads if port not in {port.name for port in ports}]
    assert sorted(reads) == sorted([*internal, *(port.name for port in ports)])
    seen: set[str] = set()
    for unit in units:
        assert {port for port in unit.reads if port in internal} <= seen
        seen |= set(unit.writes)
    assert set(internal) <= seen


def _floating(entry: Primitive, params: Params) -> bool:
    return any(params.get(param.name) in param.floating for param in entry.params)


def test_latencies_of_the_contract() -> None:
    """DESIGN sections 3 and 6 by number, so that a change of one is noticed."""
    latencies = {
        (entry.name, unit.name): unit.latency
        for entry, params in (case.values for case in CASES)
        if params.get("adder", 0) == 0 and params.get("op") not in ("mul", "scale", "affine")
        if not params.get("multiply") and not _floating(entry, params)
        for unit in entry.units(params, INT32)
    }
    slow = {key: latency for key, latency in latencies.items() if latency > 1}
    assert slow == {
        ("scan_compressed", "lookup"): 2,
        ("scan_compressed", "emit"): 2,
        ("array", ""): 2,
        ("accumulate", "fill"): 3,
        ("accumulate", "emit"): 3,
    }
    assert CATALOG["alu"].units({"op": "mul"}, INT32)[0].latency == INT32.multiplier
    assert CATALOG["unary"].units({"op": "scale"}, INT32)[0].latency == INT32.multiplier
    assert CATALOG["unary"].units({"op": "affine"}, INT32)[0].latency == INT32.multiplier + 1
    for value in (FP32, FP16, BF16):
        for multiply in (False, True):
            products = {"multiply": multiply}
            more = value.multiplier if multiply else 0
            assert CATALOG["reduce"].units({"op": "sum"} | products, value)[0].latency == 20 + more
            assert CATALOG["reduce"].units({"op": "max"} | products, value)[0].latency == 1 + more
        affine = CATALOG["unary"].units({"op": "affine"}, value)[0].latency
        assert affine == value.multiplier + value.adder
        assert CATALOG["alu"].units({"op": "add"}, value)[0].latency == value.adder
        assert CATALOG["unary"].units({"op": "relu"}, value)[0].latency == 1
        for primitive, ops in (("alu", ("div",)), ("unary", ELEMENTARY)):
            for op in ops:
                (unit,) = CATALOG[primitive].units({"op": op}, value)
                assert unit.latency == functions.latency(op, value) > 1
        sums = {"kept": 1, "banks": 4, "adder": 0, "op": "sum"}
        assert CATALOG["accumulate"].units(sums, value)[0].latency == 5
        assert CATALOG["accumulate"].units(sums | {"op": "max"}, value)[0].latency == 3
    slow_adder = {"kept": 1, "banks": 4, "adder": 4, "op": "sum"}
    assert CATALOG["accumulate"].units(slow_adder, INT32)[0].latency == 5


def test_parameter_types() -> None:
    params = {param.name: param for entry in CATALOG.values() for param in entry.params}
    assert params["level"].wanted == "int"
    assert params["parent"].wanted == "yes or no"
    assert params["heights"].wanted == "a list of int"
    assert params["mode"].wanted == "one of sparse, dense"
    assert not params["level"].fits(True)
    assert not params["parent"].fits(1)
    assert params["heights"].fits(())
    assert not params["heights"].fits([1])
    assert params["heights"].fits((1, 2))
    assert params["mode"].fits("dense")
