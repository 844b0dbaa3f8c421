import random

from tests.sim_models.harness import Bench, check, random_cases
from tests.sim_models.joins import join_bench, random_sides
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params


def intersect(rank: int, lefts: list[object], rights: list[object]) -> Bench:
    return join_bench("intersect", {}, rank, lefts, rights)


@vector_params("intersect")
def test_vector(vector: Vector) -> None:
    rank, inputs = vector["rank"], vector["inputs"]
    left, right = (bundle(inputs, [f"crd{k}", f"ref{k}"], rank) for k in (0, 1))
    it = intersect(rank, [left], [right])
    assert_output(it.golden(), "out", vector, ["crd", "ref0", "ref1"], rank)
    check(it)


@random_cases(60)
def test_random(rng: random.Random) -> None:
    rank = rng.randint(1, 4)
    pairs = [random_sides(rng, rank) for _ in range(rng.randint(1, 2))]
    run = check(intersect(rank, [a for a, _ in pairs], [b for _, b in pairs]), seeds=range(4))
    assert run.unit("it").firings == sum(steps(rank, a, b) for a, b in pairs)


def steps(rank: int, left: list[object], right: list[object]) -> int:
    """Return the closed form of TOKENS: one a token with e >= 2, else distinct coordinates."""
    if rank == 1:
        return max(1, len({leaf[0] for leaf in left} | {leaf[0] for leaf in right}))
    if not left:
        return 1
    return sum(steps(rank - 1, a, b) for a, b in zip(left, right, strict=True))


def test_timing_of_a_match_that_waits() -> None:
    left = [(0, 1), (2, 2), (5, 3)]
    right = [(0, 4), (3, 5)]
    run = check(intersect(1, [left], [right]))
    # Steps at 1 (match 0), 2 (left 2), 3 (right 3 ends), 4 (left 5 ends: complete), out in 5.
    assert run.traces["it.left"].pop.tolist() == [1, 2, 4]
    assert run.traces["it.right"].pop.tolist() == [1, 3]
    assert run.traces["to_out.in"].issue.tolist() == [5]
    assert run.traces["to_out.in"].tokens() == [((0, 1, 4), 0, 1)]
    assert run.unit("it").firings == 4


def test_a_match_pushes_the_held_one_out() -> None:
    side = [(0, 1), (1, 2), (2, 3)]
    run = check(intersect(1, [side], [side]))
    # 0 is held from 1, pushed by 1 in 2; 1 pushed in 3 by 2, which is complete and leaves in 4.
    assert run.traces["to_out.in"].issue.tolist() == [2, 3, 4]


def test_empty_fibers_alternate_at_full_rate() -> None:
    left = [[], [(1, 0)]] * 6
    right = [[], []] * 6
    run = check(intersect(2, [left], [right]))
    issue = run.traces["to_out.in"].issue.tolist()
    assert issue == list(range(2, 14))
