import random
from typing import Any

from fuseflow.samml.graph import Extent
from fuseflow.samml.tokens import Nested
from tests.sim_models.harness import Bench, Port, bench, check, random_cases, size_tensor
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params
from tests.strategies import map_leaves, random_nested, truncate

SIZE = 8


def accumulate(
    rank: int, crds: list[Nested], vals: list[Nested], size: int = SIZE, **more: Any
) -> Bench:
    ports = {"crd": Port(("crd/crd",), rank, crds), "val": Port(("val/val",), rank, vals)}
    params = {"kept": 1, "size": (Extent("T", 0),)} | more
    return bench("accumulate", params, ports, [size_tensor("T", size)])


def accumulate2(
    rank: int, outers: list[Nested], crds: list[Nested], vals: list[Nested], **more: Any
) -> Bench:
    ports = {
        "outer": Port(("outer/crd",), rank - 1, outers),
        "crd": Port(("crd/crd",), rank, crds),
        "val": Port(("val/val",), rank, vals),
    }
    params = {"kept": 2, "size": (Extent("T", 0), Extent("T", 1))} | more
    return bench("accumulate", params, ports, [size_tensor("T", SIZE, SIZE)])


@vector_params("accumulate")
def test_vector(vector: Vector) -> None:
    rank, inputs = vector["rank"], vector["inputs"]
    it = accumulate(rank, *([bundle(inputs, [name], rank)] for name in ("crd", "val")))
    assert_output(it.golden(), "out", vector, ["crd", "val"], rank - 1)
    check(it)


@vector_params("accumulate2")
def test_vector_of_two_kept(vector: Vector) -> None:
    rank, inputs = vector["rank"], vector["inputs"]
    outers = bundle(inputs, ["outer"], rank - 1)
    crds, vals = (bundle(inputs, [name], rank) for name in ("crd", "val"))
    it = accumulate2(rank, [outers], [crds], [vals])
    assert_output(it.golden(), "out", vector, ["crd", "val"], rank - 1)
    (outer,) = it.golden().streams["it", "outer"]
    assert outer == bundle(vector["outputs"], ["outer"], rank - 2)
    check(it)


def options(rng: random.Random) -> dict[str, Any]:
    return {"banks": rng.choice((1, 2, 4)), "adder": rng.choice((0, 1, 2, 5))}


@random_cases(50)
def test_random(rng: random.Random) -> None:
    rank, size = rng.randint(2, 4), rng.choice((2, SIZE))
    crds = [random_nested(rng, rank, lambda rng: (rng.randrange(size),)) for _ in range(2)]
    vals = [map_leaves(crd, rank, lambda _: (rng.randint(-9, 9),)) for crd in crds]
    more = options(rng) | {"mode": rng.choice(("sparse", "sparse", "dense"))}
    check(accumulate(rank, crds, vals, size, **more))


@random_cases(40)
def test_random_of_two_kept(rng: random.Random) -> None:
    rank = rng.randint(3, 4)
    crds = [random_nested(rng, rank, lambda rng: (rng.randrange(4),), widest=3) for _ in range(2)]
    vals = [map_leaves(crd, rank, lambda _: (rng.randint(-9, 9),)) for crd in crds]
    outers = [truncate(crd, rank, rank - 1, lambda: (rng.randrange(3),)) for crd in crds]
    check(accumulate2(rank, outers, crds, vals, **options(rng)))


def test_dense_mode_of_size_0() -> None:
    run = check(accumulate(2, [[[], []]], [[[], []]], size=0, mode="dense"))
    assert run.traces["to_out.in"].nested() == [[]]


def test_timing_of_one_row() -> None:
    run = check(accumulate(2, [[[(3,), (1,)]]], [[[(5,), (6,)]]]))
    assert run.traces["it.row"].issue.tolist() == [2]
    # C = 3 cycles to emit, whose own latency is 3.
    assert run.traces["to_out.in"].issue.tolist() == [5, 6]
    assert run.traces["to_out.in"].pop.tolist() == [8, 9]
    assert run.traces["to_out.in"].nested() == [[(1, 6), (3, 5)]]


def test_a_repeated_coordinate_waits_for_the_adder() -> None:
    crds, vals = [[(3,), (3,), (1,), (3,)]], [[(1,)] * 4]
    run = check(accumulate(2, [crds], [vals], adder=4))
    # Readable in 1, 2, ...; 3 again 4 cycles after 1; 1 follows; 3 again 4 cycles after 5.
    assert run.traces["it.crd"].pop.tolist() == [1, 5, 6, 9]
    assert run.unit("it.fill").coordinate == 3 + 2
    assert run.traces["it.row"].issue.tolist() == [9]
    assert run.traces["to_out.in"].issue.tolist()[0] == 9 + 5


def test_one_bank_serializes_rows() -> None:
    crds, vals = [[[(3,)]]] * 3, [[[(1,)]]] * 3
    one = check(accumulate(2, crds, vals, banks=1))
    # A row ends in t, is emitted and released in t + 3; the next begins in t + 4.
    assert one.traces["it.crd"].pop.tolist() == [1, 5, 9]
    assert one.unit("it.fill").bank > 0
    four = check(accumulate(2, crds, vals, banks=4))
    assert four.traces["it.crd"].pop.tolist() == [1, 2, 3]


def test_bank_of_a_large_size_emits_ascending() -> None:
    rng = random.Random(3)
    crds = [[(rng.randrange(5000),) for _ in range(300)] for _ in range(4)]
    vals = map_leaves(crds, 2, lambda _: (rng.randint(-9, 9),))
    check(accumulate(2, [crds], [vals], size=5000))
