import random

from fuseflow.samml.tokens import Nested
from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.vectors import Vector, bundle, stream, vector_params
from tests.strategies import map_leaves, random_nested, truncate


def drop_empty(
    rank: int, outers: list[Nested], signal: tuple[int, list[Nested]],
    *inners: tuple[int, list[Nested]],
) -> Bench:  # fmt: skip
    """Return a bench; signal and inners are given as height above outer and streams."""
    ports = {
        "outer": Port(("crd/crd",), rank, outers),
        "signal": Port((), rank + signal[0], signal[1]),
    }
    for k, (height, streams) in enumerate(inners):
        ports[f"inner{k}"] = Port((f"x{k}/crd", f"y{k}/val"), rank + height, streams)
    params = {"signal": signal[0], "heights": tuple(height for height, _ in inners)}
    return bench("drop_empty", params, ports)


@vector_params("drop_empty")
def test_vector(vector: Vector) -> None:
    inputs, outputs, rank = vector["inputs"], vector["outputs"], vector["rank"]
    height = inputs["inner"][-1][2] - rank
    outer = bundle(inputs, ["outer"], rank)
    inner = map_leaves(stream(inputs["inner"], rank + height), rank + height, lambda x: (x, x))
    signal = map_leaves(inner, rank + height, lambda _: ())
    it = drop_empty(rank, [outer], (height, [signal]), (height, [inner]))
    streams = it.golden().streams
    assert streams["it", "outer"] == [bundle(outputs, ["outer"], rank)]
    kept = map_leaves(stream(outputs["inner"], rank + height), rank + height, lambda x: (x, x))
    assert streams["it", "inner0"] == [kept]
    check(it)


@random_cases(60)
def test_random(rng: random.Random) -> None:
    rank = rng.randint(1, 3)
    heights = [rng.randint(1, 3), *(rng.randint(1, 3) for _ in range(rng.randrange(3)))]
    outers, deep = [], []
    highest = max(heights)
    for _ in range(2):
        # Every inner stream is a cut of one deep stream, so that they are empty alike.
        nested = random_nested(rng, rank + highest, lambda _: (), widest=3, empty=0.3)
        deep.append(nested)
        outers.append(truncate(nested, rank + highest, rank, lambda: (rng.randrange(9),)))

    def cut(height: int, *, signal: bool) -> tuple[int, list[Nested]]:
        def leaf() -> tuple[int, ...]:
            return () if signal else (rng.randrange(9), rng.randint(-9, 9))

        return height, [truncate(d, rank + highest, rank + height, leaf) for d in deep]

    inners = (cut(height, signal=False) for height in heights[1:])
    check(drop_empty(rank, outers, cut(heights[0], signal=True), *inners), seeds=range(4))


def test_signal_inside_a_fiber_is_popped_alone() -> None:
    run = check(drop_empty(1, [[(4,), (5,)]], (1, [[[(), (), ()], []]])))
    # Signal tokens at 1, 2, 3 (with x = 4: held), 4 (x = 5 dropped: completes 4); out in 5.
    assert run.traces["it.outer"].pop.tolist() == [3, 4]
    assert run.traces["it.signal"].pop.tolist() == [1, 2, 3, 4]
    assert run.traces["to_outer.in"].tokens() == [((4,), 0, 1)]
    assert run.traces["to_outer.in"].issue.tolist() == [5]
