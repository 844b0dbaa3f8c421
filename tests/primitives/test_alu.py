import random

import pytest

from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.strategies import map_leaves, random_nested

OPS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "max": max,
    "min": min,
}
EDGES = (0, 1, -1, 2**31 - 1, -(2**31), 46341)


def alu(op: str, rank: int, left: object, right: object) -> Bench:
    ports = {"a": Port(("a/val",), rank, [left]), "b": Port(("b/val",), rank, [right])}
    return bench("alu", {"op": op}, ports)


@pytest.mark.parametrize("op", OPS)
def test_every_pair_of_edge_values(op: str) -> None:
    pairs = [(a, b) for a in EDGES for b in EDGES]
    it = alu(op, 1, [(a,) for a, _ in pairs], [(b,) for _, b in pairs])
    exact = [OPS[op](a, b) for a, b in pairs]
    wrapped = [(value + 2**31) % 2**32 - 2**31 for value in exact]
    run = check(it)
    assert run.traces["to_out.in"].nested() == [[(value,) for value in wrapped]]
    assert run.flags.overflow == (exact != wrapped)


@random_cases(20)
def test_random(rng: random.Random) -> None:
    rank = rng.randrange(4)
    left = random_nested(rng, rank, lambda rng: (rng.randint(-99, 99),))
    right = map_leaves(left, rank, lambda _: (rng.randint(-99, 99),))
    assert not check(alu(rng.choice(list(OPS)), rank, left, right)).flags.overflow


def test_latencies() -> None:
    for op, latency in (("add", 1), ("mul", 2)):
        run = check(alu(op, 0, (3,), (4,)))
        assert run.cycles == 1 + latency + 1
