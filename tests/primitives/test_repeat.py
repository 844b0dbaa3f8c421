import random

from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.vectors import Vector, bundle, vector_params
from tests.strategies import map_leaves, random_nested, truncate


def repeat(rank: int, xs: list[object], signals: list[object], kind: str = "ref") -> Bench:
    ports = {"x": Port((f"x/{kind}",), rank - 1, xs), "signal": Port((), rank, signals)}
    return bench("repeat", {}, ports)


@vector_params("repeat")
def test_vector(vector: Vector) -> None:
    # The rank of a repeat vector is that of its signal.
    rank, inputs = vector["rank"], vector["inputs"]
    signal = map_leaves(bundle(inputs, ["signal"], rank), rank, lambda _: ())
    it = repeat(rank, [bundle(inputs, ["ref"], rank - 1)], [signal])
    (out,) = it.golden().streams["it", "out"]
    assert out == bundle(vector["outputs"], ["ref"], rank)
    check(it)


@random_cases(25)
def test_random(rng: random.Random) -> None:
    rank = rng.randint(1, 4)
    signals = [random_nested(rng, rank, lambda _: ()) for _ in range(rng.randint(1, 2))]

    def x() -> tuple[int | None]:
        return (rng.choice((None, 1, 2)),)

    check(repeat(rank, [truncate(signal, rank, rank - 1, x) for signal in signals], signals))


def test_x_is_popped_by_the_last_of_its_fiber() -> None:
    run = check(repeat(1, [(7,), (-9,)], [[(), (), ()], [()]], kind="val"))
    assert run.traces["it.x"].pop.tolist() == [3, 4]
    assert run.traces["to_out.in"].nested() == [[(7,), (7,), (7,)], [(-9,)]]
